"""What several commands share."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console

from daemon.config import Config, ConfigError, find_config, load_config

out = Console(highlight=False)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def read_config(explicit: Path | None) -> tuple[Config, Path | None]:
    """The configuration, or an exit with all its errors (code 78)."""
    path = find_config(explicit)
    try:
        return load_config(path), path
    except ConfigError as error:
        for problem in error.problems:
            err.print(str(problem), style="red", markup=False)
        count = len(error.problems)
        err.print(f"{count} error{'s' if count > 1 else ''} in {path}", markup=False)
        sys.exit(78)


def fail(message: str, code: int = 1) -> int:
    """Print an error; returns the exit code."""
    err.print(message, style="red", markup=False)
    return code


def text_or_stdin(text: str) -> str:
    """The argument, or standard input for ``-``."""
    return sys.stdin.read() if text == "-" else text
