"""Reads feeds (RSS, RDF, Atom), and makes their headlines speakable."""

from __future__ import annotations

import hashlib
import io
import re
import unicodedata
from calendar import timegm
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from daemon.briefings.clean import clean, cut
from daemon.briefings.fetcher import Answer
from daemon.errors import SectionError

LIMIT = 1_000_000
ACCEPTED = (
    "application/rss+xml",
    "application/atom+xml",
    "application/rdf+xml",
    "application/xml",
    "text/xml",
    "text/plain",
    "application/octet-stream",
)
_MOST_ITEMS = 200
_MOST_TAGS = 50_000  # of a feed that is nested without end, feedparser needs a minute for ten times as many
_TITLE = 120
_ASIDE = re.compile(
    r"[（(【\[〔〈](?:写真|動画|画像|図解|図表|音声|映像|有料|会員限定|有料会員記事|PR|ＰＲ|photo|video)[^）)】\]〕〉]{0,8}[）)】\]〕〉]",
    re.IGNORECASE,
)
_LABEL = re.compile(r"^\s*[【\[〔〈《＜]([^】\]〕〉》＞]{1,20})[】\]〕〉》＞]\s*")
_BRACKETS = re.compile(r"[【】\[\]〔〕〈〉《》＜＞{}｛｝]")
_BREAK = re.compile(
    r"\s*(?:[…‥⋯]+|・{2,}|\.{3,}|[｜|＝→⇒※▽△▼▲]|(?<![A-Za-z0-9])[=/／](?![A-Za-z0-9])|\s[-–—―ー−]\s|[—―]{1,3})\s*"
)


@dataclass(frozen=True, slots=True)
class Item:
    """One headline.

    Attributes:
        keys: by which it is known again: its id, and its title without spaces and signs.
        title: speakable, without a full stop.
        summary: speakable; may be empty.
        at: when it was published, in UTC, where the feed says so.
        full: title and summary with labels and asides, for filters; not kept.
    """

    keys: tuple[str, ...]
    title: str
    summary: str = ""
    at: datetime | None = None
    full: str = ""

    def to_json(self) -> dict[str, Any]:
        """Fit for JSON."""
        at = self.at.isoformat() if self.at else None
        return {"keys": list(self.keys), "title": self.title, "summary": self.summary, "at": at}


def from_json(data: Any) -> Item:
    """The other way round.

    Raises:
        KeyError, TypeError, ValueError: not made by :meth:`Item.to_json`.
    """
    at = datetime.fromisoformat(data["at"]) if data["at"] else None
    return Item(tuple(data["keys"]), data["title"], data["summary"], at)


def items(answer: Answer, source: str) -> list[Item]:
    """The headlines of a feed in its order.

    Raises:
        SectionError: no feed.
    """
    if answer.body.count(b"<") > _MOST_TAGS:
        raise SectionError(f"{source}: the feed is too large")
    import feedparser  # noqa: PLC0415 - 0.1 s, for those who want news

    kind = answer.content_type + (f"; charset={answer.charset}" if answer.charset else "")
    # A stream: feedparser would take bytes for the name of a file, or for an address, if they look like one. The
    # document type, with which entities grow, is taken out by it; what we speak is cleaned here.
    found = feedparser.parse(
        io.BytesIO(answer.body),
        response_headers={"content-type": kind},
        sanitize_html=False,
        resolve_relative_uris=False,
    )
    if not found.get("version"):
        raise SectionError(f"{source}: the answer is no feed (RSS or Atom is expected)")
    return [item for entry in found.entries[:_MOST_ITEMS] if (item := _item(entry)) is not None]


def headline(text: str, publisher: str = "") -> str:
    """A headline as one would read it out.

    「【速報】A社とB社＝経営統合へ…（写真）」 becomes 「速報、A社とB社、経営統合へ」: signs that only the eye
    understands become pauses, labels in brackets lead in, asides on pictures and the publisher's name at the end go.
    """
    text = clean(text, 2 * _TITLE)
    if publisher and text.casefold().endswith(publisher.casefold()):
        head = text[: -len(publisher)].rstrip()
        if head.endswith(("-", "–", "—", "|", "｜", ":")):
            text = head[:-1].rstrip()
    text = _ASIDE.sub("", text)
    text = _LABEL.sub(r"\1、", text)
    text = _BREAK.sub("、", _BRACKETS.sub(" ", text))
    text = re.sub(r"\s*、[、\s]*", "、", text)
    text = re.sub(r"、(?=[。！？!?」』）)])|(?<=[。！？!?「『（(])、", "", text)
    return cut(re.sub(r"\s+", " ", text).strip("、。, ・　"), _TITLE).strip("、。, ")


def _item(entry: Mapping[str, Any]) -> Item | None:
    publisher = entry.get("source") or {}
    title = headline(str(entry.get("title") or ""), clean(str(publisher.get("title") or ""), 60))
    if not title:
        return None
    identity = str(entry.get("id") or entry.get("link") or "")
    keys = [_key("title", _bare(title))]
    if identity:
        keys.append(_key("id", identity))
    summary = clean(str(entry.get("summary") or ""), 200)
    full = f"{clean(str(entry.get('title') or ''), 2 * _TITLE)}\n{summary}"
    return Item(tuple(keys), title, summary, _published(entry), full)


def _published(entry: Mapping[str, Any]) -> datetime | None:
    for name in ("published_parsed", "updated_parsed"):
        # As it is there: feedparser itself would take the one for the other, and warn that it will not for long.
        parsed = dict.get(entry, name)  # type: ignore[call-overload]
        if parsed:
            try:
                return datetime.fromtimestamp(timegm(parsed), UTC)
            except (ValueError, OverflowError, OSError, TypeError):
                continue
    return None


def _bare(title: str) -> str:
    """A title by which it is known again though a space, a bracket or the width of a digit has changed."""
    folded = unicodedata.normalize("NFKC", title).casefold()
    return "".join(letter for letter in folded if letter.isalnum())


def _key(kind: str, text: str) -> str:
    return hashlib.sha256(f"{kind}:{text}".encode("utf-8", "replace")).hexdigest()[:16]
