"""Plain numbers, their signs, ranges and arithmetic, and numbers in other shapes."""

from __future__ import annotations

import re
import unicodedata

from engine.text.rules.base import COUNTER, JAPANESE, NUMBER, Rule, after, before, plain_number, rule, sounded
from engine.text.rules.clock import time_of_day
from engine.text.rules.dates import month_day
from engine.text.rules.digits import spell
from engine.text.rules.units import SYMBOL, quantity
from engine.text.types import Kind

_LONGEST = 16  # digits that are said as one number; 9999兆 is the last that anybody follows
_FRACTIONS = "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞⅐⅑⅒"


@rule("number", Kind.NUMBER, "0", rf"{NUMBER}")
def number(match: re.Match[str]) -> str | None:
    """A number without any notation around it."""
    text = match.group().replace(",", "")
    whole, point, fraction = text.partition(".")
    if len(whole) > _LONGEST:
        return spell(whole) + (sounded("点", "テン", 0) + spell(fraction) if point else "")
    if len(whole) > 1 and whole[0] == "0" and not point:
        return spell(whole)
    return plain_number(text)


@rule(
    "number",
    Kind.NUMBER,
    "0",
    r"[1-9]\d{0,3}(?=[年月日時分秒度円個本枚人回階台件歳](?![/⁄])|パーセント|メートル|キロ)",
)
def counted(match: re.Match[str]) -> str | None:
    """A number in Japanese writing, which needs no other rule: tried first because it is so common."""
    return match.group()


@rule("digits after a point", Kind.NUMBER, ".", r"\.(\d+)(?![.\d])")
def bare_fraction(match: re.Match[str]) -> str | None:
    """.5 is 0.5."""
    return f"0.{match[1]}" if not re.search(r"[\dA-Za-z.]$", before(match, 1)) else None


@rule("fraction", Kind.NUMBER, "0½", rf"((?<![\d.])\d{{1,3}})?([{_FRACTIONS}])")
def glyph(match: re.Match[str]) -> str | None:
    """½, 1½."""
    numerator, denominator = unicodedata.normalize("NFKC", match[2]).split("⁄")
    return _apart(match, (f"{match[1]}と" if match[1] else "") + f"{denominator}分の{numerator}")


def _apart(match: re.Match[str], number: str) -> str:
    """A number that stood in a shape of its own stays apart from digits beside it."""
    lead = " " if re.search(f"[{_DIGIT_SHAPES}]$", before(match, 1)) else ""
    return lead + number + (" " if re.match(f"[{_DIGIT_SHAPES}]", after(match, 1)) else "")


_DIGIT_SHAPES = "0-9①-➓½¼¾⅐-⅞Ⅰ-ⅻ²³¹⁰⁴-⁹"


@rule("list number", Kind.NUMBER, "0", r"(?:(?<=\n)|(?<![\s\S]))(\d{1,2})[.)][ ]?(?=[^\d\s])")
def list_number(match: re.Match[str]) -> str | None:
    """The 1. of a numbered list."""
    return f"{int(match[1])}、"


@rule("number in brackets", Kind.NUMBER, "(", r"(?:(?<=\n)|(?<![\s\S]))\((\d{1,2})\)[ ]?(?=[^\d\s])")
def bracketed_number(match: re.Match[str]) -> str | None:
    """The (1) of a numbered list."""
    return f"{int(match[1])}、"


_CIRCLED = "①-⑳㉑-㉟㊱-㊿⓪⓵-⓾❶-❿➀-➓"


def _circled_value(character: str) -> int:
    return int(unicodedata.numeric(character))


@rule("circled number", Kind.NUMBER, "①", rf"([{_CIRCLED}])[ ]?")
def circled(match: re.Match[str]) -> str | None:
    """① is its number, with a pause where a list goes on."""
    goes_on = re.match(r"[のはがをにとへもで、。,.)!?…〜~+=・/-]|$|\n", after(match, 1)) or not after(match, 1)
    lead = "" if goes_on or not re.search(f"[{JAPANESE}]$", before(match, 1)) else "、"
    return lead + _apart(match, f"{_circled_value(match[1])}" + ("" if goes_on else "、"))


@rule("roman numeral", Kind.NUMBER, "Ⅰ", r"[Ⅰ-Ⅻⅰ-ⅻ]")
def roman(match: re.Match[str]) -> str | None:
    """Ⅱ."""
    return _apart(match, str(int(unicodedata.numeric(match.group()))))


@rule("roman numeral", Kind.NUMBER, "A", r"(?<=第)(?:I{1,3}|IV|VI{0,3}|IX|X)(?![A-Za-z])")
def latin_roman(match: re.Match[str]) -> str | None:
    """The II of 第II章."""
    return {
        "I": "1",
        "II": "2",
        "III": "3",
        "IV": "4",
        "V": "5",
        "VI": "6",
        "VII": "7",
        "VIII": "8",
        "IX": "9",
        "X": "10",
    }[match.group()]


@rule("power", Kind.NUMBER, "²", r"([⁺⁻]?)([¹²³⁰⁴-⁹]{1,4})")
def power(match: re.Match[str]) -> str | None:
    """The ² of x² and of 10²."""
    digits = unicodedata.normalize("NFKC", match[2])
    sign = {"⁻": "マイナス", "⁺": "プラス", "": ""}[match[1]]
    lead = "の" if re.search(r"\d$", before(match, 1)) else ""
    return f"{lead}{sign}{digits}乗" if lead or sign else _apart(match, f"{digits}乗")


@rule("power", Kind.NUMBER, "^", r"(?<=[\dA-Za-z)])\^(-?)(\d{1,4})(?!\d)")
def caret(match: re.Match[str]) -> str | None:
    """2^10."""
    return f"の{'マイナス' if match[1] else ''}{match[2]}乗"


@rule("power", Kind.NUMBER, "²", r"[⁺⁻]")
def lone_power_sign(match: re.Match[str]) -> str | None:
    """A raised sign, as of an ion."""
    return "マイナス" if match.group() == "⁻" else "プラス"


@rule("versus", Kind.NUMBER, "0", r"(?<![\d.:])(\d{1,3})[ ]?(?:対|:|vs\.?)[ ]?(\d{1,3})(?![\d.:時])")
def versus(match: re.Match[str]) -> str | None:
    """3:2, 16:9, 2対1: a score or a ratio."""
    return f"{int(match[1])}{sounded('対', 'タイ', 1)}{int(match[2])}"


# Signs. A minus is easily taken for a hyphen, so what stands around it has to speak for it.

_VALUE_AFTER = r"[ ]?(?=[¥$€£]?\.?\d)"


@rule("sign", Kind.SIGN, "±+-", rf"(±|\+-|\+/-){_VALUE_AFTER}")
def plus_minus(match: re.Match[str]) -> str | None:
    """±2℃."""
    return "プラスマイナス" if not re.search(r"[\dA-Za-z]$", before(match, 1)) or match[1] == "±" else None


@rule("sign", Kind.SIGN, " ", rf"[ ]-(?={NUMBER}[ ]?(?:{SYMBOL}|度))")
def minus_after_a_space(match: re.Match[str]) -> str | None:
    """最低 -3℃, 14:30 -3℃, 12/1 -3℃; 20 -25℃ and 20℃ -25℃ are ranges all the same."""
    lead = before(match, 8)
    value = re.search(rf"\d[ ]?(?:{SYMBOL}|度)?$", lead) and not re.search(r"\d:\d\d$|\d/\d{1,2}$", lead)
    return None if value else " マイナス"


@rule("sign", Kind.SIGN, "-▲△", r"[-▲△](?=[¥$€£]?\.?\d)")
def minus(match: re.Match[str]) -> str | None:
    """-3℃, 前日差-2℃, -¥500, ▲5%."""
    lead = before(match, 2)
    if match.group() != "-":
        return "マイナス"
    if re.search(r"[\d)A-Za-z}]$|-$", lead):
        return None
    measured = re.match(rf"[¥$€£]|{NUMBER}[ ]?(?:{SYMBOL}|度|パーセント|ポイント|円|点|[〜-][-+]?\d)", after(match, 20))
    if re.search(rf"[{JAPANESE}]$", lead) and not measured:
        return "マイナス" if re.search(r"[はがをにで値度]$", lead) else None
    return "マイナス"


@rule("sign", Kind.SIGN, "+", rf"\+{_VALUE_AFTER}")
def plus(_match: re.Match[str]) -> str | None:
    """+2℃, and the plus of a sum that is not written out."""
    return "プラス"


_OPERATORS = {
    "+": "足す",
    "-": "引く",
    "×": "かける",
    "x": "かける",
    "*": "かける",
    "÷": "わる",
    "/": "わる",
    "^": "の",
}
_TERM = rf"(?:{NUMBER})"


@rule(
    "sum",
    Kind.NUMBER,
    "0",
    rf"(?<![\d.])-?{_TERM}(?:[ ]?[-+×x*÷/][ ]?{_TERM}){{1,8}}[ ]?[=≒≈][ ]?(?:-?{_TERM}|\?)?(?![\d:.]*\d)",
)
def equation(match: re.Match[str]) -> str | None:
    """1+1=2: 足す and は, as in school."""
    left, equals, right = re.split(r"[ ]?([=≒])[ ]?", match.group(), maxsplit=1)
    spoken = _expression(left)
    result = right if right in {"", "?"} else _signed(right)
    return f"{spoken}{'は' if equals == '=' else 'は約'}{result}"


@rule(
    "sum",
    Kind.NUMBER,
    "0",
    rf"(?<![\d.]){_TERM}(?:[ ]?[×÷+][ ]?{_TERM}|[ ][-*/x][ ]{_TERM}|[x*](?!0x){_TERM}){{1,8}}"
    r"(?![\d.]*\d|[-/:])",
)
def expression(match: re.Match[str]) -> str | None:
    """3×4, 2+3, 10 - 4."""
    if re.match(rf"[ ]?(?:{SYMBOL})", after(match)) and "+" not in match.group() and "-" not in match.group():
        return None  # 3×4cm is a size: each sign has its own rule
    return _expression(match.group())


def _expression(text: str) -> str:
    parts = re.split(r"[ ]?([-+×x*÷/])[ ]?(?=\d)", text)
    if parts[0] == "":  # a leading minus
        parts = [parts[1] + parts[2], *parts[3:]]
    spoken = _signed(parts[0])
    for operator, term in zip(parts[1::2], parts[2::2], strict=True):
        spoken += _OPERATORS[operator] + plain_number(term)
    return spoken


def _signed(text: str) -> str:
    return f"マイナス{plain_number(text[1:])}" if text[:1] == "-" else plain_number(text)


@rule("multiplication", Kind.SIGN, "× *A", r"(?<=[\dmg%])[ ]?[×xX*][ ]?(?=\d)|(?<=\d)[xX](?=\d)")
def times(_match: re.Match[str]) -> str | None:
    """The × of 3×4cm."""
    return "かける"


@rule("multiplication", Kind.SIGN, "0", r"(?<![\d.])(\d{1,5})[ ]?[xX×][ ]?(?=\d{1,5}(?!\d))")
def by(match: re.Match[str]) -> str | None:
    """1920x1080."""
    return f"{plain_number(match[1])}かける"


@rule(
    "times as much",
    Kind.QUANTITY,
    "0×",
    r"(?<![\d.])(\d{1,3}(?:\.\d+)?)[xX×](?![A-Za-z\d])|×(\d{1,3}(?:\.\d+)?)(?![\d])(?=本|個|枚|袋|箱|台|人|セット|$)",
)
def fold_count(match: re.Match[str]) -> str | None:
    """2x; 牛乳×2本."""
    if match[1]:
        return f"{plain_number(match[1])}倍"
    return f"、{plain_number(match[2])}" + ("" if re.match(r"[本個枚袋箱台人]|セット", after(match, 3)) else "個")


# Ranges.

_BEFORE_RANGE = re.compile(rf"[\d%℃°)}}a-zA-Z²³{JAPANESE}][ ]?$")


@rule(
    "range",
    Kind.SIGN,
    "〜 ",
    r"[ ]?〜[ ]?(?=[-+±¥$€£]?\.?\d|(?:[AaPp]\.?[Mm])\.?[ ]?\d|午[前後]|翌|同|(?:令和|平成|昭和)\d)",
)
def tilde_to_number(match: re.Match[str]) -> str | None:
    """10〜15分, 9:00〜17:45, 12/29〜1/3; nothing before it means until."""
    lead = before(match, 2)
    if re.search(r"[ぁ-ん]$", lead) and not re.search(r"[かヶ]$", lead):
        return None
    return "から" if _BEFORE_RANGE.search(lead) else None


@rule(
    "until",
    Kind.TIME,
    "〜",
    rf"(?:(?<=[\s、(])|(?<![\s\S]))〜[ ]?(\d{{1,2}}:[0-5]\d|\d{{1,2}}/\d{{1,2}}|{NUMBER}[ ]?(?:{SYMBOL}|{COUNTER}))"
    r"(?=$|[\s、。,.)のにで]|まで|以内|以下)",
)
def until(match: re.Match[str]) -> str | None:
    """〜17:00: until, where nothing stands before the sign."""
    value = match[1]
    spoken: str | None = plain_number(value[:-1]) + value[-1] if re.fullmatch(rf"{NUMBER}.", value) else None
    for each in (time_of_day, month_day, quantity):
        if found := each.pattern.fullmatch(value):
            spoken = each.read(found)
    if spoken is None:
        return None
    return spoken + ("" if re.match("まで|以内|以下", after(match, 2)) else "まで")


@rule("range", Kind.SIGN, "〜 ", r"[ ]?〜(?=[ ]?(?:$|\n|[、。,.!?)」』にのではがも]))")
def open_range(match: re.Match[str]) -> str | None:
    """9:00〜: from."""
    return (
        "から"
        if re.search(
            r"\d[ ]?$|\d[時分日月年度%円]$|\d°C$|曜日?\)?$|\([月火水木金土日祝]\)$|\d[a-z]{1,3}$", before(match, 4)
        )
        else None
    )


@rule("range", Kind.SIGN, "〜 ", r"[ ]?〜[ ]?(?=[一-龠ァ-ヶA-Z「])")
def tilde_between_words(match: re.Match[str]) -> str | None:
    """東京〜大阪."""
    return (
        "から"
        if re.search(r"[一-龠ァ-ヶA-Z」)\d][ ]?$", before(match, 2)) and not re.search(r"ー$", before(match, 1))
        else None
    )


@rule("range", Kind.SIGN, "- ", r"[ ]?-[ ]?(?=\d{1,2}:[0-5]\d|\d{1,2}/\d{1,2}(?!\d)|\d{1,2}(?![\d/.:-]))")
def hyphen_between_times(match: re.Match[str]) -> str | None:
    """9:00-17:00, 12/1-12/3, 12/1-3."""
    day = re.search(r"\d/\d{1,2}(?:[ ]?\([月火水木金土日祝]\))?$", before(match, 9))
    bare = not re.match(r"\d{1,2}[:/]", after(match, 3))
    return "から" if day or (not bare and re.search(r":[0-5]\d$|[AaPp][Mm]$", before(match, 3))) else None


@rule(
    "range", Kind.SIGN, "- ", rf"(?<=[\d%時日月年分秒度円CmgWV])[ ]?-[ ]?(?=\d+(?:\.\d+)?[ ]?(?:{COUNTER}|[a-zA-Z%℃°]))"
)
def hyphen_before_unit(match: re.Match[str]) -> str | None:
    """10-15分, 9時-17時."""
    if re.search(r"[A-Za-z]\d*$", before(match, 6)) and not re.search(rf"\d[ ]?{SYMBOL}$|\d°C$", before(match, 8)):
        return None
    return "から"


FIRST: tuple[Rule, ...] = (counted,)
EARLY: tuple[Rule, ...] = (list_number, bracketed_number, equation)
RULES: tuple[Rule, ...] = (
    glyph,
    versus,
    expression,
    by,
    fold_count,
    circled,
    roman,
    latin_roman,
    power,
    caret,
    lone_power_sign,
    plus_minus,
    minus_after_a_space,
    minus,
    plus,
    times,
    bare_fraction,
    until,
    tilde_to_number,
    open_range,
    tilde_between_words,
    hyphen_between_times,
    hyphen_before_unit,
)
LAST: tuple[Rule, ...] = (number,)
