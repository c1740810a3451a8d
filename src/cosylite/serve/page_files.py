"""The web page: a fixed list of files next to this module. No path of a request is ever joined to a folder."""

import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path

from fastapi import APIRouter, Request, Response

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src blob:; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)


def page_router(folder: Path) -> APIRouter:
    """Routes for the files of the page, read once; `index.html` is at `/`."""
    router = APIRouter(include_in_schema=False)
    for path in sorted(folder.iterdir()):
        if path.suffix in TYPES:
            place = "/" if path.name == "index.html" else f"/page/{path.name}"
            router.add_api_route(place, _sender(path.read_bytes(), TYPES[path.suffix]), methods=["GET", "HEAD"])
    return router


def _sender(data: bytes, kind: str) -> Callable[[Request], Awaitable[Response]]:
    tag = '"' + hashlib.sha256(data).hexdigest()[:16] + '"'
    headers = {"Content-Type": kind, "ETag": tag, "Cache-Control": "no-cache", "Content-Security-Policy": POLICY}

    async def send(request: Request) -> Response:
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(data, headers=headers)

    return send
