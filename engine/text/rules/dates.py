"""Dates, weekdays, years and eras."""

from __future__ import annotations

import re

from engine.text.rules.base import Rule, after, before, rule, sounded
from engine.text.rules.clock import clock
from engine.text.rules.digits import is_version
from engine.text.types import Kind

_DAYS = dict(zip("月火水木金土日", ("ゲツ", "カ", "スイ", "モク", "キン", "ド", "ニチ"), strict=True))
_ENGLISH = {"mon": "月", "tue": "火", "wed": "水", "thu": "木", "fri": "金", "sat": "土", "sun": "日"}
_SPECIAL = {
    "祝": "祝日",
    "祝日": "祝日",
    "休": "休日",
    "休日": "休日",
    "振休": "振替休日",
    "振替休日": "振替休日",
    "国民の休日": "国民の休日",
}
_ERAS = {"M": "明治", "T": "大正", "S": "昭和", "H": "平成", "R": "令和"}
_MONTHS = {
    name: str(n)
    for n, name in enumerate(["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1)
}
_MONTH_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

WEEKDAY = (
    r"[ ]?\((?:(?:[月火水木金土日](?:曜日?)?|(?i:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}\.?)"
    r"(?:[・,、/ ]?(?:祝日?|休日?|振休|振替休日))?|祝日?|休日|振休|振替休日|国民の休日)\)"
)
END = r"(?![\d/]|[.-]\d)"


def weekday(text: str) -> str:
    """(火) → 火曜日; (月・祝) → 月曜日、祝日."""
    inner = text.strip(" ()")
    lower = inner[:3].lower()
    if inner in _SPECIAL:
        return _SPECIAL[inner]
    day = _ENGLISH.get(lower, inner[0])
    rest = re.search(r"(祝日?|休日?|振休|振替休日)$", inner)
    return f"{day}曜日" + (f"、{_SPECIAL[rest[1]]}" if rest else "")


def is_day(month: int, day: int) -> bool:
    """Whether the calendar has such a day."""
    return 1 <= month <= 12 and 1 <= day <= _MONTH_DAYS[month - 1]


def _date(month: str, day: str, week: str | None) -> str | None:
    if not is_day(int(month), int(day)):
        return None
    return f"{int(month)}月{int(day)}日" + (weekday(week) if week else "")


@rule(
    "timestamp",
    Kind.DATE,
    "0",
    r"(?<!\d)(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d{1,9})?)?(?P<zone>Z|[+-]\d\d:?\d\d)?(?![\d:])",
)
def timestamp(match: re.Match[str]) -> str | None:
    """2026-12-01T14:30:00+09:00; fractions of a second are not said, nor is the zone unless it is UTC."""
    day = _date(match[2], match[3], None)
    if day is None or int(match[4]) > 24 or int(match[5]) > 59:
        return None
    zone = "協定世界時" if match["zone"] in {"Z", "+00:00", "+0000"} else ""
    return f"{int(match[1])}年{day}{zone}{clock(int(match[4]), int(match[5]), int(match[6] or 0))}"


@rule(
    "date",
    Kind.DATE,
    "0",
    rf"(?<![\d/.-])(\d{{4}})([/.-])(\d{{1,2}})\2(\d{{1,2}})(?:{END}|(?=\.(?!\d)))(?P<week>{WEEKDAY})?",
)
def year_month_day(match: re.Match[str]) -> str | None:
    """2026/12/24, 2026-12-24, 2026.12.24, with a weekday in brackets or without."""
    if not 1000 <= int(match[1]) <= 2999 or (match[2] == "." and is_version(match)):
        return None
    day = _date(match[3], match[4], match["week"])
    return day and f"{match[1]}年{day}"


@rule("date", Kind.DATE, "0", rf"(?<![\d/.-])'?(\d\d)/(\d{{1,2}})/(\d{{1,2}}){END}(?P<week>{WEEKDAY})?")
def short_year(match: re.Match[str]) -> str | None:
    """26/12/24."""
    day = _date(match[2], match[3], match["week"])
    return day and f"{int(match[1]) + 2000}年{day}"


@rule(
    "era",
    Kind.DATE,
    "0",
    rf"(?<=令和|平成|昭和|大正|明治)(\d{{1,2}})([/.-])(\d{{1,2}})\2(\d{{1,2}}){END}(?P<week>{WEEKDAY})?",
)
def era_numbers(match: re.Match[str]) -> str | None:
    """The numbers of 令和8.4.1."""
    day = _date(match[3], match[4], match["week"])
    return day and f"{int(match[1])}年{day}"


@rule(
    "era",
    Kind.DATE,
    "A",
    rf"(?<![A-Za-z\d])([MTSHR])(\d{{1,2}})([/.-])(\d{{1,2}})\3(\d{{1,2}}){END}(?P<week>{WEEKDAY})?",
)
def era_letter(match: re.Match[str]) -> str | None:
    """R8.4.1, H30/12/24."""
    day = _date(match[4], match[5], match["week"])
    return day and f"{_ERAS[match[1]]}{int(match[2])}年{day}"


@rule("era", Kind.DATE, "A", r"(?<![A-Za-z\d])([MTSHR])(\d{1,2}|元)(?=年)")
def era_year(match: re.Match[str]) -> str | None:
    """R8年."""
    return _ERAS[match[1]] + match[2]


@rule("year and month", Kind.DATE, "0", rf"(?<![\d/.-])((?:19|20)\d\d)[/-](\d{{1,2}}){END}(?![ ]?[a-zA-Z℃%])")
def year_month(match: re.Match[str]) -> str | None:
    """2026/12."""
    return f"{match[1]}年{int(match[2])}月" if 1 <= int(match[2]) <= 12 else None


_PART_BEFORE = re.compile(
    r"(?:大さじ|小さじ|カップ|約|およそ|ほぼ|"
    r"全体の|残り|容量の|わずか|濃度|縮尺|倍率|確率|水量|量は|サイズ|の|\dと)[ ]?$"
)
_PART_AFTER = re.compile(
    r"[ ]?(?:カップ|杯|点|本|個|枚|錠|量|玉|丁|袋|缶|瓶|箱|片|株|束|合|倍|スケール|サイズ|程度|ほど|くらい|ぐらい|以下|"
    r"以上|未満|回|に減|に増|に縮|になり|になっ|の量|の大きさ|の確率|の濃さ|の水|の時間|の値段|"
    r"の価格|ずつ|だけ|が終|が完|を使|を入|を加|ページ|リットル|インチ|inch|L|cup|秒|分(?!の)|時間)"
)
_DAY_AFTER = re.compile(r"[ ]?[はのにまかよ〜、,(]|[ ]?\d{1,2}:")


@rule(
    "fraction",
    Kind.NUMBER,
    "0",
    r"(?<![\d/.])(?:(?P<whole>\d{1,2})[ ](?=\d{1,2}/\d))?(\d{1,4})[/⁄](\d{1,4})(?![\d/])(?!\.\d)",
)
def fraction_in_context(match: re.Match[str]) -> str | None:
    """1/2カップ: what stands around it makes it a part of a whole."""
    numerator, denominator = int(match[2]), int(match[3])
    if numerator >= denominator:
        return None
    day = is_day(numerator, denominator)
    part = _PART_AFTER.match(after(match)) or (
        _PART_BEFORE.search(before(match)) and not _DAY_AFTER.match(after(match))
    )
    if day and not part and "⁄" not in match.group():
        return None
    return (f"{int(match['whole'])}と" if match["whole"] else "") + f"{denominator}分の{numerator}"


@rule("date", Kind.DATE, "0", rf"(?<![\d/.])(\d{{1,2}})/(\d{{1,2}})(?![\d/]|\.\d)(?P<week>{WEEKDAY})?")
def month_day(match: re.Match[str]) -> str | None:
    """12/1, 12/1(火)."""
    return _date(match[1], match[2], match["week"])


@rule("date", Kind.DATE, "0", rf"(?<![\d/.])(\d{{1,2}})/(\d{{1,2}})/(\d{{4}}){END}(?P<week>{WEEKDAY})?")
def year_last(match: re.Match[str]) -> str | None:
    """12/25/2026, or 25/12/2026 where only that is a date."""
    first, second = match[1], match[2]
    day = _date(first, second, match["week"]) or _date(second, first, match["week"])
    return day and f"{match[3]}年{day}"


@rule("date", Kind.DATE, "0", rf"(?<![\d/.])(\d{{1,2}})\.(\d{{1,2}})(?P<week>{WEEKDAY})")
def dotted_month_day(match: re.Match[str]) -> str | None:
    """12.1(火): only the weekday tells it from a decimal."""
    return _date(match[1], match[2], match["week"])


@rule("date", Kind.DATE, "0", r"(?<![\d/.:])(\d{1,2})(?![\d/.:年月日時分秒個本回度%円枚人°A-Za-z])")
def day_of_range(match: re.Match[str]) -> str | None:
    """The 3 of 12/1〜3."""
    lead = re.search(rf"(\d{{1,2}})/(\d{{1,2}})(?:{WEEKDAY})?[ ]?[〜-][ ]?$", before(match, 24))
    if lead is None or not is_day(int(lead[1]), int(lead[2])) or not is_day(int(lead[1]), int(match[1])):
        return None
    return f"{int(match[1])}日"


@rule(
    "date",
    Kind.DATE,
    "A",
    r"(?<![A-Za-z])(?i:(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6})\.?[ ]"
    r"(\d{1,2})(?:st|nd|rd|th)?(?:,?[ ](\d{4}))?(?![\d:A-Za-z])",
)
def english_date(match: re.Match[str]) -> str | None:
    """Dec 24, 2026."""
    day = _date(_MONTHS[match[1].lower()], match[2], None)
    return day and (f"{match[3]}年" if match[3] else "") + day


@rule("weekday", Kind.DATE, "( ", WEEKDAY)
def weekday_in_brackets(match: re.Match[str]) -> str | None:
    """(火) after a day, or in a list."""
    inner = match.group().strip(" ()")
    if inner.isascii() and not re.search(r"[日時\d)][ ]?$", before(match)):
        return None
    lead = "、" if re.search(r"(?:[ァ-ヶ]|[一-龠](?<![日週回年月間]))$", before(match, 1)) else ""
    trail = "、" if after(match, 1) == "(" else ""
    return lead + weekday(match.group()) + trail


def _short_day(day: str) -> str:
    return sounded(day, _DAYS[day], 1)


@rule(
    "weekdays",
    Kind.DATE,
    "あ",
    r"(?<![一-龠\d])[月火水木金土日](?:[ ]?[・、,/〜-][ ]?[月火水木金土日祝])+(?=曜|[ ]?(?:[^一-龠ァ-ヶ]|$))",
)
def short_weekdays(match: re.Match[str]) -> str | None:
    """月・水・金, 月〜金: short names of weekdays are read by their sound in 曜日."""
    return _in_row(match)


@rule(
    "weekdays",
    Kind.DATE,
    "あ",
    r"(?<=毎週)[月火水木金土日](?:[ ]?[・、,/〜-][ ]?[月火水木金土日祝])+(?=曜|[ ]?(?:[^一-龠ァ-ヶ]|$))",
)
def weekly(match: re.Match[str]) -> str | None:
    """毎週火・金."""
    return _in_row(match)


def _in_row(match: re.Match[str]) -> str:
    text = re.sub(r"[ ]?[〜-][ ]?", "から", re.sub(r"[ ]?[・、,/][ ]?", "・", match.group()))
    if match.string.startswith("曜", match.end()):
        text, last = text[:-1], text[-1]
    else:
        last = ""
    return (
        re.sub(
            "[月火水木金土日祝]", lambda day: sounded("祝", "シュク", 0) if day[0] == "祝" else _short_day(day[0]), text
        )
        + last
    )


EARLY: tuple[Rule, ...] = (timestamp, year_month_day, short_year, era_numbers, era_letter, era_year, day_of_range)
RULES: tuple[Rule, ...] = (
    fraction_in_context,
    year_month,
    month_day,
    year_last,
    dotted_month_day,
    english_date,
    weekday_in_brackets,
    short_weekdays,
    weekly,
)
