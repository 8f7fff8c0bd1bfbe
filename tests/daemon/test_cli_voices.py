"""``asagoe voices``: the list of speakers, and the face of a conversion (which is tested with the engine)."""

import json

import pytest
import yaml

from daemon.cli import voices, voices_tune
from engine import VoiceNotAvailableError
from engine.voices.style_bert_vits2.conversion import convert as conversion
from engine.voices.style_bert_vits2.conversion.report import BertReport, ConversionReport, VoiceReport
from engine.voices.style_bert_vits2.tuning import tune as tuning
from engine.voices.style_bert_vits2.tuning.processor import Processor
from engine.voices.style_bert_vits2.tuning.report import Candidate, Group, Tuning
from tests.daemon.test_cli import asagoe
from tests.fakes.published import STYLES, VOICE, unpack_published


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    tree = unpack_published(tmp_path_factory.mktemp("published"))
    path = tmp_path_factory.mktemp("config") / "asagoe.yaml"
    speakers = {
        "mei": {"source": "openjtalk:mei"},
        "f1": {"source": tree.as_uri(), "name": VOICE, "style": "Happy"},
        "ghost": {"source": "/no/such/folder"},
        "second": {"source": str(tree), "name": VOICE, "speaker_id": 2},
    }
    path.write_text(yaml.safe_dump({"speakers": speakers, "default_speaker": "f1"}, sort_keys=False))
    return path


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """So that the voice is prepared once."""
    return str(tmp_path_factory.mktemp("cache"))


def test_the_list_tells_what_every_speaker_is(config, cache):
    done = asagoe("voices", "list", "--json", "--config", str(config), ASAGOE_CACHE=cache)
    assert done.stderr == ""
    assert done.returncode == 1  # two are not available
    mei, f1, ghost, second = map(json.loads, done.stdout.splitlines())
    assert (mei["speaker"], mei["state"], mei["family"], mei["sample_rate"]) == ("mei", "ready", "openjtalk", 48_000)
    assert mei["styles"] == ["Normal"]
    assert mei["default"] is False
    assert (f1["state"], f1["family"], f1["sample_rate"]) == ("ready", "style_bert_vits2", 44_100)
    assert f1["styles"] == list(STYLES)
    assert f1["voice"] == VOICE
    assert f1["default"] is True
    assert 1_000_000 < f1["memory"] < 20_000_000
    assert (f1["precision"], mei["precision"], ghost["precision"]) == ("float32", None, None)
    assert {"style", "pitch", "seed", "speaker_id"} <= set(f1["options"])
    assert ghost["state"] == second["state"] == "unavailable"
    assert ghost["reason"] == "there is no folder /no/such/folder; name the root of a tree of voices"
    assert second["reason"] == "speaker_id must be from 0 to 1 with this voice, got 2"
    assert ghost["sample_rate"] is ghost["memory"] is ghost["family"] is None


def test_the_list_as_a_table(config, cache):
    done = asagoe("voices", "list", "--config", str(config), ASAGOE_CACHE=cache)
    assert done.returncode == 1
    rows = {line.split()[1]: line for line in done.stdout.splitlines() if line.startswith("│")}
    assert "(default)" in rows["f1"]
    assert "Neutral, Happy, Sad" in rows["f1"]
    assert "44100 Hz" in rows["f1"]
    assert "float32" in rows["f1"]
    assert "float32" not in rows["mei"]
    assert "ready" in rows["mei"]
    assert "unavailable" in rows["ghost"]
    assert "ghost: there is no folder /no/such/folder; name the root of a tree of voices\n" in done.stdout


def test_all_speakers_ready_is_success(tmp_path):
    path = tmp_path / "asagoe.yaml"
    path.write_text("speakers: {mei: {source: 'openjtalk:mei'}}\n")
    done = asagoe("voices", "list", "--config", str(path))
    assert done.returncode == 0, done.stderr
    assert "BERT" not in done.stdout


def test_a_source_that_is_no_absolute_path_is_refused_with_its_line(tmp_path):
    path = tmp_path / "asagoe.yaml"
    path.write_text("speakers:\n  a: {source: ~/voices}\n  b: {source: voices}\n")
    done = asagoe("voices", "list", "--config", str(path))
    assert done.returncode == 78
    assert f"{path}:2: speakers.a.source: the source '~/voices' is not understood; ~ is not expanded" in done.stderr
    assert f"{path}:3: speakers.b.source: the source 'voices' is not understood; a folder is named by" in done.stderr


def test_help_names_both_commands_and_loads_nothing_heavy():
    done = asagoe("voices", "--help")
    assert " list " in done.stdout
    assert " convert " in done.stdout
    assert " voices " in asagoe("--help").stdout


def test_a_folder_that_is_no_voice_is_one_sentence(tmp_path):
    done = asagoe("voices", "convert", str(tmp_path), "--to", str(tmp_path / "tree"))
    assert done.returncode == 1
    assert "it has no config.json" in done.stderr or "pip install 'asagoe[torch]'" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


@pytest.mark.parametrize("bert", [True, False])
def test_a_conversion_prints_how_near_it_is_and_how_to_use_it(tmp_path, monkeypatch, capsys, bert):
    root = tmp_path / "声 の木"
    steps = []

    def convert(folder, to, *, bert, name, on_step):
        steps.append((folder, to, bert, name))
        on_step("reading [the] voice")
        if bert:
            (to / conversion.BERT).mkdir(parents=True)
        files = (("onnx/speakers/声/synthesizer.onnx.data", 247_700_000), ("onnx/speakers/声/config.json", 900))
        voice = VoiceReport("e100.safetensors", 9.9e-07, True, 9.1)
        return ConversionReport(name, to, files, voice, BertReport("int8", 0.99799, 0.99, 5) if bert else None, 73.2)

    monkeypatch.setattr(conversion, "convert", convert)
    folder = tmp_path / "bert" if bert else None
    assert voices.convert_voice(tmp_path, root, name="声", bert=folder) == 0
    assert steps == [(tmp_path, root, folder, "声")]
    text = capsys.readouterr().out
    assert "voice 声, in 73 s" in text.replace("\n", "")
    assert "durations equal, audio within 9.9e-07 of the original" in text
    assert ("at a cosine of 0.99799" in text) is bert
    assert ("This tree has no BERT yet" in text) is not bert
    assert "247.7" in text
    assert "<0.1" in text
    speakers = yaml.safe_load(text[text.index("speakers:") :])["speakers"]
    assert speakers == {"f1": {"source": root.as_uri(), "name": "声"}}


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (VoiceNotAvailableError("the graphs differ from the network"), "the graphs differ from the network"),
        (OSError(28, "No space left on device", "/tree/x"), "/tree/x cannot be written: No space left on device"),
    ],
)
def test_a_conversion_that_fails_is_one_sentence(tmp_path, monkeypatch, capsys, error, sentence):
    def failing(*_, **__):
        raise error

    monkeypatch.setattr(conversion, "convert", failing)
    assert voices.convert_voice(tmp_path, tmp_path / "tree", name=None, bert=None) == 1
    assert capsys.readouterr().err.strip() == sentence


CHOSEN = Candidate(("s0k3", "s0k7", "s1k3", "s1k7"), 36.52, 0.08, 2.0, 1.604, 0.0)


def report(**changes):
    facts = {
        "content": "c" * 64,
        "processor": Processor("aarch64", "M", ()),
        "onnxruntime": "1.32.0",
        "asagoe": "0.1.0",
        "threshold": 35.0,
        "groups": tuple(Group(name, "decoder.onnx", 1, 1e-4, 0.1) for name in (*CHOSEN.groups, "flow")),
        "candidates": (
            Candidate((), float("inf"), 0.0, 3.2, 1.0),
            CHOSEN,
            Candidate((*CHOSEN.groups, "flow"), 34.1, 0.2, 1.9, 1.7),
        ),
        "chosen": CHOSEN.groups,
        "graphs": {},
        "made": "2026-11-30T06:45:00+00:00",
        "seconds": 90.4,
        "peak_memory": 1_296_000_000,
    }
    return Tuning(**(facts | changes))


@pytest.fixture
def tuned(monkeypatch):
    """What the engine was asked for; it finds what ``report`` has."""
    asked = []

    def tune(model, tree, cache, *, threshold, progress):
        progress("calibrating", 0.1)
        asked.append((model, tree.root.name, threshold))
        return report()

    monkeypatch.setattr(tuning, "tune", tune)
    return asked


def tune(config, name, **options):
    settings = {"source": None, "threshold": None, "reset": False, "as_json": False} | options
    return voices_tune.tune_voice(config, name, **settings)


def test_tuning_shows_every_candidate_and_the_choice(config, tuned, capsys):
    assert tune(config, "f1") == 0
    text = capsys.readouterr().out
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines() if line.startswith("│")]
    assert rows[0] == ["float32", "0 of 5", "exact", "", "1.00", ""]
    assert rows[1] == ["stages 0,1", "4 of 5", "36.5 dB", "0.08 dB", "1.60", "chosen"]
    assert rows[2][1:] == ["5 of 5", "34.1 dB", "0.20 dB", "1.70", ""]
    assert "f1: int8 in stages 0,1, else float32; 1.60 times as fast at 36.5 dB (90 s, 1296 MB" in text
    assert tuned[0][0::2] == (VOICE, 35.0)


def test_tuning_of_a_voice_at_a_source_with_another_threshold(config, tuned, tmp_path, capsys):
    tree = unpack_published(tmp_path / "tree")
    assert tune(config, VOICE, source=str(tree), threshold=40.0, as_json=True) == 0
    assert tuned == [(VOICE, "tree", 40.0)]
    assert Tuning.from_json(capsys.readouterr().out) == report()


def test_a_tuning_that_finds_nothing_says_that_float32_stays(config, monkeypatch, capsys):
    monkeypatch.setattr(tuning, "tune", lambda *_, **__: report(chosen=()))
    assert tune(config, "f1") == 0
    assert "f1: float32 stays; nothing that reaches 35 dB is faster here" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("mei", "mei is a voice of openjtalk, which has nothing to tune; only neural voices have"),
        ("nobody", "there is no speaker 'nobody'; there are mei, f1, ghost, second"),
        ("ghost", "there is no folder /no/such/folder; name the root of a tree of voices"),
    ],
)
def test_what_cannot_be_tuned_is_one_sentence(config, name, sentence, capsys):
    assert tune(config, name) == 1
    assert capsys.readouterr().err.strip() == sentence


def test_a_full_disk_ends_a_tuning_with_one_sentence(config, monkeypatch, capsys):
    def failing(*_, **__):
        raise OSError(28, "No space left on device", "/cache/x")

    monkeypatch.setattr(tuning, "tune", failing)
    assert tune(config, "f1") == 1
    assert capsys.readouterr().err.strip() == "/cache/x cannot be written: No space left on device"


def test_a_reset_says_whether_there_was_anything_to_go_back_from(config, monkeypatch, capsys):
    for was, sentence in ((True, "f1: float32 from the next start on"), (False, "f1: it was not tuned")):
        monkeypatch.setattr(tuning, "reset", lambda *_, was=was: was)
        assert tune(config, "f1", reset=True) == 0
        assert capsys.readouterr().out.strip() == sentence


def test_the_list_tells_of_a_tuned_voice(config, monkeypatch):
    monkeypatch.setattr(tuning, "found", lambda *_: report())
    tree = yaml.safe_load(config.read_text())["speakers"]["second"]["source"]
    assert voices_tune.precision_of(tree, VOICE) == "int8, 36.5 dB, 1.60 times as fast"


def test_a_conversion_can_be_followed_by_a_tuning(tmp_path, monkeypatch, capsys):
    asked = []

    def convert(folder, to, *, bert, name, on_step):
        return ConversionReport("v", to, (), VoiceReport("w", 1e-6, True, 1.0), None, 1.0)

    monkeypatch.setattr(conversion, "convert", convert)
    monkeypatch.setattr(voices, "tune_voice", lambda _, name, **options: asked.append((name, options["source"])) or 0)
    assert voices.convert_voice(tmp_path, tmp_path / "tree", name=None, bert=None, tune=True) == 0
    assert asked == [("v", str(tmp_path / "tree"))]


def test_the_command_refuses_a_threshold_that_is_none():
    done = asagoe("voices", "tune", "f1", "--threshold", "3")
    assert done.returncode == 2
    assert "10" in done.stderr


def test_what_the_cache_does_not_hold_cannot_be_removed_and_it_is_said_where_to_look(tmp_path):
    done = asagoe("voices", "remove", "hf://me/voices", ASAGOE_CACHE=str(tmp_path))
    assert done.returncode == 1
    assert "the cache holds nothing of hf://me/voices; see asagoe voices cached" in " ".join(done.stderr.split())
