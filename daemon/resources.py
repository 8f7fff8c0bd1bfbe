"""Files that come with the service: the example configuration, its schema, the chimes, the units."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent


def resource(*parts: str) -> Path:
    """The path of a bundled file or folder: `data` in an installed package, `config` in a checkout."""
    installed = _HERE / "data"
    return (installed if installed.is_dir() else _HERE.parent / "config").joinpath(*parts)


def unit_text(name: str) -> str:
    """The text of a file of `systemd/`."""
    installed = _HERE / "data" / "systemd"
    return ((installed if installed.is_dir() else _HERE.parent / "systemd") / name).read_text(encoding="utf-8")
