"""Accent phrases as data: what is read and how it is accented, in a form that can be looked at, edited and spoken.

A mora is written in katakana and named by the phonemes of Open JTalk's labels. Editing phrases changes what is spoken;
``engine.text.notation`` writes them as text, ``engine.text.labels`` as labels of Open JTalk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

_ROWS = {
    "": "アイウエオ",
    "k": "カキクケコ",
    "g": "ガギグゲゴ",
    "s": "サ スセソ",
    "z": "ザ ズゼゾ",
    "t": "タ  テト",
    "d": "ダ  デド",
    "n": "ナニヌネノ",
    "h": "ハヒ ヘホ",
    "b": "バビブベボ",
    "p": "パピプペポ",
    "m": "マミムメモ",
    "r": "ラリルレロ",
    "y": "ヤ ユ ヨ",
    "w": "ワ    ",
}
_WITH_SMALL = {  # kana that a small one follows, the consonant of the pair, the small kana in the order of the vowels
    "キ": ("ky", "ャ ュェョ"),
    "ギ": ("gy", "ャ ュェョ"),
    "シ": ("sh", "ャ ュェョ"),
    "ジ": ("j", "ャ ュェョ"),
    "チ": ("ch", "ャ ュェョ"),
    "ニ": ("ny", "ャ ュェョ"),
    "ヒ": ("hy", "ャ ュェョ"),
    "ビ": ("by", "ャ ュェョ"),
    "ピ": ("py", "ャ ュェョ"),
    "ミ": ("my", "ャ ュェョ"),
    "リ": ("ry", "ャ ュェョ"),
    "ス": ("s", " ィ   "),
    "ズ": ("z", " ィ   "),
    "テ": ("ty", "ャ ュ ョ"),
    "デ": ("dy", "ャ ュ ョ"),
    "ツ": ("ts", "ァィ ェォ"),
    "フ": ("f", "ァィ ェォ"),
    "ヴ": ("v", "ァィ ェォ"),
    "ウ": ("w", " ィ ェォ"),
}
_SINGLE = {
    "シ": ("sh", "i"), "ジ": ("j", "i"), "チ": ("ch", "i"), "ツ": ("ts", "u"), "フ": ("f", "u"), "ヴ": ("v", "u"),
    "ティ": ("t", "i"), "ディ": ("d", "i"), "トゥ": ("t", "u"), "ドゥ": ("d", "u"), "イェ": ("y", "e"),
    "クヮ": ("kw", "a"), "グヮ": ("gw", "a"), "フュ": ("fy", "u"), "ン": ("", "N"), "ッ": ("", "cl"),
}  # fmt: skip
_ALIKE = {  # other ways to write the same sounds
    "ヲ": "オ", "ヰ": "イ", "ヱ": "エ", "ヂ": "ジ", "ヅ": "ズ", "ヂャ": "ジャ", "ヂュ": "ジュ", "ヂョ": "ジョ",
    "ァ": "ア", "ィ": "イ", "ゥ": "ウ", "ェ": "エ", "ォ": "オ", "ャ": "ヤ", "ュ": "ユ", "ョ": "ヨ", "ヮ": "ワ",
    "ヶ": "ケ", "ヵ": "カ", "ヴャ": "ビャ", "ヴュ": "ビュ", "ヴョ": "ビョ",
}  # fmt: skip


def _phonemes() -> dict[str, tuple[str, str]]:
    table = {
        kana: (consonant, vowel)
        for consonant, row in _ROWS.items()
        for kana, vowel in zip(row, "aiueo", strict=True)
        if kana != " "
    }
    for kana, (consonant, smalls) in _WITH_SMALL.items():
        table |= {
            kana + small: (consonant, vowel) for small, vowel in zip(smalls, "aiueo", strict=True) if small != " "
        }
    return table | _SINGLE


PHONEMES: Mapping[str, tuple[str, str]] = MappingProxyType(_phonemes())
"""Kana of each mora → its consonant (empty without one) and its vowel, ``N`` or ``cl``."""
_KANA = {phonemes: kana for kana, phonemes in PHONEMES.items()}

PAUSE_COMMA = 0.317
"""Seconds of a pause within a sentence, as ``TextPipeline.accent_phrases`` gives it; the voice makes it as it likes. An
odd number, so that nobody asks for this very length by chance."""


@dataclass(frozen=True, slots=True)
class Mora:
    """One beat of speech.

    Attributes:
        text: katakana, a key of ``PHONEMES``.
        consonant: its phoneme; empty without one.
        vowel: its phoneme: a, i, u, e or o, in capitals where it is devoiced; ``N`` or ``cl``.
    """

    text: str
    consonant: str
    vowel: str

    @classmethod
    def of_kana(cls, kana: str, *, voiced: bool = True) -> Mora:
        """The mora of that kana.

        Raises:
            ValueError: it is not the kana of one mora, or has no vowel that could be devoiced.
        """
        text = _ALIKE.get(kana, kana)
        if text not in PHONEMES or not (voiced or PHONEMES[text][1] in "aiueo"):
            message = f"{kana!r} is not a mora{'' if voiced else ' that can be devoiced'}"
            raise ValueError(message)
        consonant, vowel = PHONEMES[text]
        return cls(text, consonant, vowel if voiced else vowel.upper())

    @classmethod
    def of_phonemes(cls, consonant: str, vowel: str) -> Mora:
        """The mora of those phonemes; a vowel in capitals is devoiced.

        Raises:
            ValueError: no mora has them.
        """
        plain = vowel.lower() if vowel in "AIUEO" else vowel
        kana = _KANA.get((consonant, plain))
        if kana is None:
            message = f"no mora has the phonemes {f'{consonant} {vowel}'.strip()!r}"
            raise ValueError(message)
        return cls(kana, consonant, vowel)

    @property
    def is_voiced(self) -> bool:
        """Whether its vowel sounds."""
        return self.vowel not in _SILENT

    @property
    def phonemes(self) -> tuple[str, ...]:
        """One or two of them."""
        return (self.consonant, self.vowel) if self.consonant else (self.vowel,)


_SILENT = frozenset({"A", "I", "U", "E", "O", "cl"})


@dataclass(frozen=True, slots=True)
class AccentPhrase:
    """Moras that share one pitch accent.

    Attributes:
        moras: at least one.
        accent: the mora after which the pitch falls, from 1; that of the last mora for a flat phrase.
        pause: seconds of silence that follow it; None when speech goes on.
        is_interrogative: whether it ends a question.
    """

    moras: tuple[Mora, ...]
    accent: int
    pause: float | None = None
    is_interrogative: bool = False

    def __post_init__(self) -> None:
        if not self.moras:
            message = "an accent phrase has at least one mora"
            raise ValueError(message)
        if not 1 <= self.accent <= len(self.moras):
            message = f"accent must be from 1 to {len(self.moras)}, the moras of {self.kana}; got {self.accent}"
            raise ValueError(message)

    @property
    def kana(self) -> str:
        """Its reading in katakana."""
        return "".join(mora.text for mora in self.moras)

    def is_high(self, index: int) -> bool:
        """Whether a mora, counted from 0, is high in Tokyo Japanese."""
        place = index + 1
        return 1 < place <= self.accent or (place == self.accent == 1 and len(self.moras) > 1)


def reading_of(phrases: Iterable[AccentPhrase]) -> tuple[tuple[str, ...], frozenset[int]]:
    """What is said, however it is accented: all moras, and after how many of them a pause stands (but the last)."""
    moras: list[str] = []
    pauses: set[int] = set()
    for phrase in phrases:
        moras += (mora.text for mora in phrase.moras)
        if phrase.pause is not None:
            pauses.add(len(moras))
    return tuple(moras), frozenset(pauses - {len(moras)})
