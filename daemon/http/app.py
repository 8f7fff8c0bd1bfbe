"""The application: its routes, what stands before them, and its life."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from fastapi import Depends, FastAPI
from fastapi.security import HTTPBearer
from starlette.middleware.cors import CORSMiddleware

from daemon.config.http import HttpConfig
from daemon.http import (
    api,
    api_agenda,
    api_house,
    api_live,
    api_words,
    page,
    voicevox_dictionary,
    voicevox_info,
    voicevox_query,
    voicevox_synthesis,
)
from daemon.http.backend import Backend
from daemon.http.context import Context
from daemon.http.guard import Guard, Rules
from daemon.http.live import Live
from daemon.http.metrics import MeasuredApp, RequestMetrics
from daemon.http.presets import Presets
from daemon.http.problems import add_error_handlers
from daemon.http.work import Work
from engine import __version__

_DESCRIPTION = """A node of Asagoe: the interface that VOICEVOX clients know, and one of Asagoe's own.

Errors are problem details (RFC 9457) on Asagoe's own paths and `{"detail": …}` on VOICEVOX's."""


def make_app(backend: Backend, config: HttpConfig) -> FastAPI:
    """The application on top of a service.

    Raises:
        ValueError: the token's reference leads nowhere.
    """
    metrics, rules = RequestMetrics(), Rules.of(config)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        """What belongs to the server's loop is made on it."""
        presets = Presets(backend.state_folder / "presets.json")
        work = Work(backend.renderer, config.max_waiting)
        watching = Live(backend)
        app.state.context = Context(backend, work, presets, watching, metrics)

        def stop() -> None:
            work.stop()
            watching.stop()

        app.state.stop_soon = partial(asyncio.get_running_loop().call_soon_threadsafe, stop)
        yield
        watching.stop()
        del app.state.context

    bearer = Depends(HTTPBearer(auto_error=False, description="the token of the configuration, where it has one"))
    app = FastAPI(
        title="Asagoe",
        version=__version__,
        description=_DESCRIPTION,
        lifespan=lifespan,
        dependencies=[bearer],
        docs_url=None,  # pages that would load scripts from elsewhere
        redoc_url=None,
    )
    app.state.rules = rules
    for router in (
        page.router,
        api.router,
        api_agenda.router,
        api_house.router,
        api_words.router,
        api_live.router,
        voicevox_query.router,
        voicevox_synthesis.router,
        voicevox_info.router,
        voicevox_dictionary.router,
        voicevox_query.presets,
    ):
        app.include_router(router)
    add_error_handlers(app)
    # The last one added stands outermost.
    if config.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=config.origins,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type"],
            expose_headers=["X-Asagoe-Ignored"],
        )
    app.add_middleware(Guard, rules=rules)
    app.add_middleware(MeasuredApp, metrics=metrics)
    return app
