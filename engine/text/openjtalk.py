"""Open JTalk's front end: readings, accents and phonemes (pyopenjtalk-plus)."""

from __future__ import annotations

import contextlib
import io
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

    Features = list[dict[str, Any]]

_import_lock = threading.Lock()


def library() -> ModuleType:
    """Import pyopenjtalk, silently: it prints a notice when it finds no ONNX Runtime."""
    with _import_lock, contextlib.redirect_stdout(io.StringIO()):
        import pyopenjtalk  # noqa: PLC0415 - 0.1 s and 60 MB that only a speaker needs
    return pyopenjtalk  # type: ignore[no-any-return]


class FrontEnd:
    """Readings of normalised text. Safe to share between threads: Open JTalk locks itself."""

    def __init__(self) -> None:
        self._library = library()
        self.revision = f"pyopenjtalk-plus {self._library.__version__}"

    def features(self, text: str) -> Features:
        """One entry a word, with ``string``, ``read``, ``pron`` (kana), ``acc``, ``mora_size`` and more."""
        # The reading of 何 would depend on whether ONNX Runtime happens to be installed.
        return self._library.run_frontend(text, predict_nani=False)  # type: ignore[no-any-return]

    def labels(self, features: Features) -> list[str]:
        """HTS full-context labels, one a phoneme; empty when nothing is spoken."""
        return self._library.make_label(features) if has_mora(features) else []

    def kana(self, text: str) -> str:
        """The pronunciation in katakana; punctuation is kept."""
        words = (f["string"] if f["pos"] == "記号" else f["pron"] for f in self.features(text))
        return "".join(words).replace("’", "")


def has_mora(features: Features) -> bool:
    """Whether anything in the features is spoken. Labels of silence alone make the C library complain on stderr."""
    return any(f["mora_size"] > 0 and f["pron"] not in "、。！？" for f in features)
