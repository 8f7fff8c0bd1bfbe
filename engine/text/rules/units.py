"""Quantities: a number with a unit of measurement."""

from __future__ import annotations

import re

from engine.text.data import pairs
from engine.text.rules.base import NUMBER, Rule, after, before, plain_number, rule, sounded
from engine.text.types import Kind

_PREFIXES = {
    "k": "キロ",
    "K": "キロ",
    "M": "メガ",
    "G": "ギガ",
    "T": "テラ",
    "P": "ペタ",
    "h": "ヘクト",
    "d": "デシ",
    "c": "センチ",
    "m": "ミリ",
    "µ": "マイクロ",
    "n": "ナノ",
    "p": "ピコ",
}
_POWERS = {"2": "平方", "²": "平方", "3": "立方", "³": "立方"}
_PER = {
    **dict.fromkeys(["s", "sec", "秒"], "毎秒"),
    **dict.fromkeys(["min", "m", "分"], "毎分"),
    **dict.fromkeys(["h", "hr", "時", "時間"], "毎時"),
    **dict.fromkeys(["d", "day", "日"], "毎日"),
}


def _units() -> dict[str, str]:
    units: dict[str, str] = {}
    for symbol, entry in pairs("units.txt"):
        name, _, prefixes = entry.partition(" | ")
        units.setdefault(symbol, name)
        for prefix in prefixes.split():
            units.setdefault(prefix + symbol, _PREFIXES[prefix] + name)
    for length in ("m", "km", "cm", "mm"):
        for power, word in _POWERS.items():
            units[length + power] = word + units[length]
    return {symbol.replace("µ", "μ"): name for symbol, name in units.items()}


UNITS = _units()
"""Symbol → name. µ stands as Greek μ, as folding leaves it."""

_SYMBOLS = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
SYMBOL = rf"(?:{_SYMBOLS})(?![A-Za-z])"
_COUNTED = r"[円回人件個本歩枚字語]"


def _quotient(first: str, second: str) -> str:
    """m/s → メートル毎秒; µg/m³ → マイクログラム毎立方メートル."""
    if second in _PER:
        return first + _PER[second]
    return first + sounded("毎", "マイ", 1) + UNITS[second]


@rule(
    "unit of a quotient",
    Kind.QUANTITY,
    "0",
    rf"(?<![\d.])({NUMBER})[ ]?((?:{_SYMBOLS})(?![A-Za-z])|{_COUNTED})/"
    rf"((?:{_SYMBOLS})(?![A-Za-z\d])|秒|分|時間?|日|day|d(?![A-Za-z]))",
)
def quotient(match: re.Match[str]) -> str | None:
    """5m/s, 35µg/m³, 31円/kWh, 80回/分."""
    first = UNITS.get(match[2], match[2])
    if match[2] in "円回人件個本歩枚字語" and match[3] not in UNITS:
        return f"{plain_number(match[1])}{first}{_PER[match[3]]}" if match[3] in _PER else None
    return plain_number(match[1]) + _quotient(first, match[3])


@rule("unit of a quotient", Kind.QUANTITY, "0", rf"(?<![\d.])({NUMBER})[ ]?((?:{_SYMBOLS}))[·・](h|m|s)(?![A-Za-z])")
def product(match: re.Match[str]) -> str | None:
    """2kW・h, 5N・m."""
    return plain_number(match[1]) + UNITS[match[2]] + {"h": "時", "m": "メートル", "s": "秒"}[match[3]]


@rule("temperature in Fahrenheit", Kind.QUANTITY, "0", rf"(?<![\d.])({NUMBER})[ ]?(?:°F|℉)(?![A-Za-z])")
def fahrenheit(match: re.Match[str]) -> str | None:
    """70°F; the scale is said first."""
    return f"華氏{plain_number(match[1])}度"


@rule("floor", Kind.QUANTITY, "0", r"(?<![\d.A-Za-z])(\d{1,3})F(?![A-Za-z\d])")
def floor(match: re.Match[str]) -> str | None:
    """2F is the second floor."""
    return f"{int(match[1])}階"


@rule(
    "floor",
    Kind.QUANTITY,
    "A",
    r"(?<![A-Za-z\d])B(\d)(?:F(?![A-Za-z\d])|(?![A-Za-z\d])(?=階|$|[のにへでがはを、。,. ()/〜-]))",
)
def basement(match: re.Match[str]) -> str | None:
    """B1, B1F: below the ground. B5 and B4 are sizes of paper unless an F follows."""
    if match.group()[-1] != "F" and int(match[1]) > 3:
        return None
    kai = "" if match.string.startswith("階", match.end()) else "階"
    return f"地下{match[1]}{kai}"


@rule("scale", Kind.QUANTITY, "0", rf"(?<![\d.])({NUMBER})([kKMGT])(?![A-Za-z\d])")
def scale(match: re.Match[str]) -> str | None:
    """4K is a resolution, 2700K a temperature of light, 100M a hundred mega."""
    number = plain_number(match[1])
    if match[2] == "K":
        return number + ("ケルビン" if float(number) >= 1000 else "ケー")
    return number + {"k": "キロ", "M": "メガ", "G": "ギガ", "T": "テラ"}[match[2]]


@rule("unit", Kind.QUANTITY, "0", rf"(?<![\d.])({NUMBER})(?P<gap>[ ]?)(?P<unit>{_SYMBOLS})(?![A-Za-z])")
def quantity(match: re.Match[str]) -> str | None:
    """60%, 25.5°C, 3.5km, 1013hPa."""
    symbol = match["unit"]
    if match["gap"] and symbol in {"A", "F", "K", "N", "B", "H", "h", "s", "in", "t", "J"}:
        return None
    if (
        symbol.isalpha()
        and re.match(r"\d", after(match, 1))
        and not re.match(rf"\d+(?:{_SYMBOLS})(?![A-Za-z])", after(match))
    ):
        return None
    return plain_number(match[1]) + UNITS[symbol]


@rule("unit", Kind.QUANTITY, "0", rf"(?<![\d.])({NUMBER})[ ]?%[ ]?RH(?![A-Za-z])")
def relative_humidity(match: re.Match[str]) -> str | None:
    """60%RH."""
    return plain_number(match[1]) + "パーセント"


@rule("unit", Kind.QUANTITY, "°", r"°")
def degree(_match: re.Match[str]) -> str | None:
    """A degree sign after something else than a number."""
    return "度"


@rule("unit", Kind.QUANTITY, "°", r"°([CF])(?![A-Za-z])")
def degree_scale(match: re.Match[str]) -> str | None:
    """°C alone, as in 単位は℃."""
    return "度" if match[1] == "C" else "華氏"


@rule("unit", Kind.QUANTITY, "A", r"(?:k?[mg]|kW|kWh|hPa|ppm|m/s|km/h|lx|dB)(?![A-Za-z/])")
def unit_alone(match: re.Match[str]) -> str | None:
    """A unit after a number that ends in a word: 30万kW."""
    if not re.search(r"\d[万億兆千百]$|[数何]$|[数何][万千百十]$", before(match, 3)):
        return None
    name = match.group()
    return UNITS.get(name)


@rule("arc", Kind.QUANTITY, "0", r"(?<![\d.])(\d{1,3})°[ ]?(\d{1,2})[′'](?:[ ]?(\d{1,2}(?:\.\d+)?)[″\"])?")
def arc(match: re.Match[str]) -> str | None:
    """35°41′, of a map."""
    return f"{int(match[1])}度{int(match[2])}分" + (f"{plain_number(match[3])}秒" if match[3] else "")


RULES: tuple[Rule, ...] = (
    arc,
    quotient,
    product,
    fahrenheit,
    floor,
    basement,
    relative_humidity,
    quantity,
    scale,
    degree_scale,
    degree,
    unit_alone,
)
