"""Health and metrics. Public: probes carry no keys, and nothing here tells about requests."""

from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST

from cosylite import __version__
from cosylite.serve.errors import error_object
from cosylite.serve.routes.common import TheService, errors

router = APIRouter(tags=["health"])


@router.get("/health/live")
@router.get("/v2/health/live", include_in_schema=False)
async def live() -> dict[str, Any]:
    """The process answers."""
    return {"status": "live", "version": __version__}


@router.get("/health/ready", responses=errors(503))
@router.get("/health", include_in_schema=False)
@router.get("/v2/health/ready", include_in_schema=False)
async def ready(service: TheService) -> Response:
    """The models are loaded and warmed up, and another request would be taken."""
    if service.ready:
        return JSONResponse({"status": "ready", "models": list(service.registry.aliases)})
    reason = "draining" if service.admission.draining else "overloaded" if service.warm else "loading"
    return JSONResponse(
        error_object(f"not ready: {reason}", 503, reason), status_code=503, headers={"Retry-After": "2"}
    )


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}, "description": "Prometheus text format"}},
)
async def metrics(service: TheService) -> Response:
    """Prometheus metrics."""
    service.update_gauges()
    return Response(service.metrics.render(), media_type=CONTENT_TYPE_LATEST)
