"""``asagoe read``: how a text is read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from daemon.cli.common import fail, out, printable, read_config, table
from engine import DictionaryError
from engine.text import Description, Kind, TextPipeline, describe
from engine.text.describe import AccentPhrase
from engine.text.kana import moras


def read_text(explicit: Path | None, text: str | None, *, kana_only: bool) -> int:
    """Print readings; returns the exit code."""
    config, _ = read_config(explicit)
    pipeline = TextPipeline()
    try:
        pipeline.use_dictionary(config.words)
    except DictionaryError as error:
        return fail(str(error))
    if kana_only:
        for line in _input_lines() if text is None else [text]:
            answer = " ".join(pipeline.kana(line).splitlines())
            sys.stdout.buffer.write(f"{answer}\n".encode("utf-8", "replace"))  # UTF-8 whatever the locale
            sys.stdout.buffer.flush()  # one line in, one line out: it can serve as a filter
        return 0
    whole = sys.stdin.buffer.read().decode("utf-8", "replace") if text is None else text
    _show(describe(whole, pipeline))
    return 0


def _input_lines() -> Iterator[str]:
    for raw in sys.stdin.buffer:
        yield raw.decode("utf-8", "replace").rstrip("\r\n")


def _show(description: Description) -> None:
    out.print(f"Normalised: {printable(description.normalized)}")
    tokens = table("written", "kind", "spoken", "rule", title="Tokens")
    for token in description.tokens:
        tokens.add_row(printable(token.text), token.kind.value, printable(token.spoken), token.rule)
    out.print(tokens)
    sentences = table("sentence", "kana", "accents", "pause", title="Read as (＼ the pitch falls, ￣ it stays)")
    for spoken in description.sentences:
        accents = " ".join(_accented(phrase) for phrase in spoken.phrases)
        pause = f"{spoken.sentence.pause:.2f} s"
        sentences.add_row(printable(spoken.sentence.text), printable(spoken.kana), accents, pause)
    out.print(sentences)
    silent = [token.text for token in description.tokens if token.kind is Kind.SILENT]
    if silent:
        out.print(f"silent: {printable(' '.join(silent))}")
    for dropped in description.dropped:
        out.print(f"not read: {printable(dropped.text)} ({dropped.reason})", style="yellow")
    if not description.sentences:
        out.print("Nothing in this text can be read aloud.", style="yellow")


def _accented(phrase: AccentPhrase) -> str:
    """The kana of an accent phrase with the fall of its pitch: オ＼ンガク, サクラ￣."""
    if not phrase.accent:
        return f"{phrase.kana}￣"
    beats = moras(phrase.kana)
    return f"{''.join(beats[: phrase.accent])}＼{''.join(beats[phrase.accent :])}"
