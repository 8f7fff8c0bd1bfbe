import os
import stat
import subprocess
import sys
import threading

import pytest

from engine.text.dictionary import PARTS_OF_SPEECH, load_dictionary
from tests.daemon.test_cli import asagoe

WORDS = "# our house\n東横線: とうよこせん   # the line to town\n\n# network\nWi-Fi: {reading: わいふぁい, accent: 0}\n"


@pytest.fixture
def config(tmp_path):
    (tmp_path / "words.yaml").write_text(WORDS)
    path = tmp_path / "c.yaml"
    path.write_text("dictionary: words.yaml\n")
    return path


def edit(config, *arguments):
    """Run a command; its exit code, what it printed and the file afterwards."""
    done = asagoe("dictionary", *arguments[:1], "--config", str(config), *arguments[1:])
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr, (config.parent / "words.yaml").read_text()


def test_help_of_the_dictionary_imports_nothing_heavy_and_names_the_parts_of_speech():
    for arguments in (["dictionary", "--help"], ["dictionary", "add", "--help"]):
        code = (
            f"import sys; sys.argv = ['asagoe', *{arguments!r}]\n"
            "import daemon.cli\n"
            "try: daemon.cli.main()\n"
            "except SystemExit: pass\n"
            "print(sorted({'numpy', 'daemon.config', 'yaml', 'pyopenjtalk', 'engine.text'} & set(sys.modules)))"
        )
        environment = os.environ | {"COLUMNS": "200", "NO_COLOR": "1"}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "[]"
    text = " ".join(done.stdout.replace("│", " ").split())
    assert all(name in text for name in PARTS_OF_SPEECH)


def test_add_appends_and_leaves_all_else_alone(config):
    code, said, text = edit(
        config, "add", "GPT-4o", "じーぴーてぃー", "--accent", "3", "--pos", "noun", "--priority", "7"
    )
    assert code == 0
    assert "added GPT-4o → ジーピーティー, accent 3" in said
    assert text == WORDS + "GPT-4o: {reading: じーぴーてぃー, accent: 3, part of speech: noun, priority: 7}\n"


def test_add_changes_a_word_in_its_place(config):
    code, said, text = edit(config, "add", "東横線", "トーヨコ")
    assert code == 0
    assert "changed 東横線 → トーヨコ" in said
    assert "it was 東横線 → トーヨコセン" in said
    assert text == WORDS.replace("とうよこせん", "トーヨコ")


def test_remove_takes_one_line_out(config):
    code, said, text = edit(config, "remove", "ｗｉ-ｆｉ")
    assert (code, text) == (0, WORDS.partition("Wi-Fi")[0])
    assert "removed Wi-Fi → ワイファイ" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["add", "東急", "tokyu"], "'東急': reading 'tokyu' must be 1 to 40 kana"),
        (["add", "東急", "とう", "--accent", "3"], "accent '3' must be a whole number from 0 to 2"),
        (["add", "東急", "とう", "--pos", "verb"], "part of speech 'verb' is not known; known are noun"),
        (["add", "a|b", "え"], "surface 'a|b' must have 1 to 40 characters"),
        (["remove", "京急"], "'京急' is not in the dictionary"),
    ],
)
def test_a_wrong_word_changes_nothing(config, arguments, words):
    code, said, text = edit(config, *arguments)
    assert (code, text) == (1, WORDS)
    assert words in said


def test_a_dictionary_with_mistakes_is_not_edited(config):
    (config.parent / "words.yaml").write_text("東急: x\n京急: y\n")
    for arguments in (["add", "京王", "けいおう"], ["remove", "東急"], ["list"], ["test", "東急"]):
        code, said, text = edit(config, *arguments)
        assert (code, text) == (1, "東急: x\n京急: y\n")
        assert "words.yaml:1: '東急'" in said
        assert "words.yaml:2: '京急'" in said


def test_add_makes_the_configured_file_when_it_is_missing(config):
    (config.parent / "words.yaml").unlink()
    assert asagoe("check", "-c", str(config)).returncode == 78
    assert edit(config, "add", "東急", "とうきゅう")[::2] == (0, "東急: とうきゅう\n")
    done = asagoe("check", "-c", str(config))
    assert done.returncode == 0
    assert f"Dictionary: {config.parent}/words.yaml, 1 word\n" in done.stdout


def test_check_says_how_many_words_there_are(config):
    assert "words.yaml, 2 words" in asagoe("check", "-c", str(config)).stdout


def test_without_a_configured_dictionary_a_file_can_be_named(tmp_path):
    path = tmp_path / "other.yaml"
    assert asagoe("dictionary", "add", "x", "えっくす").returncode == 1
    assert "no dictionary is configured; add the line dictionary:" in asagoe("dictionary", "list").stderr
    assert asagoe("dictionary", "add", "--file", str(path), "--", "-3", "まいさん").returncode == 0
    assert path.read_text() == '"-3": まいさん\n'
    done = asagoe("dictionary", "add", "x", "え", "--file", "/no/such/folder/x.yaml")
    assert done.returncode == 1
    assert "/no/such/folder/x.yaml cannot be written" in done.stderr


def test_list_shows_every_word(config):
    _, said, _ = edit(config, "list")
    rows = [line.split("│") for line in said.splitlines() if line.startswith("│")]
    assert [[cell.strip() for cell in row[1:-1]] for row in rows] == [
        ["東横線", "とうよこせん", "トーヨコセン", "usual", "proper noun", "5"],
        ["Wi-Fi", "わいふぁい", "ワイファイ", "0", "proper noun", "5"],
    ]


def test_test_shows_the_reading_with_and_without(config):
    edit(config, "add", "謎町", "あまち")
    _, said, _ = edit(config, "test", "謎町です")
    rows = dict([cell.strip() for cell in line.split("│")[1:3]] for line in said.splitlines() if line.startswith("│"))
    assert rows["with"] == "アマチデス"
    assert rows["without"] not in ("", "アマチデス")
    assert "changes nothing" in edit(config, "test", "洗濯です")[1]


def test_an_edit_keeps_mode_link_and_line_ends(config, tmp_path):
    real = tmp_path / "real.yaml"
    real.write_bytes(b"\xef\xbb\xbf# windows\r\na: \xe3\x81\x88\r\n")
    real.chmod(0o640)
    link = tmp_path / "link.yaml"
    link.symlink_to(real)
    assert asagoe("dictionary", "add", "b", "び", "--file", str(link)).returncode == 0
    assert link.is_symlink()
    assert real.read_bytes().decode() == "# windows\r\na: え\r\nb: び\r\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == [
        "c.yaml",
        "link.yaml",
        "real.yaml",
        "words.yaml",
    ]


def test_an_edit_that_cannot_be_written_leaves_the_file(config, monkeypatch):
    from daemon.cli import dictionary

    def no_space(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("daemon.dictionary_file.os.fsync", no_space)
    assert dictionary.add_word(config, None, "東急", {"reading": "とうきゅう"}) == 1
    assert (config.parent / "words.yaml").read_text() == WORDS
    assert sorted(path.name for path in config.parent.iterdir()) == ["c.yaml", "words.yaml"]


def test_editors_that_meet_lose_no_word(tmp_path):
    from daemon.cli import dictionary

    path = tmp_path / "words.yaml"

    def add(part):
        for number in range(8):
            assert dictionary.add_word(None, path, f"{part}{number}", {"reading": "え"}) == 0

    threads = [threading.Thread(target=add, args=(part,)) for part in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(load_dictionary(path).words) == 24


def test_read_and_say_use_the_configured_dictionary(config, tmp_path):
    edit(config, "add", "謎町", "あまち")
    done = asagoe("read", "--kana", "-c", str(config), stdin="謎町\n\nWi-Fi\n")
    assert done.stdout == "アマチ\n\nワイファイ\n"
    edit(config, "add", "謎町", "ながいながいながいながいなまえのまち")
    sizes = []
    for arguments in (["-c", str(config)], []):
        done = asagoe("say", "謎町", "-o", str(tmp_path / "out.wav"), *arguments)
        assert done.returncode == 0, done.stderr
        sizes.append((tmp_path / "out.wav").stat().st_size)
    assert sizes[0] > 2 * sizes[1]


def test_say_warns_of_what_it_cannot_read(tmp_path):
    done = asagoe("say", "洗濯한국です\x1b", "-o", str(tmp_path / "out.wav"))
    assert done.returncode == 0
    assert "not read: 한국 (script without a reading)" in done.stderr
    assert "\x1b" not in done.stderr


def test_read_shows_tokens_rules_kana_accents_pauses_and_what_is_dropped(config):
    said = asagoe("read", "-c", str(config), "[red]Wi-Fiは14:30。次한국😀").stdout
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in said.splitlines() if line.startswith("│")]
    assert ["14:30", "time", "14時30分", "time"] in rows
    assert ["Wi-Fi", "reading", "{Wi-Fi|ワイファイ:0}", "dictionary"] in rows
    assert ["한국", "dropped", "", "script without a reading"] in rows
    assert ["[", "mark", "", "bracket"] in rows or ["[", "mark", "、", "bracket"] in rows
    (first, second) = [row for row in rows if row[-1].endswith(" s")]
    assert first[1].endswith("ワイファイワジューヨジサンジュップン。")
    assert "ワイファイワ￣" in first[2]
    assert second[1:] == ["ツギ", "ツギ＼", "0.40 s"]
    assert "Normalised: " in said
    assert "not read: 한국 (script without a reading)" in said
    assert "silent: 😀" in said


def test_read_answers_every_line_at_once_and_whatever_the_bytes():
    process = subprocess.Popen(
        [sys.executable, "-m", "daemon", "read", "--kana"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0"},
    )
    try:
        for raw, kana in ((b"\xe6\xb4\x97\xe6\xbf\xaf\n", "センタク"), (b"\xff\rx\x0b\n", "エックス"), (b"\n", "")):
            process.stdin.write(raw)
            process.stdin.flush()
            assert process.stdout.readline().decode() == f"{kana}\n"
    finally:
        process.stdin.close()
        process.wait(10)
        process.stdout.close()


def test_read_breaks_long_kana_instead_of_cutting_it():
    text = "洗濯が終わりました" * 8
    done = asagoe("read", text, COLUMNS="80")
    assert "…" not in done.stdout
