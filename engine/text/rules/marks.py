"""Punctuation, brackets, arrows and other signs: a pause, a name, or nothing."""

from __future__ import annotations

import re

from engine.text.data import pairs
from engine.text.readings import NOTATION, parse
from engine.text.rules.base import JAPANESE, Rule, after, before, rule, sounded
from engine.text.types import Kind

_OPENING = "(〈《〔【〖〘[<«‹"
_CLOSING = ")〉》〕】〗〙]>»›"
_GOES_ON = re.compile(r"(?:の|は|が|を|に|で|と|も|へ|や|から|まで|より|です|だ|か)|[、。,.!?…\n)」』】]|[ ]*$|[ ]*\n")


@rule("given reading", Kind.READING, "{", NOTATION.pattern)
def given_reading(match: re.Match[str]) -> str | None:
    """{東横線|とうよこせん}: see ``engine.text.readings``."""
    reading = parse(match)
    return None if reading is None else str(reading)


@rule("company", Kind.TEXT, "(", r"\((株|有|仮|笑|泣|税込|税抜)\)")
def short_in_brackets(match: re.Match[str]) -> str | None:
    """(株) is 株式会社, (笑) is 笑い; the others are read in brackets."""
    names = {"株": "株式会社", "有": "有限会社", "笑": sounded("笑", "ワライ", 0), "泣": sounded("泣", "ナキ", 0)}
    return names.get(match[1])


@rule("face", Kind.SILENT, "(", r"\([^\n()0-9A-Za-zぁ-んァ-ヶ一-龠]{2,12}\)")
def face(_match: re.Match[str]) -> str | None:
    """(^_^)."""
    return " "


@rule("bracket", Kind.MARK, _OPENING, rf"[{re.escape(_OPENING)}]+[ ]?")
def opening(match: re.Match[str]) -> str | None:
    """A bracket opens with a pause."""
    return "、" if before(match, 1).strip() else ""


@rule("bracket", Kind.MARK, _CLOSING + " ", rf"[ ]?[{re.escape(_CLOSING)}]+")
def closing(match: re.Match[str]) -> str | None:
    """A bracket closes with a pause, unless the sentence goes on with a particle."""
    return "" if _GOES_ON.match(after(match, 4)) else "、"


@rule("quotation mark", Kind.MARK, "\"'“”‘’„`′″", "[\"'“”‘’„`′″]+")
def quotation(match: re.Match[str]) -> str | None:
    """Quotation marks of other scripts are silent; 「」 stay."""
    glued = re.search(r"[0-9A-Za-z]$", before(match, 1)) and re.match(r"[0-9A-Za-z]", after(match, 1))
    return " " if glued else ""


@rule(
    "list item",
    Kind.MARK,
    "・-*+●○■□◆◇→※〇—",
    r"(?:(?<=\n)|(?<![\s\S]))[ ]{0,4}(?:[-*+](?=[ ])|[・●→※—]|[〇○](?=[ ]))[ ]?",
)
def bullet(_match: re.Match[str]) -> str | None:
    """The mark of a list item."""
    return ""


@rule("arrow", Kind.SIGN, "→⇒ ", r"[ ]?[→⇒][ ]?")
def arrow(match: re.Match[str]) -> str | None:
    """A→B is from A to B."""
    if not before(match, 1).strip() or before(match, 1) in "。、!?" or not after(match, 1).strip():
        return "、"
    return "から"


@rule("arrow", Kind.SIGN, "←⇐↔⇔↑↓ ", r"[ ]?[←⇐↔⇔↑↓][ ]?")
def other_arrow(match: re.Match[str]) -> str | None:
    """The other arrows are pauses; up and down after a value say where it goes."""
    mark = match.group().strip()
    if mark in "↑↓" and re.search(rf"[{JAPANESE}\d%C]$", before(match, 1)):
        return "、上昇" if mark == "↑" else "、下降"
    return "、"


@rule("comma", Kind.MARK, ",、 ", r"[ ]?[,、][ ]?")
def comma(_match: re.Match[str]) -> str | None:
    """A comma is a pause."""
    return "、"


@rule("colon", Kind.MARK, ":;| ", r"[ ]?[:;|]+[ ]?")
def colon(_match: re.Match[str]) -> str | None:
    """室温:25度, with a pause between."""
    return "、"


@rule("dash", Kind.MARK, "— ", r"[ ]?—+[ ]?")
def dash(_match: re.Match[str]) -> str | None:
    """A dash is a pause."""
    return "、"


@rule("hyphen", Kind.MARK, "- ", r"[ ]?-+[ ]?")
def hyphen(match: re.Match[str]) -> str | None:
    """A hyphen inside a name is silent; between Japanese words it is a pause."""
    inside = re.search(r"[A-Za-z0-9}]$", before(match, 1)) and re.match(r"[A-Za-z0-9{]", after(match, 1))
    if inside:
        return " "
    return "、" if before(match, 1).strip() and after(match, 1).strip() else ""


@rule("wave dash", Kind.MARK, "〜", r"〜+")
def wave(match: re.Match[str]) -> str | None:
    """は〜い: a long vowel after kana, a pause elsewhere."""
    if re.search(r"[ぁ-んァ-ヺ]$", before(match, 1)):
        return "ー"
    return "、" if before(match, 1).strip() and after(match, 1).strip() else ""


@rule("slash", Kind.MARK, "/⁄\\ ", r"[ ]?[/⁄\\]+[ ]?")
def slash(match: re.Match[str]) -> str | None:
    """Between words a short pause; between numbers by name."""
    if re.search(r"\d$", before(match, 1)) and re.match(r"\d", after(match, 1)):
        return "スラッシュ"
    return "、" if before(match, 1).strip() and after(match, 1).strip() else ""


@rule("full stop", Kind.MARK, ".", r"\.{2,}")
def dots(_match: re.Match[str]) -> str | None:
    """Three dots are one sign."""
    return "…"


@rule("full stop", Kind.MARK, ".", r"\.")
def full_stop(match: re.Match[str]) -> str | None:
    """A full stop ends a sentence when something else than a letter or a digit follows."""
    if re.match(r"[A-Za-z0-9]", after(match, 1)):
        return "ドット" if re.search(r"[A-Za-z0-9]$", before(match, 1)) else "、"
    return "。" if before(match, 1).strip() else ""


_NAMED = dict(pairs("signs.txt"))


@rule("number sign", Kind.SIGN, "#♯", r"[#♯](?=\d)")
def number_sign(_match: re.Match[str]) -> str | None:
    """#1."""
    return "ナンバー"


@rule("comparison", Kind.SIGN, "≦≤≧≥<> ", r"[ ]?(<=|>=|[≦≤≧≥<>])[ ]?(?=-?\d)")
def comparison(match: re.Match[str]) -> str | None:
    """室温>28: between values by name."""
    if not re.search(rf"[\d{JAPANESE}A-Za-z%C]$", before(match, 1)):
        return None
    names = {
        "<": "小なり",
        ">": "大なり",
        "<=": "小なりイコール",
        ">=": "大なりイコール",
        "≦": "小なりイコール",
        "≤": "小なりイコール",
        "≧": "大なりイコール",
        "≥": "大なりイコール",
    }
    return names[match[1]]


@rule("sign", Kind.SIGN, "".join(_NAMED) + " ", rf"[ ]?([{re.escape(''.join(_NAMED))}])[ ]?")
def named(match: re.Match[str]) -> str | None:
    """A sign by its name."""
    return _NAMED[match[1]]


@rule("circle", Kind.SIGN, "〇○×△", r"[○]{2,}|×{2,}|△{2,}")
def repeated(match: re.Match[str]) -> str | None:
    """○○さん stands for a name that is left out."""
    names = {"○": "マル", "×": "バツ", "△": "サンカク"}
    return sounded(match.group()[:8], names[match.group()[0]] * min(len(match.group()), 8))


@rule("circle", Kind.SIGN, "○", r"○")
def circle(_match: re.Match[str]) -> str | None:
    """○ as a mark of approval."""
    return "まる"


@rule("ornament", Kind.SILENT, "●△▲▽▼※*_^#~¿¡ ", r"[ ]?[●△▲▽▼※*_^#~¿¡]+[ ]?")
def ornament(match: re.Match[str]) -> str | None:
    """Marks that only catch the eye."""
    return (
        " "
        if "_" in match.group() or "#" in match.group()
        else "、"
        if "※" in match.group() and before(match, 1).strip()
        else " "
    )


@rule("exclamation", Kind.MARK, "!?", r"[!?]+")
def exclamation(match: re.Match[str]) -> str | None:
    """!? is one mark: the question is what is heard."""
    return "?" if "?" in match.group() else "!"


@rule("brace", Kind.MARK, "{}", r"[{}]+")
def brace(_match: re.Match[str]) -> str | None:
    """A brace that is no notation is a bracket."""
    return "、"


@rule("ellipsis", Kind.MARK, "… ", r"[ ]?…+[ ]?")
def ellipsis(_match: re.Match[str]) -> str | None:
    """Any number of dots is one hesitation."""
    return "…"


@rule("Japanese punctuation", Kind.MARK, "。・「」『』", r"。+|[・「」『』]")
def punctuation(match: re.Match[str]) -> str | None:
    """Stays."""
    return match.group()[0]


@rule("space", Kind.SPACE, " \n", r"\s+")
def space(match: re.Match[str]) -> str | None:
    """Runs of white space are one; a line end wins."""
    return "\n" if "\n" in match.group() else " "


EARLY: tuple[Rule, ...] = (given_reading, short_in_brackets, bullet)
RULES: tuple[Rule, ...] = (
    face,
    comparison,
    opening,
    closing,
    quotation,
    arrow,
    other_arrow,
    comma,
    colon,
    dash,
    hyphen,
    wave,
    slash,
    dots,
    full_stop,
    number_sign,
    repeated,
    named,
    circle,
    ornament,
    exclamation,
    brace,
    ellipsis,
    punctuation,
    space,
)
