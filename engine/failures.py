"""What a voice raises becomes an error of the engine: callers react to that tree, and to nothing else."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from engine.errors import EngineDefectError, EngineError, TransientError, VoiceNotAvailableError

_log = logging.getLogger(__name__)


@contextmanager
def engine_errors(doing: str) -> Iterator[None]:
    """Make what is raised in this block an error of the engine; a defect is logged with its place.

    A voice is code that its family brings along, over libraries that raise what they like: a file that cannot be read
    any more, a number that does not fit, no memory.

    Args:
        doing: what is done in it, for the messages: "speaker f1 speaks".

    Raises:
        TransientError: there is no memory left.
        VoiceNotAvailableError: the system refuses a file.
        EngineDefectError: anything else that is no error of the engine.
    """
    try:
        yield
    except EngineError:
        raise
    except MemoryError as error:
        message = f"there is no memory left while {doing}; unload a speaker, or try again"
        raise TransientError(message) from error
    except OSError as error:
        message = f"the system refuses something while {doing}: {error}"
        raise VoiceNotAvailableError(message) from error
    except Exception as error:
        _log.exception("a defect while %s", doing)
        message = f"a defect while {doing}: {error!r}"
        raise EngineDefectError(message) from error
