"""What a voice raises becomes an error of the engine: callers react to that tree, and to nothing else."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from engine.errors import EngineDefectError, EngineError, TransientError, VoiceNotAvailableError

_log = logging.getLogger(__name__)


@contextmanager
def engine_errors(doing: str, *, unless: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Make what is raised in this block an error of the engine; a defect is logged with its place.

    A voice is code that its family brings along, over libraries that raise what they like: a file that cannot be read
    any more, a number that does not fit, no memory.

    Args:
        doing: what is done in it, for the messages: "speaker f1 speaks".
        unless: asked when something is raised: whether it comes from the caller, who gets it as it is.

    Raises:
        TransientError: there is no memory left.
        VoiceNotAvailableError: the system refuses a file.
        EngineDefectError: anything else that is no error of the engine.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, EngineError) or unless():
            raise
        raise _as_engine_error(error, doing) from error


def _as_engine_error(error: Exception, doing: str) -> EngineError:
    match error:
        case MemoryError():
            return TransientError(f"there is no memory left while {doing}; unload a speaker, or try again")
        case OSError():
            return VoiceNotAvailableError(f"the system refuses something while {doing}: {error}")
        case _:
            _log.error("a defect while %s", doing, exc_info=error)
            return EngineDefectError(f"a defect while {doing}: {error!r}")
