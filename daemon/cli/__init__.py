"""The command ``asagoe``."""

from __future__ import annotations

import io
import sys


def main() -> None:
    """Run the command line; the entry point of the distribution."""
    import daemon

    if getattr(daemon, "__distribution__", None) != "asagoe":
        sys.exit(
            "asagoe: another package named 'daemon' is installed in this environment (python-daemon?); "
            "install asagoe into an environment of its own, for example with pipx or script/run"
        )
    for stream in (sys.stdout, sys.stderr):  # a locale without Japanese must not end in a traceback
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    from daemon.cli.commands import app

    app()
