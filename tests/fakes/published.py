"""A small published tree of voices (random weights, the real formats): what a neural speaker's source is."""

from __future__ import annotations

import lzma
import shutil
from pathlib import Path

VOICE = "rand-tiny"
STYLES = ("Neutral", "Happy", "Sad")

_PACKED = Path(__file__).parents[1] / "engine" / "style_bert_vits2" / "data" / "published"


def unpack_published(root: Path) -> Path:
    """Put the tree into a folder and return it."""
    shutil.copytree(_PACKED, root, dirs_exist_ok=True)
    for packed in root.rglob("*.xz"):
        packed.with_suffix("").write_bytes(lzma.decompress(packed.read_bytes()))
        packed.unlink()
    return root
