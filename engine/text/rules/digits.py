"""Numbers that are names, read digit by digit or part by part: telephones, post codes, addresses, versions."""

from __future__ import annotations

import re

from engine.text.rules.base import COUNTER, Rule, after, before, rule, sounded
from engine.text.types import Kind

_DIGITS = ("ゼロ", "イチ", "ニ", "サン", "ヨン", "ゴ", "ロク", "ナナ", "ハチ", "キュー")
_MORAS = (2, 2, 1, 2, 2, 1, 2, 2, 2, 2)
_ALONE = (1, 2, 1, 0, 1, 1, 2, 1, 2, 1)
"""The accent of a digit that stands alone (NHK)."""

_PER_WORD = 2


def spell(digits: str) -> str:
    """Digit by digit: 090 → ゼロキューゼロ, in feet of two digits with the accent on the second, as people say them."""
    feet = [digits[at : at + _PER_WORD] for at in range(0, len(digits), _PER_WORD)]
    return "".join(_foot(foot) for foot in feet)


def _foot(digits: str) -> str:
    values = [int(digit) for digit in digits]
    kana = "".join(_DIGITS[value] for value in values)
    accent = _ALONE[values[0]] if len(values) == 1 else _MORAS[values[0]] + 1
    return sounded(digits, kana, accent)


def _groups(text: str) -> str:
    return "、".join(spell(group) for group in re.findall(r"\d+", text))


@rule(
    "telephone",
    Kind.DIGITS,
    "0",
    r"(?<![\d.-])0\d{1,4}-\d{1,4}-\d{3,4}(?![\d-])|(?<![\d.-])0\d{1,4}\(\d{1,4}\)\d{3,4}(?!\d)|"
    r"(?<![\d.-])0[5789]0[ ]\d{4}[ ]\d{4}(?!\d)|(?<![\d.,])0\d{9,10}(?![\d.,-])",
)
def telephone(match: re.Match[str]) -> str | None:
    """090-1234-5678, 03(1234)5678, 09012345678."""
    digits = "".join(re.findall(r"\d", match.group()))
    if not 9 <= len(digits) <= 11:
        return None
    if match.group() == digits:
        cut = 3 if len(digits) == 11 else 2
        return _groups(f"{digits[:cut]}-{digits[cut:-4]}-{digits[-4:]}")
    return _groups(match.group())


@rule(
    "telephone", Kind.DIGITS, "(+", r"\(0\d{1,4}\)[ ]?\d{1,4}-\d{3,4}(?![\d-])|\+\d{1,3}(?:[- ]\d{1,4}){2,4}(?![\d-])"
)
def telephone_area(match: re.Match[str]) -> str | None:
    """(03)1234-5678, +81-90-1234-5678."""
    plus = "プラス" if match.group()[0] == "+" else ""
    return plus + _groups(match.group())


@rule("telephone", Kind.DIGITS, "#", r"#\d{4}(?!\d)")
def short_number(match: re.Match[str]) -> str | None:
    """#7119, the numbers of consultation lines."""
    return "シャープ" + spell(match.group()[1:])


@rule("emergency number", Kind.DIGITS, "0", r"(?<![\d.-])11[09]番(?![号線組地])")
def emergency(match: re.Match[str]) -> str | None:
    """110番 is ヒャクトオバン, as everybody calls it."""
    return _EMERGENCY[match.group()]


_EMERGENCY = {"110番": sounded("110番", "ヒャクトーバン", 3), "119番": sounded("119番", "ヒャクジューキューバン", 7)}


@rule("post code", Kind.DIGITS, "〒", r"〒[ ]?(\d{3})-?(\d{4})(?!\d)")
def post_code(match: re.Match[str]) -> str | None:
    """〒100-0001."""
    return f"郵便番号{spell(match[1])}の{spell(match[2])}"


@rule("post code", Kind.DIGITS, "0", r"(?<![\d.-])(\d{3})-(\d{4})(?![\d-])")
def bare_post_code(match: re.Match[str]) -> str | None:
    """100-0001."""
    return f"{spell(match[1])}の{spell(match[2])}"


_TYPED = re.compile(
    r"(?:暗証番号|パスコード|PINコード|PIN|内線|認証コード|確認コード|ワンタイムパスワード|"
    r"(?:受付|会員|予約|伝票|追跡|電話)番号)(?:は|が|[:：、])?[ ]?$"
)


@rule("secret number", Kind.DIGITS, "0", r"(?<![\d.,-])\d{3,12}(?![\d.,-])")
def secret_number(match: re.Match[str]) -> str | None:
    """暗証番号は1234: numbers that are typed, not counted."""
    return spell(match.group()) if _TYPED.search(before(match, 16)) else None


@rule("hyphenated numbers", Kind.DIGITS, "0", r"(?<![\d.-])\d{1,4}(?:-\d{1,5}){2,4}(?![\d-])")
def hyphenated(match: re.Match[str]) -> str | None:
    """1-2-3 of an address has の between; 1234-5678-9012 is read digit by digit."""
    groups = match.group().split("-")
    if any(len(group) > 3 or (len(group) > 1 and group[0] == "0") for group in groups):
        return _groups(match.group())
    return "の".join(groups)


@rule("hyphenated pair", Kind.DIGITS, "0", r"(?<![\d.-])([1-9]\d{0,3})-([1-9]\d{0,3})(?![\d.:/-])")
def hyphenated_pair(match: re.Match[str]) -> str | None:
    """2-1 of an address has の between; a score is said with 対; with a unit behind it is a range (another rule)."""
    if re.match(r"(?:で|の)(?:勝|負|敗|引き分け|逆転|快勝|完封)", after(match, 6)):
        return f"{match[1]}{sounded('対', 'タイ', 1)}{match[2]}"
    if re.match(rf"[ ]?(?:[=%℃°a-zA-Z]|{COUNTER})", after(match, 6)):
        return None
    return f"{match[1]}の{match[2]}"


@rule(
    "IP address",
    Kind.DIGITS,
    "0",
    r"(?<![\d.])(\d{1,3}(?:\.\d{1,3}){3})(?::(\d{1,5})(?!\d))?(?:/(\d{1,2})(?!\d))?(?![\d.]*\d)",
)
def ip_address(match: re.Match[str]) -> str | None:
    """192.168.0.1, 192.168.0.1:8123, 10.0.0.0/8."""
    port = f"、ポート{match[2]}" if match[2] else ""
    mask = f"スラッシュ{match[3]}" if match[3] else ""
    return "ドット".join(str(int(part)) for part in match[1].split(".")) + mask + port


@rule(
    "MAC address",
    Kind.DIGITS,
    "0A",
    r"(?<![0-9A-Za-z:])[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2})(?:\1[0-9A-Fa-f]{2}){4}(?![0-9A-Za-z:])",
)
def mac_address(match: re.Match[str]) -> str | None:
    """AA:BB:CC:00:11:22, pair by pair."""
    pairs = re.split("[:-]", match.group().upper())
    return "、".join("".join(_hexadecimal(digit) for digit in pair) for pair in pairs)


def _hexadecimal(digit: str) -> str:
    return spell(digit) if digit.isdigit() else sounded(digit, dict(zip("ABCDEF", _LETTERS, strict=True))[digit], 1)


_LETTERS = ("エー", "ビー", "シー", "ディー", "イー", "エフ")

_VERSION_BEFORE = re.compile(r"(?:[A-Za-z]|バージョン|リリース|更新|アップデート|ファームウェア|アシスタント|版)[ ]?$")


def is_version(match: re.Match[str]) -> bool:
    """Whether what stands before makes a dotted number the version of a program."""
    return _VERSION_BEFORE.search(before(match, 8)) is not None


@rule(
    "version",
    Kind.DIGITS,
    "0",
    r"(?<![\d.])(?P<numbers>\d+(?:\.\d+){2,5})(?:[-.]?(?P<stage>rc|beta|alpha|dev|b|a)\.?(?P<n>\d{0,3})(?![A-Za-z\d]))?(?!\.?\d)",
)
def version(match: re.Match[str]) -> str | None:
    """1.2.3, 2026.12.0b1."""
    stages = {"rc": "アールシー", "beta": "ベータ", "b": "ベータ", "alpha": "アルファ", "a": "アルファ", "dev": "デブ"}
    stage = stages[match["stage"]] + (match["n"] or "") if match["stage"] else ""
    return sounded(".", "テン", 0).join(str(int(part)) for part in match["numbers"].split(".")) + stage


@rule("version", Kind.DIGITS, "A", r"(?<![A-Za-z\d])(?:[vV]|[Vv]er\.?[ ]?|[Vv]ersion[ ])(?=\d)")
def version_prefix(_match: re.Match[str]) -> str | None:
    """V and Ver. before a number."""
    return "バージョン"


EARLY: tuple[Rule, ...] = (
    mac_address,
    telephone,
    telephone_area,
    short_number,
    emergency,
    post_code,
    bare_post_code,
    secret_number,
    ip_address,
    version_prefix,
)
"""Before times and dates."""

LATE: tuple[Rule, ...] = (version, hyphenated, hyphenated_pair)
"""After dates and quantities."""
