import json
import subprocess
import sys
import wave
from pathlib import Path

import pytest

CONFIG = Path(__file__).parents[2] / "config" / "asagoe.yaml"


def asagoe(*arguments, stdin=None, **environment):
    import os

    return subprocess.run(
        [sys.executable, "-m", "daemon", *arguments],
        capture_output=True,
        text=True,
        input=stdin,
        env=os.environ | {"COLUMNS": "200", "NO_COLOR": "1"} | environment,
        timeout=60,
        check=False,
    )


def test_help_and_version_import_nothing_heavy():
    code = (
        "import sys; sys.argv = ['asagoe', '--help']\n"
        "import daemon.cli\n"
        "try: daemon.cli.main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'pydantic', 'paho', 'apscheduler', 'pyopenjtalk', 'sounddevice'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    for command in ("run", "say", "announce", "check", "next", "devices", "read", "dictionary", "reload", "voices"):
        assert f" {command} " in done.stdout
    assert asagoe("--version").stdout.startswith("asagoe 0.")


def test_say_writes_a_wav_file(tmp_path):
    out = tmp_path / "out.wav"
    done = asagoe("say", "洗濯が終わりました", "--out", str(out))
    assert done.returncode == 0, done.stderr
    with wave.open(str(out)) as file:
        assert file.getframerate() == 48_000
        assert 1.0 < file.getnframes() / 48_000 < 2.5


def test_say_reads_standard_input(tmp_path):
    out = tmp_path / "out.wav"
    assert asagoe("say", "-", "-o", str(out), stdin="はい。\n").returncode == 0
    assert out.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["say", "😀"], "can be read aloud"),
        (["say", ""], "can be read aloud"),
        (["say", "x", "--speaker", "nobody"], "there is no speaker 'nobody'; there are mei"),
        (["say", "x", "--speed", "9"], "speed must be a number from 0.25 to 4"),
        (["say", "x", "--style", "Happy"], "no style 'Happy'"),
        (["say", "x", "--out", "/no/such/folder/x.wav"], "/no/such/folder/x.wav cannot be written"),
    ],
)
def test_what_cannot_be_said_is_one_sentence(arguments, words):
    done = asagoe(*arguments)
    assert done.returncode == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2


def test_check_of_a_good_file():
    done = asagoe("check", "--config", str(CONFIG))
    assert done.returncode == 0, done.stderr
    for words in ("valid", "mei (default)", "asagoe/home/", "morning", "bath"):
        assert words in done.stdout


def test_check_of_a_bad_file_lists_every_error(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("nodes: x\naudio: {volume: 200}\n")
    for command in ("check", "run", "next"):
        done = asagoe(command, "--config", str(path))
        assert done.returncode == 78
        assert f"{path}:1: nodes: unknown key; did you mean node?" in done.stderr
        assert f"{path}:2: audio.volume" in done.stderr
        assert "2 errors" in done.stderr


def test_next_as_json():
    done = asagoe("next", "3", "--json", "--config", str(CONFIG))
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == 3
    assert {"at", "id", "say", "holiday", "reason", "times"} == set(rows[0])
    assert [row["at"] for row in rows] == sorted(row["at"] for row in rows)


def test_read_answers_line_by_line():
    done = asagoe("read", "--kana", stdin="洗濯\n\n😀\n雨\n")
    assert done.stdout.splitlines() == ["センタク", "", "", "アメ"]


def test_read_shows_what_is_dropped():
    done = asagoe("read", "洗濯한국です")
    assert "センタク" in done.stdout
    assert "한국" in done.stdout


def test_announce_without_a_service_says_what_to_do(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("mqtt: {port: 1}\n")
    done = asagoe("announce", "x", "--config", str(path))
    assert done.returncode == 1
    assert "is the service running? start it with asagoe run" in done.stderr


def test_reload_without_a_service_says_so():
    done = asagoe("reload")
    assert done.returncode == 1
    assert "no asagoe runs" in done.stderr
