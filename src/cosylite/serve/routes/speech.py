"""`POST /v1/audio/speech`, its batch form, and `POST /tts`."""

import asyncio
import base64
import contextlib
import secrets
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from cosylite.errors import CosyliteError, InputError
from cosylite.serve.answers import (
    STREAM_HEADERS,
    StreamedAnswer,
    raw_parts,
    sse_parts,
    watch_client,
    whole_file,
)
from cosylite.serve.encoding import CONTENT_TYPES, check_format, open_encoding
from cosylite.serve.errors import body_of
from cosylite.serve.orders import make_options, make_order
from cosylite.serve.routes.common import Caller, TheService, errors, wants_store
from cosylite.serve.schemas import BatchBody, BatchItem, SimpleAnswer, SimpleBody, SpeechBody
from cosylite.serve.service import Service
from cosylite.serve.speech import Speech

router = APIRouter(tags=["speech"])
WHOLE_BY_DEFAULT = ("wav", "flac")
"""Formats whose header holds the length, so that a stream of unknown length cannot be read by everyone."""
_AUDIO = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in sorted(set(CONTENT_TYPES.values()))}
_REFUSALS = errors(400, 401, 404, 413, 429, 503, 504)


@router.post(
    "/v1/audio/speech",
    response_class=Response,
    responses={200: {"content": {**_AUDIO, "text/event-stream": {}}, "description": "audio, or events"}, **_REFUSALS},
)
async def speech(body: SpeechBody, request: Request, service: TheService, caller: Caller) -> Response:
    """Speak a text, as OpenAI's route does. Audio leaves while it is made, unless the whole file is asked for."""
    events = body.stream_format == "sse"
    if body.timestamps and not events:
        raise InputError(
            "timestamps need stream_format sse here; /tts returns them with the audio",
            code="unsupported_option",
            param="timestamps",
        )
    check_format(body.response_format, body.sample_rate)
    whole = not events and (body.stream is False or (body.stream is None and body.response_format in WHOLE_BY_DEFAULT))
    async with contextlib.AsyncExitStack() as stack:
        async with watch_client(request):
            deployment = await stack.enter_async_context(service.lease(body.model))
            options = make_options(
                service,
                deployment,
                voice=body.voice,
                language=body.language,
                speed=body.speed,
                seed=body.seed,
                instructions=body.instructions,
                mode=body.mode,
                ref_audio=body.ref_audio,
                ref_text=body.ref_text,
            )
            order = make_order(
                service,
                deployment,
                body.input,
                options,
                model=body.model,
                endpoint="speech",
                format=body.response_format,
                whole=whole,
                store=wants_store(request),
            )
            talk = await stack.enter_async_context(service.speak(deployment, order))
            headers = _headers(body.response_format, body.sample_rate or talk.sample_rate, talk)
            if body.instructions and not deployment.ready.modes:
                headers["X-Instructions"] = "ignored"
            if whole:
                made = await whole_file(talk, body.response_format, body.sample_rate)
                return Response(made.data, headers=headers)
        encoding = open_encoding(body.response_format, talk.sample_rate, body.sample_rate or talk.sample_rate)
        headers |= STREAM_HEADERS
        if events:
            headers["Content-Type"] = "text/event-stream; charset=utf-8"
            parts = sse_parts(talk, encoding, len(body.input), body.timestamps)
        else:
            parts = raw_parts(talk, encoding)
        return StreamedAnswer(parts, stack.pop_all(), service.metrics, service.settings.stall_seconds, headers)


@router.post("/v1/audio/speech/batch", responses=_REFUSALS)
async def batch(body: BatchBody, request: Request, service: TheService, caller: Caller) -> dict[str, Any]:
    """Speak up to 32 texts. Every item has its own status; one that fails does not hurt the others."""
    service.registry.resolve(body.model)
    places = asyncio.Semaphore(max(2 * service.workers, service.settings.batch_rows))

    async def one(index: int, item: BatchItem) -> dict[str, Any]:
        async with places:
            try:
                return {"index": index, "status": "success", **await _batch_item(service, request, body, item)}
            except CosyliteError as error:
                return {"index": index, "status": "error", **body_of(error)}

    async with watch_client(request), asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(index, item)) for index, item in enumerate(body.items)]
    results = [task.result() for task in tasks]
    good = sum(result["status"] == "success" for result in results)
    return {
        "id": "speech-batch-" + secrets.token_hex(8),
        "results": results,
        "total": len(results),
        "succeeded": good,
        "failed": len(results) - good,
    }


async def _batch_item(service: Service, request: Request, body: BatchBody, item: BatchItem) -> dict[str, Any]:
    format = item.response_format or body.response_format
    sample_rate = item.sample_rate or body.sample_rate
    check_format(format, sample_rate)
    async with service.lease(body.model) as deployment:
        options = make_options(
            service,
            deployment,
            voice=item.voice or body.voice,
            language=item.language or body.language,
            speed=body.speed if item.speed is None else item.speed,
            seed=body.seed if item.seed is None else item.seed,
            instructions=item.instructions or body.instructions,
            mode=item.mode or body.mode,
            ref_audio=body.ref_audio,
            ref_text=body.ref_text,
        )
        order = make_order(
            service,
            deployment,
            item.input,
            options,
            model=body.model,
            endpoint="batch",
            format=format,
            whole=True,
            store=wants_store(request),
        )
        async with service.speak(deployment, order) as talk:
            made = await whole_file(talk, format, sample_rate)
    found: dict[str, Any] = {
        "audio_data": base64.b64encode(made.data).decode(),
        "media_type": CONTENT_TYPES[format],
        "sample_rate": made.sample_rate,
        "duration": round(talk.audio_seconds, 3),
    }
    if body.timestamps:
        found |= made.times()
    return found


@router.post(
    "/tts",
    response_model=None,
    responses={200: {"model": SimpleAnswer, "content": _AUDIO, "description": "JSON, or audio bytes"}, **_REFUSALS},
)
async def simple(body: SimpleBody, request: Request, service: TheService, caller: Caller) -> Response:
    """The simplest client: text in, audio in hexadecimal out; the bytes alone for `Accept: audio/*`."""
    check_format(body.format, None)
    async with watch_client(request), service.lease(body.model) as deployment:
        options = make_options(
            service, deployment, voice=body.voice, language=body.language, speed=body.speed, seed=body.seed
        )
        order = make_order(
            service,
            deployment,
            body.text,
            options,
            model=body.model,
            endpoint="tts",
            format=body.format,
            whole=True,
            store=wants_store(request),
            param="text",
        )
        async with service.speak(deployment, order) as talk:
            made = await whole_file(talk, body.format, None)
    headers = _headers(body.format, made.sample_rate, talk)
    if "audio/" in request.headers.get("accept", ""):
        return Response(made.data, headers=headers)
    answer: dict[str, Any] = {
        "audio": made.data.hex(),
        "format": body.format,
        "sample_rate": made.sample_rate,
        "duration": round(talk.audio_seconds, 3),
    }
    if body.timestamps:
        answer |= made.times()
    del headers["Content-Type"], headers["Content-Disposition"]
    return JSONResponse(answer, headers=headers)


def _headers(format: str, rate: int, talk: Speech) -> dict[str, str]:
    return {
        "Content-Type": CONTENT_TYPES[format],
        "Content-Disposition": f'inline; filename="speech.{format}"',
        "X-Sample-Rate": str(rate),
        "X-First-Audio-Ms": f"{1000 * talk.first_audio_seconds:.1f}",
        "X-Cache": "hit" if talk.from_cache else "miss",
    }
