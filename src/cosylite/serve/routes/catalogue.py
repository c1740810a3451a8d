"""Models and voices: lists, and adding and deleting voices."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Path, Query, UploadFile

from cosylite.errors import InputError
from cosylite.serve.encoding import available_formats
from cosylite.serve.errors import ServeError
from cosylite.serve.registry import OPENAI_MODELS, Deployment
from cosylite.serve.routes.common import Caller, TheService, errors
from cosylite.serve.service import Service
from cosylite.serve.voices import OPENAI_VOICES, AddedVoice, listing, pick_voice

router = APIRouter(tags=["catalogue"])


@router.get("/v1/models", responses=errors(401, 429, 503))
async def models(service: TheService, caller: Caller) -> dict[str, Any]:
    """All models, the default first, and OpenAI's names for it."""
    return {"object": "list", "data": _models(service)}


@router.get("/v1/models/{model}", responses=errors(400, 401, 404, 429, 503))
async def model(model: Annotated[str, Path(max_length=128)], service: TheService, caller: Caller) -> dict[str, Any]:
    """One model."""
    found = next((entry for entry in _models(service) if entry["id"] == model), None)
    if found is None:
        service.registry.resolve(model)
        raise ServeError(f"the model {model[:80]!r} does not exist", status=404, code="model_not_found", param="model")
    return found


@router.get("/v1/audio/models", responses=errors(401, 429, 503))
async def audio_models(service: TheService, caller: Caller) -> dict[str, Any]:
    """The models again, where Open WebUI looks for them."""
    return {"models": [{"id": entry["id"], "name": entry["id"]} for entry in _models(service)]}


@router.get("/v1/audio/voices", responses=errors(400, 401, 404, 429, 503))
async def voices(
    service: TheService, caller: Caller, model: Annotated[str | None, Query(max_length=128)] = None
) -> dict[str, Any]:
    """Voices of a model (by default the first), added voices, and OpenAI's names, which all are accepted."""
    async with service.lease(model) as deployment:
        engine = deployment.ready
        found = [
            {
                "id": voice.id,
                "name": voice.name,
                "language": voice.languages[0] if voice.languages else None,
                "languages": list(voice.languages),
                "gender": voice.gender,
                "kind": voice.kind,
                "sample_rate": engine.sample_rate,
            }
            for voice in listing(engine, service.voices)
        ]
        return {
            "voices": found,
            "uploaded_voices": [_added(voice) for voice in service.voices.list()] if engine.can_clone else [],
            "aliases": list(OPENAI_VOICES),
            "default": engine.default_voice,
        }


@router.post("/v1/audio/voices", responses=errors(400, 401, 403, 404, 409, 413, 429, 503))
async def add_voice(
    service: TheService,
    caller: Caller,
    audio_sample: Annotated[UploadFile, File(description="1 to 30 seconds of speech: wav, flac, ogg or mp3")],
    name: Annotated[str, Form(max_length=64)],
    consent: Annotated[str, Form(max_length=200, description="true, or the id of the speaker's consent")],
    ref_text: Annotated[str, Form(max_length=2000, description="what is said in the recording")] = "",
    model: Annotated[str | None, Form(max_length=128)] = None,
) -> dict[str, Any]:
    """Add a voice, on models that can clone. The speaker's consent has to be stated."""
    async with service.lease(model) as deployment:
        if not deployment.ready.can_clone:
            raise InputError(f"the model {deployment.name} cannot clone voices", code="cannot_clone", param="model")
        data = await audio_sample.read(service.settings.max_upload_bytes + 1)
        if len(data) > service.settings.max_upload_bytes:
            raise ServeError(
                f"the recording is larger than {service.settings.max_upload_bytes} bytes",
                status=413,
                code="too_large",
                param="audio_sample",
            )
        if pick_voice(deployment.ready, name) is not None:
            raise ServeError(f"a voice named {name!r} exists", status=409, code="voice_exists", param="name")
        learn = deployment.ready.learn
        voice = await asyncio.to_thread(service.voices.add, name, consent, ref_text, data, caller, learn)
    return {"success": True, "voice": _added(voice)}


@router.delete("/v1/audio/voices/{name}", responses=errors(400, 401, 403, 404, 429, 503))
async def delete_voice(
    name: Annotated[str, Path(max_length=128)], service: TheService, caller: Caller
) -> dict[str, Any]:
    """Delete an added voice. With keys, only the caller who added it may."""
    entry = service.voices.get(name)
    if entry is not None and entry[0].owner.startswith("key:") and entry[0].owner != caller:
        raise ServeError("this voice was added with another key", status=403, code="not_your_voice", param="name")
    voice = await asyncio.to_thread(service.voices.delete, name)
    return {"success": True, "message": f"Voice {voice.name!r} deleted"}


def _models(service: Service) -> list[dict[str, Any]]:
    aliases = service.registry.aliases
    limit = service.settings.max_characters
    entries = [_model(name, deployment, limit) for name, deployment in aliases.items()]
    return entries + [_model(name, aliases[service.registry.default], limit) for name in OPENAI_MODELS]


def _model(name: str, deployment: Deployment, limit: int) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": name, "object": "model", "created": deployment.created, "owned_by": "cosylite"}
    engine = deployment.engine
    if engine is not None:
        entry |= {
            "bundle": engine.name,
            "revision": engine.revision,
            "languages": list(engine.languages),
            "sample_rate": engine.sample_rate,
            "can_clone": engine.can_clone,
            "can_instruct": "instruct" in engine.modes,
            "modes": list(engine.modes),
        }
    return entry | {"loaded": engine is not None, "formats": list(available_formats()), "max_characters": limit}


def _added(voice: AddedVoice) -> dict[str, Any]:
    return {
        "id": voice.id,
        "name": voice.name,
        "consent": voice.consent,
        "ref_text": voice.text,
        "created_at": int(voice.created),
        "seconds": voice.seconds,
    }
