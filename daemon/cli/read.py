"""``asagoe read``: how a text is read."""

from __future__ import annotations

import sys

from rich.table import Table

from daemon.cli.common import out
from engine.text import TextPipeline


def read_text(text: str | None, *, kana_only: bool) -> int:
    """Print readings; returns the exit code."""
    pipeline = TextPipeline()
    if kana_only:
        lines = [text] if text is not None else sys.stdin
        for line in lines:  # one line in, one line out
            print(pipeline.kana(line.rstrip("\n")).replace("\n", " "), flush=True)
        return 0
    whole = sys.stdin.read() if text is None else text
    script = pipeline.script(whole)
    table = Table("sentence", "kana", "pause", title="Read as", title_justify="left")
    for sentence in script.sentences:
        table.add_row(sentence.text, pipeline.front_end.kana(sentence.text), f"{sentence.pause:.2f} s")
    out.print(table)
    for dropped in script.dropped:
        out.print(f"not read: {dropped.text!r} ({dropped.reason})", style="yellow", markup=False)
    if not script.sentences:
        out.print("Nothing in this text can be read aloud.", style="yellow", markup=False)
    return 0
