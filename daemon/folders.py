"""Where the service keeps things: systemd's folders when it gives them, else the user's (XDG)."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from platformdirs import user_state_path

from engine.tts import cache_root

__all__ = ["cache_root", "phrase_folder", "recordings_folder", "state_folder"]


def state_folder() -> Path:
    """What must survive a restart: ``STATE_DIRECTORY``, else the user's state folder."""
    folder = os.environ.get("STATE_DIRECTORY")
    return Path(folder.split(":")[0]) if folder else user_state_path("asagoe", appauthor=False)


def phrase_folder(configured: str | None) -> Path:
    """Of the phrase cache."""
    return Path(configured).expanduser() if configured else cache_root() / "phrases"


def recordings_folder() -> Path:
    """Where announcements are written when no sound device can be used: below the state folder, if that can be written.

    Where it cannot (a home that is missing, a disk that is read-only), below the folder for temporary files.
    """
    folder = state_folder() / "announcements"
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if os.access(folder, os.W_OK | os.X_OK):
        return folder
    return Path(tempfile.gettempdir()) / f"asagoe-announcements-{os.getuid()}"
