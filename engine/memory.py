"""Memory that goes back to the system."""

from __future__ import annotations

import ctypes


def trim() -> None:
    """Ask glibc to return freed pages; other C libraries have no such call and need none. Takes a few milliseconds."""
    call = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if call is not None:
        call(0)
