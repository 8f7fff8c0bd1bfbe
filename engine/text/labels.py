"""HTS full-context labels of accent phrases, and accent phrases of labels.

The fields are those of "An example of context-dependent label format for HMM-based speech synthesis in Japanese", which
comes with the HTS demos: p phonemes, a place in the accent phrase, b c d words, e f g accent phrases, h i j breath
groups, k utterance. Open JTalk writes 0 where the format leaves f4 undefined, and in e5 and g5 whether the neighbour
follows without a pause.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from engine.text.accents import PAUSE_COMMA, AccentPhrase, Mora

_FIELDS = re.compile(
    r"-(?P<phoneme>[^+]+)\+.*?/A:[^+]+\+(?P<mora>\d+|xx)\+.*?(?P<words>/B:.*?/C:.*?/D:.*?)/E:.*?"
    r"/F:(?P<moras>\d+|xx)_(?P<accent>\d+|xx)#(?P<question>\d|xx)_.*?@(?P<place>\d+|xx)_"
)
_NOUN = "02-xx_xx", "02_xx+xx", "02+xx_xx"
"""Words of which nothing is known are nouns."""
_NO_PHRASE = "xx_xx"
_FEW, _SOME, _MANY, _MOST = 19, 49, 99, 199
"""Counts are no higher than these in labels; which one, depends on what is counted."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """A phoneme of the utterance: of a mora of a phrase, or silence."""

    phoneme: str
    phrase: int | None = None
    mora: int = 0


def phrases_of_labels(labels: Sequence[str]) -> tuple[AccentPhrase, ...]:
    """The accent phrases of one utterance; a pause within it lasts ``PAUSE_COMMA``."""
    phrases: list[AccentPhrase] = []
    moras: list[Mora] = []
    consonant = ""
    for label, following in pairwise([*labels, ""]):
        here, after = _FIELDS.search(label), _FIELDS.search(following)
        if here is None or here["mora"] == "xx":
            continue
        same_phrase = after is not None and after["mora"] != "xx" and int(after["mora"]) >= int(here["mora"])
        if (
            same_phrase
            and after
            and after["mora"] == here["mora"]
            and after["place"] == here["place"]
            and not consonant
        ):
            consonant = here["phoneme"]
            continue
        moras.append(Mora.of_phonemes(consonant, here["phoneme"]))
        consonant = ""
        if same_phrase and after and (after["mora"] != here["mora"]):
            continue
        pause = PAUSE_COMMA if after is not None and after["phoneme"] == "pau" else None
        accent = min(max(int(here["accent"]), 1), len(moras))
        phrases.append(AccentPhrase(tuple(moras), accent, pause, here["question"] == "1"))
        moras = []
    return tuple(phrases)


def labels_of_phrases(phrases: Sequence[AccentPhrase], known: Sequence[str] = ()) -> list[str]:
    """Labels of one utterance, one a phoneme, with silence at both ends.

    Args:
        phrases: of the utterance; at least one.
        known: labels of the same words with any accents, whose parts of speech are taken over. Labels of other phonemes
            are of no use, and ignored.
    """
    groups = _breath_groups(phrases)
    units = [_Unit("sil")]
    for number, group in enumerate(groups):
        if number:
            units.append(_Unit("pau"))
        for index in group:
            units += [_Unit(p, index, at) for at, mora in enumerate(phrases[index].moras) for p in mora.phonemes]
    units.append(_Unit("sil"))
    words = _known_words(units, known) or _noun_words(units)
    moras = [len(phrase.moras) for phrase in phrases]
    utterance = f"/K:{_to(len(groups), _FEW)}+{_to(len(phrases), _SOME)}-{_to(sum(moras), _MOST)}"
    names = ["xx", "xx", *(unit.phoneme for unit in units), "xx", "xx"]
    labels: list[str] = []
    for at, unit in enumerate(units):
        a, b, c, d, e = names[at : at + 5]
        before, here, after = _phrase_around(units, at)
        place = _place(phrases[here], unit.mora) if here is not None else "xx+xx+xx"
        labels.append(
            f"{a}^{b}-{c}+{d}={e}/A:{place}{words[at]}"
            f"/E:{_neighbour(phrases, before, here)}"
            f"/F:{_current(phrases, groups, here)}"
            f"/G:{_neighbour(phrases, after, here, following=True)}"
            f"{_groups_around(groups, moras, before, here, after)}{utterance}"
        )
    return labels


def _breath_groups(phrases: Sequence[AccentPhrase]) -> list[list[int]]:
    groups: list[list[int]] = [[]]
    for index, phrase in enumerate(phrases):
        groups[-1].append(index)
        if phrase.pause is not None and index < len(phrases) - 1:
            groups.append([])
    return groups


def _known_words(units: Sequence[_Unit], known: Sequence[str]) -> list[str] | None:
    found = [_FIELDS.search(label) for label in known]
    matches = [match for match in found if match is not None]
    theirs = [_voiced(match["phoneme"]) for match in matches]
    if theirs != [_voiced(unit.phoneme) for unit in units]:
        return None
    return [match["words"] for match in matches]


def _noun_words(units: Sequence[_Unit]) -> list[str]:
    """One noun a phrase."""
    words = []
    for at in range(len(units)):
        before, here, after = _phrase_around(units, at)
        b = "xx-xx_xx" if before is None else _NOUN[0]
        c = "xx_xx+xx" if here is None else _NOUN[1]
        d = "xx+xx_xx" if after is None else _NOUN[2]
        words.append(f"/B:{b}/C:{c}/D:{d}")
    return words


def _voiced(phoneme: str) -> str:
    return phoneme.lower() if phoneme in "AIUEO" else phoneme


def _phrase_around(units: Sequence[_Unit], at: int) -> tuple[int | None, int | None, int | None]:
    """Index of the phrase before, of the unit's own, and of the one after it."""
    here = units[at].phrase
    if here is not None:
        last = units[-2].phrase
        return here - 1 if here else None, here, here + 1 if last is not None and here < last else None
    before = units[at - 1].phrase if at else None
    return before, None, units[at + 1].phrase if at + 1 < len(units) else None


def _place(phrase: AccentPhrase, mora: int) -> str:
    count = len(phrase.moras)
    fall = max(-_SOME, min(_SOME, mora + 1 - phrase.accent))
    return f"{fall}+{_to(mora + 1, _SOME)}+{_to(count - mora, _SOME)}"


def _neighbour(phrases: Sequence[AccentPhrase], index: int | None, here: int | None, *, following: bool = False) -> str:
    if index is None:
        return "xx_xx%xx_xx_xx" if following else "xx_xx!xx_xx-xx"
    phrase = phrases[index]
    facts = f"{_to(len(phrase.moras), _SOME)}_{_to(phrase.accent, _SOME)}"
    joined = "xx"
    if here is not None:
        joined = "1" if phrases[min(index, here)].pause is None else "0"
    question = int(phrase.is_interrogative)
    return f"{facts}%{question}_0_{joined}" if following else f"{facts}!{question}_0-{joined}"


def _current(phrases: Sequence[AccentPhrase], groups: Sequence[Sequence[int]], here: int | None) -> str:
    if here is None:
        return "xx_xx#xx_xx@xx_xx|xx_xx"
    phrase = phrases[here]
    group = next(group for group in groups if here in group)
    place = group.index(here)
    before = sum(len(phrases[index].moras) for index in group[:place])
    after = sum(len(phrases[index].moras) for index in group[place:])
    return (
        f"{_to(len(phrase.moras), _SOME)}_{_to(phrase.accent, _SOME)}#{int(phrase.is_interrogative)}_0"
        f"@{_to(place + 1, _SOME)}_{_to(len(group) - place, _SOME)}|{_to(before + 1, _MANY)}_{_to(after, _MANY)}"
    )


def _groups_around(
    groups: Sequence[Sequence[int]], moras: Sequence[int], before: int | None, here: int | None, after: int | None
) -> str:
    sizes = [(len(group), sum(moras[index] for index in group)) for group in groups]
    of = {index: number for number, group in enumerate(groups) for index in group}
    earlier: int | None
    later: int | None
    if here is not None:
        number = of[here]
        earlier, later = number - 1, number + 1
        phrases_before = sum(count for count, _ in sizes[:number])
        moras_before = sum(count for _, count in sizes[:number])
        middle = (
            f"/I:{_to(sizes[number][0], _SOME)}-{_to(sizes[number][1], _MANY)}"
            f"@{_to(number + 1, _FEW)}+{_to(len(groups) - number, _FEW)}"
            f"&{_to(phrases_before + 1, _SOME)}-{_to(len(moras) - phrases_before, _SOME)}"
            f"|{_to(moras_before + 1, _MOST)}+{_to(sum(moras) - moras_before, _MOST)}"
        )
    else:
        earlier = None if before is None else of[before]
        later = None if after is None else of[after]
        middle = "/I:xx-xx@xx+xx&xx-xx|xx+xx"
    return f"/H:{_group(sizes, earlier)}{middle}/J:{_group(sizes, later)}"


def _group(sizes: Sequence[tuple[int, int]], number: int | None) -> str:
    if number is None or not 0 <= number < len(sizes):
        return _NO_PHRASE
    phrases, moras = sizes[number]
    return f"{_to(phrases, _SOME)}_{_to(moras, _MANY)}"


def _to(value: int, highest: int) -> int:
    return min(max(value, 1), highest)
