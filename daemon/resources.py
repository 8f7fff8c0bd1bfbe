"""Files that come with the service: the example configuration, its schema, the chimes."""

from __future__ import annotations

from pathlib import Path


def resource(*parts: str) -> Path:
    """The path of a bundled file or folder: `data` in an installed package, `config` in a checkout."""
    here = Path(__file__).parent
    installed = here / "data"
    return (installed if installed.is_dir() else here.parent / "config").joinpath(*parts)
