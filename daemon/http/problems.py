"""Errors as clients are told: problem details (RFC 9457) on Asagoe's own paths, VOICEVOX's form on its."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from daemon.errors import RequestError
from daemon.http.presets import PresetError
from engine import BadRequestError, EngineError, TransientError, UnknownSpeakerError, VoiceNotAvailableError
from engine.text import KanaError

_log = logging.getLogger("asagoe.http")

PROBLEM = "application/problem+json"
CLIENT_GONE = 499
"""Nobody hears it: the client has closed the connection."""


class BusyError(Exception):
    """So many requests are being worked on that one more is refused."""


class ClientGoneError(Exception):
    """The client has closed the connection: nobody waits for the result."""


def problem(path: str, status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """An error in the form of its path."""
    if not is_own(path):
        return JSONResponse({"detail": detail}, status, headers)
    title = HTTPStatus(status).phrase
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return JSONResponse(body, status, headers, media_type=PROBLEM)


def is_own(path: str) -> bool:
    """Whether a path is Asagoe's own and not one that VOICEVOX clients know."""
    return path.startswith("/api/") or path in ("/health", "/metrics")


def add_error_handlers(app: FastAPI) -> None:
    """Answer every error with a sentence; none of them tells more of the inside than that."""
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(KanaError, _on_kana)
    app.add_exception_handler(EngineError, _on_expected)
    app.add_exception_handler(RequestError, _on_expected)
    app.add_exception_handler(PresetError, _on_expected)
    app.add_exception_handler(BusyError, _on_expected)
    app.add_exception_handler(ClientGoneError, _on_gone)
    app.add_exception_handler(Exception, _on_defect)


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    return problem(request.url.path, error.status_code, _plain(str(error.detail)), dict(error.headers or {}))


async def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    mistakes = [_mistake(details) for details in error.errors()]
    if is_own(request.url.path):
        sentences = "; ".join(f"{'.'.join(map(str, m['loc'][1:]))}: {m['msg']}" for m in mistakes)
        return problem(request.url.path, HTTPStatus.UNPROCESSABLE_ENTITY, sentences)
    return JSONResponse({"detail": mistakes}, HTTPStatus.UNPROCESSABLE_ENTITY)


async def _on_kana(request: Request, error: Exception) -> Response:
    del request
    assert isinstance(error, KanaError)  # noqa: S101
    arguments = {name: _plain(value) for name, value in error.arguments.items()}
    detail = {"text": _plain(str(error)), "error_name": error.name, "error_args": arguments}
    return JSONResponse({"detail": detail}, HTTPStatus.BAD_REQUEST)


async def _on_expected(request: Request, error: Exception) -> Response:
    status, headers = _status_of(error)
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        _log.error("a request could not be spoken: %s", error)
    return problem(request.url.path, status, _plain(str(error)), headers)


async def _on_gone(request: Request, error: Exception) -> Response:
    del request, error
    return Response(status_code=CLIENT_GONE)


async def _on_defect(request: Request, error: Exception) -> Response:
    _log.error("a defect in a request of %s", request.url.path, exc_info=error)
    return problem(request.url.path, HTTPStatus.INTERNAL_SERVER_ERROR, "a defect; the log of the service tells more")


def _status_of(error: Exception) -> tuple[int, dict[str, str]]:
    match error:
        case UnknownSpeakerError():
            return HTTPStatus.NOT_FOUND, {}
        case BadRequestError() | RequestError() | PresetError():
            return HTTPStatus.UNPROCESSABLE_ENTITY, {}
        case BusyError():
            return HTTPStatus.SERVICE_UNAVAILABLE, {"Retry-After": "2"}
        case TransientError() | VoiceNotAvailableError():
            return HTTPStatus.SERVICE_UNAVAILABLE, {"Retry-After": "10"}
    return HTTPStatus.INTERNAL_SERVER_ERROR, {}


def _mistake(details: dict[str, Any]) -> dict[str, Any]:
    """Without the input: it may be long, or nothing that JSON can hold."""
    loc: Sequence[Any] = details.get("loc", ())
    return {
        "loc": [part if isinstance(part, int) else _plain(str(part))[:100] for part in loc],
        "msg": _plain(str(details.get("msg", ""))).removeprefix("Value error, ")[:1000],
        "type": str(details.get("type", "")),
    }


def _plain(text: str) -> str:
    """Text that can be written as UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")
