"""The app factory: `create_app(settings)` gives an ASGI app that any server can run."""

import contextlib
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from cosylite import __version__
from cosylite.errors import CosyliteError
from cosylite.serve.answers import ClientGone
from cosylite.serve.auth import Gate, RateLimiter
from cosylite.serve.errors import body_of, error_object, headers_of, status_of
from cosylite.serve.middleware import Outer
from cosylite.serve.page_files import page_router
from cosylite.serve.routes import admin, catalogue, health, speech, stream
from cosylite.serve.service import LoadEngine, Service
from cosylite.serve.settings import Settings

LOG = logging.getLogger(__name__)
DESCRIPTION = "Text to speech. The WebSocket route is described in docs/websocket.md."


def create_app(settings: Settings, load_engine: LoadEngine | None = None) -> FastAPI:
    """Build the app.

    Args:
        settings: the settings.
        load_engine: makes an engine from a bundle source; default: the runtime's.

    Raises:
        CosyliteError: the settings cannot be served.
    """
    if load_engine is None:
        from cosylite.serve import tts_engine

        load_engine = tts_engine.load_engine
    service = Service(settings, load_engine)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.stop()

    app = FastAPI(
        title="cosylite",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json" if settings.docs else None,
    )
    app.state.service = service
    app.state.gate = Gate(settings.api_key, RateLimiter(settings.rate_limit))
    app.state.admin_gate = Gate(settings.admin_key, RateLimiter(600))
    for part in (speech, catalogue, health, stream):
        app.include_router(part.router)
    if settings.admin_key:
        app.include_router(admin.router)
    app.include_router(page_router(Path(__file__).parent / "page", page=settings.page, docs=settings.docs))
    _handle_errors(app)
    if settings.cors_origin:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.cors_origin),
            allow_credentials=False,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["*"],
            expose_headers=["X-Request-Id", "X-Sample-Rate", "X-First-Audio-Ms", "X-Cache"],
        )
    app.add_middleware(Outer, service.metrics, settings.max_body_bytes, settings.max_upload_bytes)
    return app


def _handle_errors(app: FastAPI) -> None:
    """Give every error OpenAI's nested shape."""

    @app.exception_handler(CosyliteError)
    async def ours(request: Request, error: CosyliteError) -> Response:
        if status_of(error) >= 500:
            LOG.warning("%s: %s", error.code, error)
        return JSONResponse(body_of(error), status_code=status_of(error), headers=headers_of(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        first: dict[str, Any] = dict(error.errors()[0])
        path = [str(part) for part in first["loc"] if part not in ("body", "query", "path")]
        if first["type"] == "json_invalid":
            body = error_object(f"the body is not valid JSON: {first['ctx']['error']}", 400, "invalid_json")
        else:
            name = ".".join(path) or None
            body = error_object(f"{name or 'body'}: {first['msg']}", 400, "invalid_field", name)
        return JSONResponse(body, status_code=400)

    @app.exception_handler(HTTPException)
    async def protocol(request: Request, error: HTTPException) -> Response:
        codes = {404: "not_found", 405: "method_not_allowed", 400: "bad_request"}
        code = codes.get(error.status_code, "http_error")
        message = f"{error.detail}: {request.method} {request.url.path}" if error.status_code == 404 else error.detail
        return JSONResponse(
            error_object(message, error.status_code, code), status_code=error.status_code, headers=error.headers
        )

    @app.exception_handler(ClientGone)
    async def gone(request: Request, error: ClientGone) -> Response:
        request.app.state.service.metrics.disconnects.inc()
        return Response(status_code=499)
