"""Times of day and durations."""

from __future__ import annotations

import re

from engine.text.rules.base import Rule, before, rule, sounded
from engine.text.types import Kind

MERIDIEM = r"(?:[AaPp]\.?[Mm](?![A-Za-z])\.?)"
ZERO_HOUR = sounded("0時", "レイジ", 1)
_LAST_HOUR = 30  # 25:30 is how late programmes are announced


def hours(hour: int) -> str:
    """14 → 14時; midnight is レイジ, which the front end does not know."""
    return ZERO_HOUR if hour == 0 else f"{hour}時"


def clock(hour: int, minute: int, second: int = 0) -> str:
    """The time of day as it is said: full hours without minutes."""
    return hours(hour) + (f"{minute}分" if minute or second else "") + (f"{second}秒" if second else "")


def _meridiem(text: str) -> str:
    return "午前" if text[0] in "aA" else "午後"


@rule(
    "time",
    Kind.TIME,
    "0",
    rf"(?<![\d.:/])(\d{{1,2}}):([0-5]\d)(?::([0-5]\d)(?:\.\d{{1,6}})?)?(?![\d.]*\d|:\d)(?:[ ]?(?P<half>{MERIDIEM}))?",
)
def time_of_day(match: re.Match[str]) -> str | None:
    """14:30, 7:05, 12:34:56, 7:00 am."""
    hour = int(match[1])
    if hour > _LAST_HOUR:
        return None
    half = _meridiem(match["half"]) if match["half"] else ""
    return half + clock(hour, int(match[2]), int(match[3] or 0))


@rule(
    "time with AM or PM",
    Kind.TIME,
    "0",
    r"(?<![\d.:/-])(\d{1,2})[ ]?(?P<half>[AaPp]\.[Mm]\.|[AaPp][Mm])(?![A-Za-z])",
)
def hour_then_half(match: re.Match[str]) -> str | None:
    """7am, 3 PM."""
    return _meridiem(match["half"]) + hours(int(match[1])) if int(match[1]) <= 24 else None


@rule("time with AM or PM", Kind.TIME, "A", rf"(?<![A-Za-z]){MERIDIEM}[ ]?(?=(\d{{1,2}})(?![\d.]))")
def half_then_hour(match: re.Match[str]) -> str | None:
    """AM7:00, PM 3, am 7時."""
    if int(match[1]) > 24:
        return None
    return _meridiem(match.group())


@rule("hour", Kind.TIME, "0", r"(?<![\d.:/-])(\d{1,2})(?![\d:.時,])")
def hour_after_half(match: re.Match[str]) -> str | None:
    """The 7 of AM7, and of 午前7〜9時."""
    return hours(int(match[1])) if re.search(rf"(?<![A-Za-z]){MERIDIEM}[ ]?$", before(match, 6)) else None


@rule("midnight", Kind.TIME, "0", r"(?<![\d.:,])0{1,2}時(?![間点])(?:00?分)?")
def midnight(_match: re.Match[str]) -> str | None:
    """0時 is レイジ."""
    return ZERO_HOUR


@rule("full hour", Kind.TIME, "0", r"(?<=時)00分(?![間前後])")
def full_hour(_match: re.Match[str]) -> str | None:
    """7時00分 is 7時."""
    return ""


@rule("leading zero", Kind.TIME, "0", r"(?<![\d.:,-])0(\d)(?=[年月日時分秒度回])")
def padded(match: re.Match[str]) -> str | None:
    """05分 is 5分."""
    if match.string.startswith("時", match.end()) and match[1] == "0":
        return None
    return match[1]


_LASTING = re.compile(
    r"(?:残り|残り時間|あと|所要時間|所要|経過|経過時間|運転時間|稼働時間|合計|かかる時間)(?:は|が|約|[:：、])?[ ]?$"
)
_PLAYING = re.compile(r"(?:タイマー|再生時間|再生|演奏時間|録画時間|録音時間|動画|曲)(?:は|が|約|[:：、])?[ ]?$")


@rule("duration", Kind.TIME, "0", r"(?<![\d.:/])(\d{1,3}):([0-5]\d)(?::([0-5]\d))?(?![\d:])")
def remaining(match: re.Match[str]) -> str | None:
    """残り1:30 lasts an hour and a half; タイマー3:00 three minutes."""
    lead = before(match)
    first, second, third = int(match[1]), int(match[2]), match[3]
    if third is None and (_PLAYING.search(lead) or (_LASTING.search(lead) and first > 24)):
        return _lasting(0, first, second)
    if _LASTING.search(lead) or _PLAYING.search(lead):
        return _lasting(first, second, int(third or 0))
    return None


@rule(
    "duration",
    Kind.TIME,
    "0",
    r"(?<![\d.:])(?:(?P<d>\d{1,3})[ ]?d(?:ays?)?[ ]?)?(?:(?P<h>\d{1,3})[ ]?(?:h|hr|hrs|hours?)[ ]?)?"
    r"(?:(?P<m>\d{1,3})[ ]?(?:m|min|mins|minutes?)[ ]?)?"
    r"(?:(?P<s>\d{1,3})[ ]?(?:s|sec|secs|seconds?))?(?<=[a-z])(?![A-Za-z\d/])",
)
def compact(match: re.Match[str]) -> str | None:
    """1h30m, 2d 3h, 5m30s: two parts at least, so that 5m stays five metres."""
    parts = [match["d"], match["h"], match["m"], match["s"]]
    if sum(part is not None for part in parts) < 2:
        return None
    return "".join(f"{int(part)}{unit}" for part, unit in zip(parts, ("日", "時間", "分", "秒"), strict=True) if part)


def _lasting(hour: int, minute: int, second: int) -> str:
    parts = [(hour, "時間"), (minute, "分"), (second, "秒")]
    return "".join(f"{number}{unit}" for number, unit in parts if number) or "0分"


@rule("between", Kind.TIME, "あ", r"(?:(?<=\d)[時分日年月]|(?<=[\d時分日年月]))の間(?=[はにでもの、。]|$)")
def between(match: re.Match[str]) -> str | None:
    """8時の間: アイダ, where the front end sees 時の間 (トキノマ)."""
    return match.group()[:-1] + sounded("間", "アイダ", 0)


RULES: tuple[Rule, ...] = (
    between,
    remaining,
    time_of_day,
    hour_then_half,
    half_then_hour,
    hour_after_half,
    midnight,
    full_hour,
    padded,
    compact,
)
