"""``asagoe dictionary``: the user's own words, edited and tried."""

from __future__ import annotations

import sys
from pathlib import Path

from daemon.cli.common import err, fail, out, printable, read_config, table
from daemon.config import dictionary_path
from daemon.dictionary_file import edit_dictionary
from engine import DictionaryError, Word, load_dictionary
from engine.text import TextPipeline
from engine.text.dictionary import checked_word, with_word, without_word
from engine.text.kana import pronunciation


def add_word(explicit: Path | None, file: Path | None, surface: str, facts: dict[str, str]) -> int:
    """Add a word to the file, or change it; returns the exit code."""
    path = _path(explicit, file)
    try:
        word = checked_word(surface, facts)
        before = edit_dictionary(
            path, lambda text: with_word(text, word, str(path)), create=True, on_owner_lost=_owner_lost
        )
    except (ValueError, DictionaryError) as error:
        return fail(str(error))
    except OSError as error:
        return fail(f"{path} cannot be written: {error.strerror}")
    old = before.find(surface)
    out.print(f"{path}: {'added' if old is None else 'changed'} {_line(word)}")
    if old is not None:
        out.print(f"it was {_line(old)}")
    return _hint(file)


def remove_word(explicit: Path | None, file: Path | None, surface: str) -> int:
    """Take a word out of the file; returns the exit code."""
    path = _path(explicit, file)
    try:
        before = edit_dictionary(path, lambda text: without_word(text, surface, str(path)), on_owner_lost=_owner_lost)
    except DictionaryError as error:
        return fail(str(error))
    except OSError as error:
        return fail(f"{path} cannot be written: {error.strerror}")
    old = before.find(surface)
    out.print(f"{path}: removed {_line(old) if old else printable(surface)}")
    return _hint(file)


def list_words(explicit: Path | None, file: Path | None) -> int:
    """Print the words; returns the exit code."""
    path = _path(explicit, file)
    try:
        dictionary = load_dictionary(path)
    except DictionaryError as error:
        return fail(str(error))
    if not dictionary:
        out.print(f"{path}: no words yet; add one with asagoe dictionary add SURFACE READING")
        return 0
    columns = ("surface", "reading", "spoken", "accent", "part of speech", "priority")
    shown = table(*columns, title=f"{path}: {len(dictionary.words)}")
    for word in dictionary.words:
        accent = "usual" if word.accent is None else str(word.accent)
        facts = (accent, word.part_of_speech, str(word.priority))
        shown.add_row(printable(word.surface), word.reading, pronunciation(word.reading), *facts)
    out.print(shown)
    return 0


def compare_readings(explicit: Path | None, file: Path | None, text: str) -> int:
    """Print how a text is read with the dictionary and without; returns the exit code."""
    path = _path(explicit, file)
    try:
        dictionary = load_dictionary(path)
        own = TextPipeline(dictionary).kana(text)
    except DictionaryError as error:
        return fail(str(error))
    plain = TextPipeline().kana(text)
    shown = table("dictionary", "kana")
    shown.add_row("without", printable(plain))
    shown.add_row("with", printable(own))
    out.print(shown)
    if own == plain:
        out.print("The dictionary changes nothing in the kana of this text.", style="yellow")
    return 0


def _path(explicit: Path | None, file: Path | None) -> Path:
    """The file that is named, else the configured one; an exit when there is neither."""
    if file is not None:
        return file
    config, config_file = read_config(explicit, with_words=False)
    if config.dictionary is None or config_file is None:
        where = str(config_file) if config_file else "the configuration (there is no file yet)"
        sys.exit(
            fail(f"no dictionary is configured; add the line dictionary: dictionary.yaml to {where}, or use --file")
        )
    return dictionary_path(config.dictionary, config_file)


def _owner_lost(path: Path) -> None:
    err.print(f"{path} now belongs to you: only root can keep its owner", style="yellow")


def _line(word: Word) -> str:
    extra = [] if word.accent is None else [f"accent {word.accent}"]
    return f"{printable(word.surface)} → {pronunciation(word.reading)}{''.join(f', {fact}' for fact in extra)}"


def _hint(file: Path | None) -> int:
    if file is None:
        out.print("A running service reads it after: asagoe reload")
    return 0
