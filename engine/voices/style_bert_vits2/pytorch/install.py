"""What the PyTorch part of the family needs beyond a default installation. Importing this imports none of it."""

from __future__ import annotations

from importlib.util import find_spec

from engine.errors import VoiceNotAvailableError

INSTALL = "pip install 'asagoe[torch]'"


def require(purpose: str, *modules: str) -> None:
    """Make sure that packages are there before anything imports them.

    Args:
        purpose: what needs them, the subject of the error's sentence.
        modules: top-level names.

    Raises:
        VoiceNotAvailableError: one is not installed; the message has the command that installs all.
    """
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        message = f"{purpose} needs {', '.join(missing)}, which a default installation leaves out; install: {INSTALL}"
        raise VoiceNotAvailableError(message)
