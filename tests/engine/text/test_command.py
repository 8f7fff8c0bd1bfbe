from __future__ import annotations

import subprocess
import sys


def answers(*lines: bytes) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "engine.text", "--kana"],
        input=b"\n".join(lines) + b"\n",
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""
    return done.stdout.decode().split("\n")[:-1]


def test_every_line_is_answered_with_one_line() -> None:
    lines = ["14:30", "", "。", "😊", "a\u2028b", "一行目。二行目。", "\x0b改行\x0c", "\u0085"]
    got = answers(*(line.encode() for line in lines), b"\xff\xfe", b"\x00")
    assert len(got) == len(lines) + 2
    assert got[0] == "ジューヨジサンジュップン"
    assert got[1:4] == ["", "", ""]
