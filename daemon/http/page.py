"""The page at `/`: files of this package, read once; no path of a request reaches the file system."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

from fastapi import APIRouter, Request
from fastapi.responses import Response

router = APIRouter(include_in_schema=False)

_TYPES = {
    "index.html": "text/html; charset=utf-8",
    "style.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
    **dict.fromkeys(
        ("app.js", "api.js", "dom.js", "words.js", "alarms.js", "speech.js", "house.js", "log.js"),
        "text/javascript; charset=utf-8",
    ),
}
PATHS = frozenset({"/", *(f"/page/{name}" for name in _TYPES if name != "index.html")})
"""Paths of the page's files; they hold nothing that is secret and need no token."""

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; media-src blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cache-Control": "no-cache",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


@router.get("/")
async def index(request: Request) -> Response:
    """The page."""
    return _answer(request, "index.html")


@router.get("/page/{name}")
async def file(request: Request, name: str) -> Response:
    """One of its files."""
    return _answer(request, name) if name in _TYPES and name != "index.html" else Response(status_code=404)


def _answer(request: Request, name: str) -> Response:
    content, tag = _read(name)
    headers = {**_HEADERS, "ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=_TYPES[name])


@cache
def _read(name: str) -> tuple[bytes, str]:
    content = files("daemon.http").joinpath("page", name).read_bytes()
    return content, f'"{hashlib.sha256(content).hexdigest()[:16]}"'
