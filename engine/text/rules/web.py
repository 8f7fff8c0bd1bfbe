"""Addresses of the web and of mail, and names of files: a short spoken form."""

from __future__ import annotations

import re

from engine.text.data import pairs
from engine.text.rules.base import Rule, rule
from engine.text.rules.latin import known, spelled, word
from engine.text.types import Kind

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_READ = dict(pairs("endings.txt"))
_ENDINGS = {ending[1:]: reading for ending, reading in _READ.items() if ending[0] == "."}
_SPELLED = ["jp", "co", "or", "ne", "ac", "go", "io", "tv", "me", "ai", "us", "uk", "de", "fr", "cn", "eu"]
_TOP = "|".join(sorted([*_ENDINGS, *_SPELLED], key=len, reverse=True))
_HOST = rf"(?:{_LABEL}\.){{1,6}}(?:{_TOP})(?![A-Za-z0-9-])"
_FILES = (
    "yaml|yml|json|txt|csv|pdf|html?|md|py|js|log|conf|cfg|ini|zip|jpe?g|png|gif|mp[34]|wav|xlsx?|docx?|pptx?|exe|sh|db"
)


def _label(text: str) -> str:
    parts = re.findall(r"[A-Za-z]+|\d+", text)
    return "".join(word(part) if part.isalpha() else part for part in parts)


def _host(host: str) -> str:
    labels = host.lower().removeprefix("www.").split(".")
    spoken = [_label(label) for label in labels[:-1]]
    names = {"co": "シーオー", "or": "オーアール", "ne": "エヌイー", "ac": "エーシー", "go": "ジーオー"}
    if len(labels) > 2 and labels[-2] in names and len(labels[-1]) == 2:
        spoken[-1] = names[labels[-2]]
    spoken.append(_ENDINGS.get(labels[-1]) or spelled(labels[-1]))
    return "ドット".join(spoken)


@rule(
    "URL",
    Kind.WEB,
    "A",
    r"(?<![A-Za-z])(?:https?|ftp|mqtts?|wss?|rtsp)://(?:[^\s/@]{1,80}@)?(?P<host>[A-Za-z0-9.-]{1,200})(?P<port>:\d{1,5})?(?P<path>[/?#][!-;=?-z~%]*)?",
)
def url(match: re.Match[str]) -> str | None:
    """https://www.example.com/path?x=1: the host is said, the way within it is not."""
    host = match["host"].strip(".-")
    if not host:
        return None
    port = f"、ポート{match['port'][1:]}" if match["port"] else ""
    if re.fullmatch(r"\d+(?:\.\d+){3}", host):
        return "ドット".join(str(int(part)) for part in host.split(".")) + port
    ending = "" if "." not in host else None
    labels = [label for label in host.split(".") if label]
    if ending is None and labels[-1].lower() in {*_ENDINGS, *_SPELLED}:
        return _host(".".join(labels)) + port
    return "ドット".join(_label(label) for label in labels) + port


@rule(
    "mail address",
    Kind.WEB,
    "A0",
    rf"(?<![\w.+-])[A-Za-z0-9][A-Za-z0-9._+-]{{0,63}}@(?:{_LABEL}\.){{1,6}}[A-Za-z]{{2,12}}(?![A-Za-z0-9])",
)
def mail_address(match: re.Match[str]) -> str | None:
    """info@example.com."""
    name, _, host = match.group().partition("@")
    signs = {".": "ドット", "_": "アンダーバー", "+": "プラス", "-": "ハイフン"}
    spoken = "".join(signs.get(part) or _label(part) for part in re.findall(r"[A-Za-z0-9]+|[._+-]", name))
    return f"{spoken}アットマーク{_host(host)}"


@rule("host", Kind.WEB, "A0", rf"(?<![\w.@-])(?P<host>{_HOST})(?P<port>:\d{{1,5}})?(?P<path>/[!-;=?-z~%]*)?")
def host_name(match: re.Match[str]) -> str | None:
    """example.com, homeassistant.local:8123."""
    if re.fullmatch(r"\d.*", match["host"]) and not re.search("[A-Za-z]", match["host"].partition(".")[0]):
        return None
    if known(match["host"]):
        return None
    return _host(match["host"]) + (f"、ポート{match['port'][1:]}" if match["port"] else "")


@rule("file name", Kind.WEB, "A", rf"(?<![\w./-])([A-Za-z0-9_-]{{1,40}})\.((?:{_FILES}))(?![A-Za-z0-9])")
def file_name(match: re.Match[str]) -> str | None:
    """config.yaml."""
    if known(match.group()):
        return None
    return f"{_label(match[1])}ドット{_READ.get(match[2]) or word(match[2])}"


RULES: tuple[Rule, ...] = (url, mail_address, host_name, file_name)
