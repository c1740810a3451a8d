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


def page_router(folder: Path, page: bool, docs: bool) -> APIRouter:
    """Routes for the files, read once: the page at `/`, the documentation at `/docs`, what they use below `/page`."""
    places = {"index.html": "/" if page else "", "docs.html": "/docs" if docs else ""}
    router = APIRouter(include_in_schema=False)
    for path in sorted(folder.iterdir()):
        if path.suffix in TYPES:
            place = places.get(path.name, f"/page/{path.name}" if page or docs else "")
            if place:
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
