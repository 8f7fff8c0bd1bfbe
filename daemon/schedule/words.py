"""The words for days, in English and Japanese, and how a list of them is read."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from daemon.schedule.dates import DATES_HELP, parse_dates
from daemon.schedule.days import EVERY_DAY, Days, Kind, Nth, OnDates, Selector, Weekdays

DAYS_HELP = (
    "mon … sun or 月 … 日, ranges such as mon-fri, daily, weekdays (Mon-Fri), weekends, workdays (Mon-Fri without "
    "holidays), holidays, holiday_eve, 2nd sat, last fri, 第2土曜, dates such as "
    + DATES_HELP
    + ", or not and one of these"
)
_EXPECTED = "days such as mon-fri, workdays, holidays, 2nd sat, 平日, 第2土曜 or 2026-12-24"

_SHORT = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_LONG = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_ALSO = {"tues": 1, "wednes": 2, "thur": 3, "thurs": 3}
_KANJI = "月火水木金土日"
_WEEKENDS = Weekdays(frozenset({5, 6}))
_GROUPS: dict[str, tuple[Selector, ...]] = {
    **dict.fromkeys(("daily", "everyday", "毎日"), EVERY_DAY.included),
    **dict.fromkeys(("weekdays", "weekday"), (Weekdays(frozenset(range(5))),)),
    **dict.fromkeys(("weekends", "weekend", "週末", "土日"), (_WEEKENDS,)),
    **dict.fromkeys(("workdays", "workday", "平日"), (Kind.WORKDAYS,)),
    **dict.fromkeys(("holidays", "holiday", "祝日", "祝"), (Kind.HOLIDAYS,)),
    **dict.fromkeys(("holiday_eve", "holiday_eves", "祝前日"), (Kind.HOLIDAY_EVE,)),
    **dict.fromkeys(("土日祝", "土日祝日", "休日"), (_WEEKENDS, Kind.HOLIDAYS)),
}
_PLACES = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1}
_KANJI_DIGITS = str.maketrans("一二三四五六七八九", "123456789")
_LAST = -1
_MOST = 5
_ENGLISH = re.compile(r"(\d+)(?:st|nd|rd|th)")
_JAPANESE = re.compile(r"(第?)([\d一二三四五六七八九]+|最終|最後の)(.*)")
_RANGE = re.compile(r"(\w+)-(\w+)")


def parse_days(words: Sequence[object]) -> Days:
    """Read a list of days; each text may hold several.

    Raises:
        ValueError: a word that is no day; it is named.
    """
    included: list[Selector] = []
    excluded: list[Selector] = []
    for word in words:
        if not isinstance(word, str):
            message = f"{_EXPECTED} are expected, got {word!r} (a number could mean two different weekdays)"
            raise ValueError(message)  # noqa: TRY004 - pydantic turns ValueError into an error of the field
        _Reader(word, included, excluded).read()
    return Days(_merged(included or EVERY_DAY.included), _merged(excluded))


class _Reader:
    """Reads one text from left to right.

    An ordinal waits for its weekday (``1st, 3rd wed``), and ``not`` for what follows it. What ``not`` would mean for
    a second word after it is open to doubt, so that is refused; ``!`` stands at its word and has no such doubt.
    """

    def __init__(self, text: str, included: list[Selector], excluded: list[Selector]) -> None:
        self._text = text
        self._included = included
        self._excluded = excluded
        self._places: set[int] = set()
        self._excludes = False
        self._negated = False
        self._is_closed = False

    def read(self) -> None:
        folded = unicodedata.normalize("NFKC", self._text).strip().lower()
        closed = re.sub(r"\s*\.\.\s*|(?<=[\d日])\s*[~〜]\s*(?=\d)", "..", folded)  # between dates
        closed = re.sub(r"\s*[-~〜–]\s*", "-", closed)
        for word in re.split(r"[,、・\s]+", closed):
            if word != "and":
                self._take(word)
        if self._places:
            raise self._fault("the weekday after the ordinal is missing")
        if self._negated and not self._is_closed:
            raise self._fault("the day after `not` is missing")

    def _take(self, word: str) -> None:
        if self._is_closed:
            raise self._fault("it is not clear how far `not` reaches; write a list, or ! before each day")
        if word == "not" and not self._places:
            self._negated = True
            return
        bare = word.removeprefix("!")
        if bare != word and self._places:
            raise self._fault(f"a weekday is expected after the ordinal, got {word!r}")
        self._excludes = self._excludes or bare != word
        selectors = self._selectors(bare.removeprefix("毎週"))
        if selectors:
            (self._excluded if self._negated or self._excludes else self._included).extend(selectors)
            self._excludes = False
            self._is_closed = self._negated

    def _selectors(self, word: str) -> Sequence[Selector]:
        """What a word selects; nothing for an ordinal, which waits."""
        ordinal = _ordinal(word, waiting=bool(self._places))
        if ordinal is not None:
            place, rest = ordinal
            if place != _LAST and not 1 <= place <= _MOST:
                raise self._fault(f"{word!r} never comes, a month has at most five of a weekday")
            self._places.add(place)
            if not rest:
                return ()
            word = rest
        numbers = _weekdays(word)
        if self._places:
            if numbers is None:
                raise self._fault(f"a weekday is expected after the ordinal, got {word!r}")
            places, self._places = frozenset(self._places), set()
            return (Nth(places, numbers),)
        if numbers is not None:
            return (Weekdays(numbers),)
        dates = parse_dates(word)
        if dates is not None:
            return (OnDates(dates),)
        if word not in _GROUPS:
            message = f"{_EXPECTED} are expected, got {word!r}"
            raise ValueError(message)
        return _GROUPS[word]

    def _fault(self, problem: str) -> ValueError:
        return ValueError(f"{self._text!r}: {problem}")


def _ordinal(word: str, *, waiting: bool) -> tuple[int, str] | None:
    """The place that an ordinal names, and what follows it in the word (``第2土曜``).

    A bare digit is an ordinal only where another one waits for its weekday (``第1・3水曜``).
    """
    if word in _PLACES:
        return _PLACES[word], ""
    if match := _ENGLISH.fullmatch(word):
        return int(match[1]), ""
    match = _JAPANESE.fullmatch(word)
    if match is None or (match[3] and _weekdays(match[3]) is None):
        return None
    if match[2].startswith("最"):
        return _LAST, match[3]
    return (int(match[2].translate(_KANJI_DIGITS)), match[3]) if match[1] or waiting else None


def _weekdays(word: str) -> frozenset[int] | None:
    """The weekdays of a name or a range of names."""
    single = _weekday(word)
    if single is not None:
        return frozenset({single})
    match = _RANGE.fullmatch(word)
    first, last = (_weekday(match[1]), _weekday(match[2])) if match else (None, None)
    if first is None or last is None:
        return None
    return frozenset((first + step) % 7 for step in range((last - first) % 7 + 1))


def _weekday(word: str) -> int | None:
    name = word.removesuffix("曜日").removesuffix("曜")
    if len(name) == 1 and name in _KANJI:
        return _KANJI.index(name)
    for names in (_SHORT, _LONG):
        if name in names:
            return names.index(name)
    return _ALSO.get(name)


def _merged(selectors: Iterable[Selector]) -> tuple[Selector, ...]:
    """One selector for all weekdays, first: it answers fastest."""
    weekdays: frozenset[int] = frozenset()
    others: dict[Selector, None] = {}
    for selector in selectors:
        if isinstance(selector, Weekdays):
            weekdays |= selector.numbers
        else:
            others[selector] = None
    return (*([Weekdays(weekdays)] if weekdays else []), *others)
