"""Numbers for Prometheus."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class RequestMetrics:
    """Counts requests and the process's own numbers."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        labels = ("method", "path", "status")
        self.requests = Counter("asagoe_http_requests", "Requests answered.", labels, registry=self._registry)
        self.seconds = Histogram(
            "asagoe_http_request_seconds",
            "How long requests took.",
            ("path",),
            registry=self._registry,
            buckets=_SECONDS,
        )
        self.jobs = Gauge("asagoe_http_jobs", "Requests for speech that are being worked on.", registry=self._registry)

    def exposition(self, health: Mapping[str, Any], state: Mapping[str, Any]) -> bytes:
        """Everything in the text format of Prometheus.

        Args:
            health: as the service reports it.
            state: likewise.
        """
        service = CollectorRegistry()
        service.register(_Service(health, state))
        return generate_latest(self._registry) + generate_latest(service)


class _Service:
    """The numbers of the service at one moment."""

    def __init__(self, health: Mapping[str, Any], state: Mapping[str, Any]) -> None:
        self._health = health
        self._state = state

    def collect(self) -> Iterator[Metric]:
        """See ``prometheus_client.registry.Collector``."""
        health, state = self._health, self._state
        info = GaugeMetricFamily("asagoe_info", "The version that runs.", labels=("version", "node"))
        info.add_metric((str(health["version"]), str(state["node"])), 1)
        yield info
        ended = CounterMetricFamily(
            "asagoe_announcements", "Announcements by what became of them.", labels=("outcome",)
        )
        for outcome, count in state["counters"].items():
            ended.add_metric((outcome,), count)
        yield ended
        yield GaugeMetricFamily("asagoe_uptime_seconds", "Seconds since the start.", value=health["uptime_s"])
        yield GaugeMetricFamily("asagoe_queue_length", "Announcements that wait.", value=state["queue"])
        yield GaugeMetricFamily("asagoe_playing", "Whether something is being said.", value=state["state"] != "idle")
        yield GaugeMetricFamily("asagoe_volume_percent", "The volume.", value=state["volume"])
        yield GaugeMetricFamily(
            "asagoe_audible", "Whether sound goes to a device.", value=bool(state["audio"]["audible"])
        )
        ready = GaugeMetricFamily("asagoe_speaker_ready", "Whether a speaker can speak.", labels=("speaker",))
        memory = GaugeMetricFamily("asagoe_speaker_memory_bytes", "What a voice holds.", labels=("speaker",))
        for name, facts in health["speakers"].items():
            ready.add_metric((name,), facts["state"] == "ready")
            memory.add_metric((name,), facts.get("memory_mb", 0.0) * 1e6)
        yield ready
        yield memory


class MeasuredApp:
    """Counts and times requests. An ASGI middleware.

    Args:
        app: what is measured.
        metrics: where it is counted.
    """

    def __init__(self, app: ASGIApp, metrics: RequestMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), 499

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            path = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._metrics.requests.labels(method, path, str(status)).inc()
            self._metrics.seconds.labels(path).observe(time.monotonic() - began)


_METHODS: Iterable[str] = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"})
