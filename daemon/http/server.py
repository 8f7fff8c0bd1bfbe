"""The HTTP server in a thread and an event loop of its own: what clients send cannot hold up what is being said."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from typing import TYPE_CHECKING, Any

from daemon.config.http import HttpConfig
from daemon.errors import UnavailableError

if TYPE_CHECKING:
    from daemon.http.backend import Backend

_log = logging.getLogger("asagoe.http")

_START_TIMEOUT = 15.0
_STOP_TIMEOUT = 2.0
_CONNECTIONS = 256
_BACKLOG = 128


class HttpServer:
    """Serves HTTP beside the service.

    Args:
        config: where to listen, and for whom.
        backend: the service.
    """

    def __init__(self, config: HttpConfig, backend: Backend) -> None:
        self._config = config
        self._backend = backend
        self._server: Any = None
        self._app: Any = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start listening; returns when it does.

        Raises:
            UnavailableError: a package is missing, the address cannot be used, or the token cannot be read.
        """
        try:
            import uvicorn  # noqa: PLC0415 - an extra

            from daemon.http.app import make_app  # noqa: PLC0415 - needs FastAPI
        except ImportError as error:
            message = (
                f"HTTP needs the package {error.name}; run: pip install 'asagoe[http]', or take http out of the file"
            )
            raise UnavailableError(message) from error
        try:
            app = make_app(self._backend, self._config)
        except ValueError as error:
            message = f"HTTP is not available: {error}"
            raise UnavailableError(message) from error
        listening = self._listen()
        self._app = app
        settings = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="on",
            ws="none",
            server_header=False,
            limit_concurrency=_CONNECTIONS,
            timeout_graceful_shutdown=1,
        )
        logging.getLogger("uvicorn").setLevel(logging.WARNING)
        self._server = uvicorn.Server(settings)
        self._thread = threading.Thread(target=self._server.run, args=([listening],), name="http", daemon=True)
        self._thread.start()
        if not self._wait_until_started():
            self.stop()
            message = "HTTP did not start in time"
            raise UnavailableError(message)
        _log.info("HTTP on %s:%d", self._config.bind, self._config.port)

    def stop(self) -> None:
        """Stop listening; requests are given a second, the thread two."""
        if self._server is None or self._thread is None:
            return
        if self._server.started:
            with contextlib.suppress(RuntimeError):  # its loop has ended by itself
                self._app.state.stop_soon()
        self._server.should_exit = True
        self._thread.join(_STOP_TIMEOUT)
        if self._thread.is_alive():
            self._server.force_exit = True
            self._thread.join(_STOP_TIMEOUT)

    def _wait_until_started(self) -> bool:
        assert self._thread is not None  # noqa: S101
        waited = 0.0
        pause = threading.Event()
        while not self._server.started and self._thread.is_alive() and waited < _START_TIMEOUT:
            pause.wait(0.01)
            waited += 0.01
        return bool(self._server.started)

    def _listen(self) -> socket.socket:
        bind, port = self._config.bind, self._config.port
        family = socket.AF_INET6 if ":" in bind else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((bind, port))
            listening.listen(_BACKLOG)
        except OSError as error:
            listening.close()
            message = (
                f"HTTP on {bind}:{port} is not available: {error.strerror}; give http.bind or http.port another value"
            )
            raise UnavailableError(message) from error
        return listening
