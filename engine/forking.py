"""A process that forks: threads do not come along, locks do as they were, and memory of the C libraries too.

What may be locked in the parent gets fresh locks in the child. What needs threads of the parent (ONNX Runtime's) cannot
work there: whoever holds such a thing compares ``generation()`` with that of its own making, and refuses.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

_T = TypeVar("_T")

_generation = 0
_renewals: WeakKeyDictionary[Any, Callable[[Any], None]] = WeakKeyDictionary()


def generation() -> int:
    """How many forks lie between this process and the one that imported the engine."""
    return _generation


def renewed_after_fork(owner: _T, renew: Callable[[_T], None]) -> None:
    """Call ``renew(owner)`` in every child, before anything else happens in it, for as long as the owner lives.

    Args:
        owner: hashable by identity, and can be referred to weakly.
        renew: makes its locks anew. It must not wait for anything.
    """
    _renewals[owner] = renew


def _after_fork() -> None:
    global _generation  # noqa: PLW0603 - one fact of the process
    _generation += 1
    for owner, renew in list(_renewals.items()):
        renew(owner)


if hasattr(os, "register_at_fork"):  # systems that fork
    os.register_at_fork(after_in_child=_after_fork)
