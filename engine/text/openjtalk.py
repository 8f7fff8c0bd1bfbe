"""Open JTalk's front end: readings, accents and phonemes (pyopenjtalk-plus)."""

from __future__ import annotations

import sys
import threading
from types import ModuleType
from typing import TYPE_CHECKING, Any

from engine.text.dictionary import Dictionary, compiled
from engine.text.kana import default_accent, moras
from engine.text.readings import Reading, replace_readings

if TYPE_CHECKING:
    Features = list[dict[str, Any]]

_import_lock = threading.Lock()

_PLACEHOLDERS = "鵺鼯"
"""Nouns of one character that hardly any text holds and that join no compound: a given reading takes their place."""


_NANI = "pyopenjtalk.yomi_model.nani_predict"


def library() -> ModuleType:
    """Import pyopenjtalk without its predictor for the readings of 何.

    The predictor starts ONNX Runtime with two models when the package is imported (20 MB), or prints a notice where
    there is none; and a reading must not depend on what else is installed, so it is never asked.
    """
    with _import_lock:
        if _NANI not in sys.modules:
            unused = ModuleType(_NANI)
            unused.predict = _not_asked  # type: ignore[attr-defined]
            sys.modules[_NANI] = unused
        import pyopenjtalk  # noqa: PLC0415 - 0.1 s and 60 MB that only a speaker needs
    return pyopenjtalk  # type: ignore[no-any-return]


def _not_asked(*_: object) -> object:
    message = "the predictor of pyopenjtalk-plus is not loaded; pass predict_nani=False"
    raise NotImplementedError(message)


class FrontEnd:
    """Readings of normalised text. Safe to share between threads: Open JTalk locks itself.

    Args:
        dictionary: the user's words; those of kana and kanji become part of Open JTalk's own dictionary.

    Raises:
        DictionaryError: the words cannot be compiled.
    """

    def __init__(self, dictionary: Dictionary | None = None) -> None:
        self._library = library()
        # An instance of our own: the library's global one belongs to whoever else uses it in this process.
        system: bytes = self._library.OPEN_JTALK_DICT_DIR
        with compiled(dictionary) as user:
            protected = [True] if user else None
            self._jtalk = self._library.OpenJTalk(system, user, protected)
        self._kanji = frozenset("".join(word.surface for word in dictionary.words)) if dictionary else frozenset()
        self._read: dict[str, bool] = {}
        self.revision = f"pyopenjtalk-plus {self._library.__version__}"
        if dictionary:
            self.revision += f"; dictionary {dictionary.fingerprint}"

    def features(self, text: str) -> Features:
        """One entry a word, with ``string``, ``read``, ``pron`` (kana), ``acc``, ``mora_size`` and more.

        The text may hold readings in the notation of ``engine.text.readings``. The ``string`` of such a word is its
        surface where that is Japanese, else its reading: what a language model of Japanese is to see.
        """
        readings: list[Reading] = []
        placeholder = next((c for c in _PLACEHOLDERS if c not in text), None)
        if placeholder is None:
            return self._plain(replace_readings(text, lambda reading: reading.kana))

        def put(reading: Reading) -> str:
            readings.append(reading)
            return placeholder

        held = replace_readings(text, put)
        features = self._given(held, placeholder, readings) if readings else None
        if features is None:
            features = self._plain(replace_readings(text, lambda reading: reading.kana))
        return _shortened_digits(features)

    def reads(self, kanji: str) -> bool:
        """Whether a kanji has a reading, by itself or in a word of the user's."""
        known = self._read.get(kanji)
        if known is None:
            known = kanji in self._kanji or has_mora(self._plain(kanji))
            self._read[kanji] = known
        return known

    def labels(self, features: Features) -> list[str]:
        """HTS full-context labels, one a phoneme; empty when nothing is spoken."""
        labels: list[str] = self._jtalk.make_label(features) if has_mora(features) else []
        return labels

    def kana(self, text: str) -> str:
        """The pronunciation in katakana; punctuation is kept."""
        return kana_of(self.features(text))

    def _plain(self, text: str) -> Features:
        # The reading of 何 would depend on whether ONNX Runtime happens to be installed.
        return self._library.run_frontend(text, predict_nani=False, jtalk=self._jtalk)  # type: ignore[no-any-return]

    def _given(self, held: str, placeholder: str, readings: list[Reading]) -> Features | None:
        """The words of a text in which placeholders stand for readings; None when one was not seen as a word."""
        words, _ = self._jtalk.run_mecab_detailed(held)
        waiting = iter(readings)
        replaced = 0
        for index, word in enumerate(words):
            if word.partition(",")[0] == placeholder:
                words[index] = _mecab_word(next(waiting))
                replaced += 1
        if replaced != len(readings):
            return None
        features: Features = self._jtalk.run_njd_from_mecab(words, True, True)
        protection = {_string(reading): reading for reading in readings}
        for feature in features:
            reading = protection.get(feature["string"])
            feature["is_reading_protected"] = reading is not None and feature["pron"].replace("’", "") == reading.kana
        text = "".join(feature["string"] for feature in features)
        return self._library.apply_postprocessing(text, features, predict_nani=False, jtalk=self._jtalk)  # type: ignore[no-any-return]


def kana_of(features: Features) -> str:
    """The pronunciation of words in katakana; punctuation is kept."""
    words = (f["string"] if f["pos"] == "記号" and not f["mora_size"] else f["pron"] for f in features)
    return "".join(words).replace("’", "")


def has_mora(features: Features) -> bool:
    """Whether anything in the features is spoken. Labels of silence alone make the C library complain on stderr."""
    return any(f["mora_size"] > 0 and f["pron"] not in "、。！？" for f in features)


def _string(reading: Reading) -> str:
    japanese = all("ぁ" <= c <= "ヺ" or c in "ー々" or "㐀" <= c <= "鿿" for c in reading.surface)
    return reading.surface if japanese else reading.kana


def _mecab_word(reading: Reading) -> str:
    accent = default_accent(reading.kana) if reading.accent is None else reading.accent
    surface = _string(reading)
    facts = [surface, "名詞", "固有名詞", "一般", "*", "*", "*", surface, reading.kana, reading.kana]
    return ",".join([*facts, f"{accent}/{len(moras(reading.kana))}", "C1"])


_LONG_DIGITS = {"二": ("ニー", "ニ"), "五": ("ゴー", "ゴ")}


def _shortened_digits(features: Features) -> Features:
    """2.5 is ニテンゴ: the front end makes ニー and ゴー of single digits, which suits a chat, not an announcement."""
    head = 0
    before = 0  # moras of the accent phrase before the word
    for index, feature in enumerate(features):
        if feature["chain_flag"] != 1:
            head, before = index, 0
        following = features[index + 1]["string"] if index + 1 < len(features) else ""
        long, short = _LONG_DIGITS.get(feature["string"], ("", ""))
        if long and feature["pron"] == long:
            feature["pron"] = short
            feature["mora_size"] = 1
            if features[head]["acc"] > before + 1:
                features[head]["acc"] -= 1
        elif following.startswith(_FULL_BEFORE.get(feature["pron"], "-")):
            feature["pron"] = _FULL[feature["pron"]]  # as many moras as before
        before += feature["mora_size"]
    return features


_FULL = {"ジュッ": "ジュー", "ヒャッ": "ヒャク", "ピャッ": "ピャク", "ビャッ": "ビャク", "ロッ": "ロク"}
_KILO = ("キロ", "カロリー")
_FULL_BEFORE = {"ジュッ": ("ピーピー", "ヘルツ"), "ヒャッ": _KILO, "ピャッ": _KILO, "ビャッ": _KILO, "ロッ": _KILO}
"""Numerals that the front end clips before a unit where careful speech does not: 420ppm, 100km."""
