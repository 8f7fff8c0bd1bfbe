"""How well libraries read English words in katakana, and what they cost: ``python benchmarks/readings_english.py``.

Each library runs in a process of its own. Those that are not installed are left out.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

TABLE = Path(__file__).with_name("readings_english.tsv")
LIBRARIES = {
    "kanalizer": "import kanalizer; read = lambda w: kanalizer.convert(w)",
    "e2k": "from e2k import C2K; model = C2K(); read = lambda w: model(w)",
    "e2k turbo": "from e2k import C2K; model = C2K(model='turbo'); read = lambda w: model(w)",
    "alkana": "import alkana; read = lambda w: alkana.get_kana(w) or ''",
    "Open JTalk itself": "import pyopenjtalk; read = lambda w: pyopenjtalk.g2p(w, kana=True).replace('’', '')",
}
CHILD = """
import json, resource, sys, time
words = json.loads(sys.stdin.read())
rss = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
start, memory = time.perf_counter(), rss()
{setup}
first = read(words[0]); loaded = time.perf_counter() - start
start = time.perf_counter()
answers = [read(word) for word in words]
each = (time.perf_counter() - start) / len(words)
print("\\n" + json.dumps([answers, loaded, each, rss() - memory]))
"""
ROWS = {
    "ア": "アカガサザタダナハバパマヤャラワァ",
    "イ": "イキギシジチニヒビピミリィ",
    "ウ": "ウクグスズツヌフブプムユュルヴゥ",
    "エ": "エケゲセゼテデネヘベペメレェ",
    "オ": "オコゴソゾトドノホボポモヨョロォ",
}
VOWELS = {kana: vowel for vowel, row in ROWS.items() for kana in row}


def canonical(kana: str) -> str:
    """Long vowels spelled out, so that エイ and エー count as the same."""
    out = ""
    for character in kana:
        out += VOWELS.get(out[-1:], "") if character == "ー" else character
    folded = ""
    for character in out:
        last = VOWELS.get(folded[-1:], "")
        folded += last if (character == "ウ" and last == "オ") or (character == "イ" and last == "エ") else character
    return folded.replace("ヴ", "ブ")


def main() -> None:
    rows = [line.split("\t") for line in TABLE.read_text("utf-8").splitlines() if line and line[0] != "#"]
    words = [word for word, _ in rows]
    for name, setup in LIBRARIES.items():
        command = [sys.executable, "-c", CHILD.format(setup=setup)]
        done = subprocess.run(command, input=json.dumps(words), capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{name}: not measured ({done.stderr.strip().splitlines()[-1]})")
            continue
        answers, loaded, each, memory = json.loads(done.stdout.strip().splitlines()[-1])
        wrong = [
            f"{word} {answer}"
            for (word, accepted), answer in zip(rows, answers, strict=True)
            if canonical(answer) not in {canonical(reading) for reading in accepted.split("|")}
        ]
        print(f"{name}: {len(rows) - len(wrong)}/{len(rows)} right, first word {loaded * 1000:.0f} ms, "
              f"then {each * 1000:.2f} ms a word, {memory:.0f} MB")  # fmt: skip
        print("   " + ", ".join(wrong))


if __name__ == "__main__":
    main()
