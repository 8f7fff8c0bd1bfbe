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
_PLACES = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1, "最終": -1, "最後の": -1}
_KANJI_DIGITS = str.maketrans("一二三四五六七八九", "123456789")
_PLACE = re.compile(r"(\d+)(?:st|nd|rd|th)")
_NTH = re.compile(r"(最終|最後の|第?[\d一二三四五六七八九]+)(.*)")
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
            raise self._error(f"{self._text!r}: the weekday after the ordinal is missing")
        if self._negated and not self._is_closed:
            raise self._error(f"{self._text!r}: the day after `not` is missing")

    def _take(self, word: str) -> None:
        if self._is_closed:
            raise self._error(
                f"{self._text!r}: it is not clear how far `not` reaches; make it a list with one `not …` an item, "
                "or put ! before each day"
            )
        if word == "not" and not self._places:
            self._negated = True
            return
        bare = word.removeprefix("!")
        target = self._excluded if self._negated or bare != word else self._included
        bare = bare.removeprefix("毎週")
        selectors = self._selectors(bare)
        target.extend(selectors)
        if selectors and self._negated:
            self._is_closed = True

    def _selectors(self, word: str) -> Sequence[Selector]:
        """What a word selects; nothing for an ordinal, which waits."""
        nth = _NTH.fullmatch(word)
        ordinal = _PLACES.get(word) or ((match := _PLACE.fullmatch(word)) and int(match[1]))
        numbers = _weekdays(word)
        if ordinal:
            self._add_place(ordinal, word)
            return ()
        if nth and (nth[1].startswith(("第", "最")) or self._places) and (not nth[2] or _weekdays(nth[2])):
            number = nth[1].removeprefix("第").translate(_KANJI_DIGITS)
            self._add_place(_PLACES.get(nth[1]) or int(number), word)
            numbers = _weekdays(nth[2])
            if numbers is None:
                return ()
        if self._places:
            if numbers is None:
                raise self._error(f"{self._text!r}: a weekday is expected after the ordinal, got {word!r}")
            places, self._places = frozenset(self._places), set()
            return (Nth(places, numbers),)
        if numbers is not None:
            return (Weekdays(numbers),)
        if word in _GROUPS:
            return _GROUPS[word]
        dates = parse_dates(word)
        if dates is not None:
            return (OnDates(dates),)
        raise self._error(f"{_EXPECTED} are expected, got {word!r}")

    def _add_place(self, place: int, word: str) -> None:
        if place != -1 and not 1 <= place <= 5:
            raise self._error(f"{self._text!r}: {word!r} never comes, a month has at most five of a weekday")
        self._places.add(place)

    @staticmethod
    def _error(message: str) -> ValueError:
        return ValueError(message)


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
