"""What several commands share."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.table import Column, Table

from daemon.compute import usable_device
from daemon.config import Config, ConfigError, find_config, load_config

# Texts of the house hold brackets and colons: no markup, no names of emoji.
out = Console(highlight=False, markup=False, emoji=False)
err = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


def read_config(explicit: Path | None, *, with_words: bool = True) -> tuple[Config, Path | None]:
    """The configuration and its file, or an exit with all errors (code 78); see ``load_config``."""
    path = find_config(explicit)
    try:
        return load_config(path, with_words=with_words), path
    except ConfigError as error:
        for problem in error.problems:
            err.print(str(problem), style="red", markup=False)
        count = len(error.problems)
        err.print(f"{count} error{'s' if count > 1 else ''} in {path}", markup=False)
        sys.exit(78)


def device_for(config: Config) -> str:
    """What to compute voices on; says so where it is not what the configuration wants."""
    device, problem = usable_device(config.compute_device)
    if problem is not None:
        err.print(f"voices are computed on the processor: {problem}", style="yellow")
    return device


def printable(text: str) -> str:
    """Text that does nothing to a terminal: line ends, control characters and the like as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in text)


def table(*columns: str, title: str | None = None) -> Table:
    """A table that breaks long cells rather than cutting them off: Japanese has no spaces."""
    return Table(*(Column(name, overflow="fold") for name in columns), title=title, title_justify="left")


def fail(message: str, code: int = 1) -> int:
    """Print an error; returns the exit code."""
    err.print(message, style="red", markup=False)
    return code


def text_or_stdin(text: str) -> str:
    """The argument, or standard input for ``-``; exits where it is no text in this locale."""
    read = sys.stdin.read() if text == "-" else text
    if any("\ud800" <= character <= "\udfff" for character in read):
        sys.exit(fail(f"the text is not valid in this locale's encoding ({sys.getfilesystemencoding()}); send UTF-8"))
    return read
