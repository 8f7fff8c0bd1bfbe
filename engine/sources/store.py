"""What can be done with sources and with what the cache holds of them; the face of this room for command lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.errors import VoiceNotAvailableError
from engine.sources import retry
from engine.sources.base import Progress, Remote, Source, nothing
from engine.sources.entry import CURRENT, Entry, Found
from engine.sources.local import LocalSource
from engine.sources.parse import VoiceSource, parse_source
from engine.sources.tree import FOLDER, CachedTree, Settings
from engine.voices.style_bert_vits2 import layout


@dataclass(frozen=True, slots=True)
class CachedFolder:
    """A folder that the cache holds.

    Attributes:
        source: as the user wrote it.
        prefix: which part of the source.
        found: its state.
        tree: to do something with it.
    """

    source: str
    prefix: str
    found: Found
    tree: CachedTree


def open_tree(
    source: VoiceSource,
    cache: Path,
    *,
    mirrors: Sequence[str] = (),
    download: bool = True,
    progress: Progress = nothing,
) -> Source | None:
    """The tree of a source, through the cache where it is elsewhere; None for a family that needs none.

    Raises:
        VoiceNotAvailableError: a mirror is of no known form, or is no tree.
    """
    if source.remote is None:
        return source.tree
    settings = Settings(download=download, select=layout.needed, policy=retry.DEFAULT_POLICY, progress=progress)
    return CachedTree(source.remote, cache, mirrors=[_remote(mirror) for mirror in mirrors], settings=settings)


def folders(source: VoiceSource, voice: str, device: str) -> tuple[str, ...]:
    """The prefixes that a voice of a source needs on a device."""
    if source.remote is None and source.tree is None:
        return ()
    return layout.prefixes(voice, device)


def cached(cache: Path, *, mirrors: Sequence[str] = (), progress: Progress = nothing) -> Iterator[CachedFolder]:
    """All folders that the cache holds, also damaged ones, in the order of their paths.

    Args:
        cache: its root.
        mirrors: see ``open_tree``.
        progress: told how far the downloads of their trees are.
    """
    for path in sorted((cache / FOLDER).rglob(CURRENT)):
        entry = Entry(path.parent)
        found = entry.look()
        known = entry.belongs_to()
        if known is None:
            continue
        tree = open_tree(parse_source(known[0]), cache, mirrors=mirrors, progress=progress)
        if isinstance(tree, CachedTree):
            yield CachedFolder(*known, found, tree)


def publish(folder: Path, source: str, prefix: str, *, progress: Progress = nothing) -> str:
    """Upload the files of a folder to a source.

    Args:
        folder: whose files are published.
        source: where to, for example ``hf://me/voices``.
        prefix: where below it, for example ``onnx/speakers/my-voice``.
        progress: told while an attempt waits for the next.

    Returns:
        The revision that was made; empty where the source has none.

    Raises:
        VoiceNotAvailableError: the source is none that can be written to, or refuses.
        SourceUnreachableError: it cannot be reached.
    """
    parsed = parse_source(source)
    place = parsed.remote or parsed.tree
    if place is None:
        message = f"{source} cannot be published to; name hf://USER/REPOSITORY, s3://BUCKET/PREFIX or a folder"
        raise VoiceNotAvailableError(message)
    if not folder.is_dir():
        message = f"there is no folder {folder}"
        raise VoiceNotAvailableError(message)
    return CachedTree(place, folder, settings=Settings(progress=progress)).upload(prefix, folder)


def _remote(source: str) -> Remote:
    parsed = parse_source(source)
    place: Remote | LocalSource | None = parsed.remote or parsed.tree
    if place is None:
        message = f"{source} cannot be a mirror; name hf://USER/REPOSITORY, s3://BUCKET/PREFIX or a folder"
        raise VoiceNotAvailableError(message)
    return place
