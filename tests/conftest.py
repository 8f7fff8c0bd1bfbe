"""What holds for every test: nothing is left running, nothing leaves the machine's own folders."""

from __future__ import annotations

import gc
import threading
import time

import pytest


@pytest.fixture(autouse=True)
def _own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("ASAGOE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "CREDENTIALS_DIRECTORY", "ASAGOE_CONFIG"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _no_thread_left_behind():
    before = set(threading.enumerate())
    yield

    def new():
        return [t for t in threading.enumerate() if t not in before and not _is_pool(t)]

    if not new():  # a collection takes half a second when everything is loaded: only where it is needed
        return
    gc.collect()
    deadline = time.monotonic() + 3
    while left := new():
        assert time.monotonic() < deadline, f"threads left behind: {left}"
        time.sleep(0.02)


def _is_pool(thread: threading.Thread) -> bool:
    """Threads of executors end with their pool or with the process; they hold nothing."""
    return thread.name.startswith(("asyncio_", "ThreadPoolExecutor", "speaker-", "render", "AnyIO"))
