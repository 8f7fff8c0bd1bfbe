"""``python -m engine.text --kana``: one line of katakana for every line of the standard input."""

from __future__ import annotations

import argparse
import sys

from engine.text.pipeline import TextPipeline


def main(arguments: list[str] | None = None) -> int:
    """Answer every line with one line, at once, so that it can serve as a filter."""
    parser = argparse.ArgumentParser(prog="python -m engine.text", description=__doc__)
    parser.add_argument("--kana", action="store_true", help="answer with the reading in katakana")
    parser.add_argument("--normalized", action="store_true", help="answer with the normalised text")
    options = parser.parse_args(arguments)
    pipeline = TextPipeline()
    for raw in sys.stdin.buffer:
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        answer = pipeline.script(line).normalized if options.normalized else pipeline.kana(line)
        sys.stdout.buffer.write((" ".join(answer.splitlines()) + "\n").encode())  # UTF-8 whatever the locale
        sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
