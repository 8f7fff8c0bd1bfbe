"""Conversion of a trained voice: what is written, that it says the same, and what happens when it cannot."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from engine.errors import VoiceNotAvailableError
from engine.voices.style_bert_vits2.conversion.convert import convert

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("onnxscript")
onnx = pytest.importorskip("onnx")

from benchmarks.random_voice import BertSizes, VoiceSizes, write_bert, write_voice
from engine.voices.style_bert_vits2.backend import Controls, NetworkInput
from engine.voices.style_bert_vits2.conversion.check import check_bert, check_voice
from engine.voices.style_bert_vits2.conversion.export_bert import BertSizes as GraphSizes
from engine.voices.style_bert_vits2.conversion.export_bert import Precision, bert_graph, distance_rows, quantised_rows
from engine.voices.style_bert_vits2.conversion.export_graph import GraphBuilder, floats, save_models
from engine.voices.style_bert_vits2.conversion.report import BertReport, ConversionReport, VoiceReport
from engine.voices.style_bert_vits2.graphs.prepare import open_synthesizer
from engine.voices.style_bert_vits2.model_folder import read_config
from engine.voices.style_bert_vits2.pytorch.bert import TorchBert, read_bert
from engine.voices.style_bert_vits2.pytorch.model import read_model
from engine.voices.style_bert_vits2.pytorch.voice import TorchSynthesizer
from engine.voices.style_bert_vits2.runtime.bert import OnnxBert
from engine.voices.style_bert_vits2.runtime.session import Graph
from engine.voices.style_bert_vits2.runtime.synthesizer import PARTS, PartedSynthesizer, feed
from engine.voices.style_bert_vits2.text.tokenizer import CharacterTokenizer

from .conftest import GivenNoise, torch_synthesizer

SIZES = VoiceSizes(hidden=16, filter=32, layers=3, speaker=12, bert=64, decoder=64, speakers=2, flow_layers=1)
BERT_SIZES = BertSizes(hidden=64, filter=128, heads=2, layers=4, vocabulary=12_000)


@pytest.fixture(scope="module")
def voice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "kana"
    write_voice(folder, SIZES, seed=5)
    return folder


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "bert"
    write_bert(folder, BERT_SIZES, seed=5)
    return folder


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tree")


@pytest.fixture(scope="module")
def report(voice: Path, bert: Path, root: Path) -> ConversionReport:
    return convert(voice, root, bert=bert)


@pytest.fixture(scope="module")
def speaker(report: ConversionReport, root: Path) -> Path:
    return root / "onnx" / "speakers" / report.speaker


@pytest.fixture(scope="module")
def network(voice: Path) -> TorchSynthesizer:
    return torch_synthesizer(voice)


def sample(symbols: int, seed: int = 0) -> NetworkInput:
    generator = np.random.default_rng(seed)
    ids = [generator.integers(0, high, symbols) for high in (112, 12, 3)]
    features = generator.standard_normal((SIZES.bert, symbols), np.float32)
    return NetworkInput(*ids, features, generator.standard_normal(256, np.float32) * np.float32(0.1))


def test_the_tree_is_laid_out_as_published(report: ConversionReport, root: Path):
    written = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    assert written == {path for path, _ in report.files}
    assert {
        "onnx/speakers/kana/config.json",
        "onnx/speakers/kana/style_vectors.npy",
        "onnx/speakers/kana/synthesizer.onnx",
        "onnx/speakers/kana/duration_predictor.onnx",
        "onnx/bert/q8/bert_q8.onnx",
        "bert/tokenizer/vocab.txt",
        "bert/tokenizer/tokenizer_config.json",
    } <= written


def test_the_report_tells_what_was_compared(report: ConversionReport):
    assert report.voice.good
    assert report.voice.audio_error < 2e-5
    assert report.voice.audio_seconds > 2
    assert report.bert is not None
    assert report.bert.good
    assert report.bert.precision == Precision.CHANNELS.value
    assert report.bert.cosine > 0.999
    text = str(report)
    assert "durations equal" in text
    assert "cosine" in text
    assert "onnx/speakers/kana/synthesizer.onnx.data" in text


def test_the_graphs_have_the_published_inputs_and_outputs(speaker: Path):
    whole = Graph(speaker / "synthesizer.onnx")
    assert list(whole.inputs) == [
        "x", "x_lengths", "sid", "tone", "language", "bert", "style_vec",
        "noise_scale", "length_scale", "noise_scale_w", "sdp_ratio",
    ]  # fmt: skip
    assert whole.outputs == ["audio", "durations"]
    durations = Graph(speaker / "duration_predictor.onnx")
    assert list(durations.inputs) == [
        "x", "x_lengths", "sid", "tone", "language", "bert", "style_vec", "length_scale", "noise_scale_w", "sdp_ratio",
    ]  # fmt: skip
    assert durations.outputs == ["durations"]
    for graph in (whole, durations):
        for name, (dtype, shape) in graph.inputs.items():
            assert dtype == (np.int64 if name in {"x", "x_lengths", "sid", "tone", "language"} else np.float32)
            assert shape[0] == 1


@pytest.mark.parametrize("symbols", [2, 3, 4, 5, 40, 200])
def test_the_published_graph_says_what_the_network_says(speaker: Path, network: TorchSynthesizer, symbols: int):
    given, quiet = sample(symbols), Controls(speaker_id=1, noise=0.0, noise_w=0.0, sdp_ratio=0.4, length_scale=1.2)
    audio, durations = Graph(speaker / "synthesizer.onnx").run(feed(given, quiet)).values()
    wanted = network.synthesize(given, quiet, GivenNoise())
    assert np.array_equal(durations[0], wanted.durations)
    assert np.abs(audio[0, 0] - wanted.samples).max() < 1e-4
    (predicted,) = Graph(speaker / "duration_predictor.onnx").run(feed(given, quiet)).values()
    assert np.array_equal(predicted, durations)


def test_noise_inside_the_published_graph_is_drawn_anew(speaker: Path):
    graph, given = Graph(speaker / "synthesizer.onnx"), feed(sample(30), Controls(noise_w=0.0))
    first, second = (graph.run(given)["audio"] for _ in range(2))
    assert first.shape == second.shape
    assert np.abs(first - second).max() > 1e-3


def test_symbols_beyond_x_lengths_are_not_heard(speaker: Path, network: TorchSynthesizer):
    quiet = Controls(noise=0.0, noise_w=0.0)
    given = feed(sample(30), quiet)
    cut = {name: value[..., :12] if value.shape[-1] == 30 else value for name, value in given.items()}
    graph = Graph(speaker / "synthesizer.onnx")
    long = graph.run(given | {"x_lengths": np.array([12])})["audio"]
    short = graph.run(cut | {"x_lengths": np.array([12])})["audio"]
    assert np.array_equal(long, short)


@pytest.mark.parametrize("alone", [False, True])
def test_asagoe_speaks_with_it_and_repeats(speaker: Path, network: TorchSynthesizer, tmp_path: Path, alone: bool):
    """By the parts beside the published graph, and also by that graph alone, as others publish it."""
    folder = Path(shutil.copytree(speaker, tmp_path / "speaker"))
    if alone:
        for name in PARTS:
            (folder / name).unlink()
    found = open_synthesizer(folder / "synthesizer.onnx", tmp_path / "cache", margin=read_config(folder).margin)
    assert isinstance(found, PartedSynthesizer)
    whole = [made for made in (tmp_path / "cache" / "prepared").iterdir() if "-rows" not in made.name]
    assert bool(whole) is alone  # else only the decoder is laid out for the processor
    generator, given = np.random.default_rng(1), sample(40)
    noise_w = generator.standard_normal((2, 40), np.float32)
    frames = network.synthesize(given, Controls(), GivenNoise(noise_w)).durations.sum()
    noise = GivenNoise(noise_w, generator.standard_normal((SIZES.hidden, frames), np.float32))
    one, other = (synthesizer.synthesize(given, Controls(), noise) for synthesizer in (found, network))
    assert np.array_equal(one.durations, other.durations)
    assert np.abs(one.samples - other.samples).max() < 1e-4


def test_all_graphs_of_a_voice_share_one_file_of_weights(speaker: Path):
    parameters = sum(p.numel() for p in read_model_of(speaker).parameters())
    size = (speaker / "synthesizer.onnx.data").stat().st_size
    assert size < 4 * parameters + 4096 * 1000  # tensors begin at pages
    for graph in speaker.glob("*.onnx"):
        tensors = onnx.load(graph, load_external_data=False).graph.initializer
        places = {entry.value for t in tensors for entry in t.external_data if entry.key == "location"}
        assert places == {"synthesizer.onnx.data"}
        assert graph.stat().st_size < 700_000


def read_model_of(speaker: Path):
    return read_model(next(speaker.parents[3].glob("models*/kana")))[2]


def test_the_graph_of_a_voice_is_small(speaker: Path):
    assert len(onnx.load(speaker / "synthesizer.onnx", load_external_data=False).graph.node) < 1500


def test_a_graph_that_says_something_else_is_noticed(speaker: Path, network: TorchSynthesizer, tmp_path: Path):
    folder = Path(shutil.copytree(speaker, tmp_path / "speaker"))
    data = bytearray((folder / "synthesizer.onnx.data").read_bytes())
    model = onnx.load(folder / "synthesizer.onnx", load_external_data=False)
    tensor = next(t for t in model.graph.initializer if t.name.endswith("conv_pre.weight"))
    offset = int(next(entry.value for entry in tensor.external_data if entry.key == "offset"))
    data[offset : offset + 400] = np.zeros(100, np.float32).tobytes()
    (folder / "synthesizer.onnx.data").write_bytes(data)
    with pytest.raises(VoiceNotAvailableError, match="the graphs differ from the network"):
        check_voice(network._model, folder, "kana.safetensors")


def test_bert_graph_gives_the_features_of_the_original(
    report: ConversionReport, root: Path, bert: Path, tmp_path: Path
):
    original, graph = TorchBert(read_bert(bert)), OnnxBert(root / "onnx" / "bert" / "q8", tmp_path)
    assert graph.feature_size == 64
    generator = np.random.default_rng(0)
    for length in (1, 2, 3, 30, 129, 300, 520, 1100):
        ids = generator.integers(5, BERT_SIZES.vocabulary, length)
        wanted, found = original.features(ids), graph.features(ids)
        cosine = (wanted * found).sum(1) / np.linalg.norm(wanted, axis=1) / np.linalg.norm(found, axis=1)
        assert cosine.min() > 0.998, length


def test_padding_in_a_batch_changes_nothing(report: ConversionReport, root: Path, bert: Path):
    original, graph = TorchBert(read_bert(bert)), Graph(root / "onnx" / "bert" / "q8" / "bert_q8.onnx")
    ids, mask = np.full((2, 12), 7), np.ones((2, 12), np.int64)
    ids[1, 7:], mask[1, 7:] = 0, 0
    (hidden,) = graph.run({"input_ids": ids, "attention_mask": mask}).values()
    wanted = original.features(ids[1, :7])
    cosine = (wanted * hidden[1, :7]).sum() / np.linalg.norm(wanted) / np.linalg.norm(hidden[1, :7])
    assert cosine > 0.998


def test_nothing_large_in_the_bert_graph_is_float(report: ConversionReport, root: Path):
    path = root / "onnx" / "bert" / "q8" / "bert_q8.onnx"
    model = onnx.load(path)
    large = [
        t.name for t in model.graph.initializer if t.data_type == onnx.TensorProto.FLOAT and np.prod(t.dims) > 15_000
    ]
    assert not large
    layers = {t.name.split(".")[2] for t in model.graph.initializer if t.name.startswith("encoder.layer.")}
    assert layers == {"0", "1"}  # of 4: the last two make no feature


@pytest.mark.parametrize(("buckets", "limit"), [(256, 512), (32, 128)])
def test_rows_of_distances_are_those_of_the_model(buckets: int, limit: int):
    from transformers.models.deberta_v2.modeling_deberta_v2 import make_log_bucket_position

    far = torch.arange(-3 * limit, 3 * limit)
    wanted = (make_log_bucket_position(far, buckets, limit) + buckets).clamp(0, 2 * buckets - 1).long().numpy()
    rows = distance_rows(buckets, limit)
    found = rows[np.clip(far.numpy(), -limit, limit - 1) + limit]
    assert np.array_equal(found, wanted)


def test_rows_are_quantised_to_within_half_a_step():
    table = np.random.default_rng(0).standard_normal((5, 40), np.float32) * np.float32([[1], [100], [1e-3], [0], [1]])
    quantised, scale = quantised_rows(table)
    assert quantised.dtype == np.int8
    assert (np.abs(quantised * scale - table) <= scale * 0.501).all()


def with_outliers(folder: Path, target: Path) -> Path:
    """The same BERT with a few channels that are ten times as strong in every second layer norm."""
    from safetensors.torch import load_file, save_file

    shutil.copytree(folder, target)
    tensors = load_file(target / "model.safetensors")
    for key, tensor in tensors.items():
        if key.endswith("attention.output.LayerNorm.weight"):
            tensor[:2] *= 10
    save_file(tensors, target / "model.safetensors")
    return target


def test_blocks_keep_what_one_step_for_all_loses(bert: Path, tmp_path: Path):
    folder = with_outliers(bert, tmp_path / "outliers")
    read = read_bert(folder)
    original, vocabulary = TorchBert(read), CharacterTokenizer.load(folder)
    reports = {}
    for precision in Precision:
        model = bert_graph(GraphSizes.of(read.config), {k: t.numpy() for k, t in read.tensors.items()}, precision)
        save_models({tmp_path / "bert.onnx": model}, tmp_path / "bert.onnx.data")
        reports[precision] = check_bert(original, tmp_path / "bert.onnx", vocabulary, precision.value)
    assert reports[Precision.BLOCKS].token_cosine > reports[Precision.CHANNELS].token_cosine
    assert reports[Precision.BLOCKS].good


def test_a_bert_of_another_make_is_refused(bert: Path):
    config = json.loads((bert / "config.json").read_text("utf-8"))
    with pytest.raises(VoiceNotAvailableError, match="share_att_key False"):
        GraphSizes.of(config | {"share_att_key": False})
    with pytest.raises(VoiceNotAvailableError, match="pos_att_type"):
        GraphSizes.of(config | {"pos_att_type": ["c2p"]})


def test_a_failed_conversion_leaves_the_tree_as_it_was(
    report: ConversionReport, voice: Path, root: Path, tmp_path: Path
):
    tree = Path(shutil.copytree(root, tmp_path / "tree"))
    before = {path: path.stat().st_mtime_ns for path in tree.rglob("*")}
    broken = Path(shutil.copytree(voice, tmp_path / "kana"))
    next(broken.glob("*.safetensors")).write_bytes(b"no")
    with pytest.raises(VoiceNotAvailableError, match="cannot be read as safetensors"):
        convert(broken, tree)
    after = {path: path.stat().st_mtime_ns for path in tree.rglob("*")}
    assert after == before


def test_a_conversion_replaces_the_voice_and_keeps_the_others(
    report: ConversionReport, voice: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """What is exported is put together from the finished files here: the export itself takes seconds."""
    from engine.voices.style_bert_vits2.conversion import export_synthesizer

    tree = Path(shutil.copytree(root, tmp_path / "tree"))
    speakers = tree / "onnx" / "speakers"
    shutil.copytree(speakers / "kana", speakers / "other")
    (speakers / "kana" / "synthesizer_q8.onnx").write_text("of a former conversion")
    finished = [path for path in (root / "onnx" / "speakers" / "kana").iterdir() if ".onnx" in path.name]
    monkeypatch.setattr(
        export_synthesizer,
        "export_synthesizer",
        lambda _, folder: [shutil.copy(path, folder) for path in finished],
    )
    again = convert(voice, tree)
    assert again.bert is None
    assert not (speakers / "kana" / "synthesizer_q8.onnx").exists()
    assert {path.name for path in speakers.iterdir()} == {"kana", "other"}
    assert (tree / "onnx" / "bert" / "q8" / "bert_q8.onnx").is_file()
    assert not list(tree.glob(".*"))


def test_a_pickled_model_is_refused(voice: Path, tmp_path: Path):
    folder = Path(shutil.copytree(voice, tmp_path / "kana"))
    next(folder.glob("*.safetensors")).rename(folder / "kana_e100.pth")
    with pytest.raises(VoiceNotAvailableError, match=r"kana_e100\.pth.*is not read"):
        convert(folder, tmp_path / "tree")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "a\0b"])
def test_a_name_that_is_no_folder_name_is_refused(voice: Path, tmp_path: Path, name: str):
    with pytest.raises(VoiceNotAvailableError, match="cannot be the name of a voice"):
        convert(voice, tmp_path / "tree", name=name)


def test_reports_say_when_they_are_not_good():
    assert not VoiceReport("a", 2e-4, True, 1.0).good
    assert not VoiceReport("a", 0.0, False, 1.0).good
    assert not VoiceReport("a", float("nan"), True, 1.0).good
    assert not BertReport("int8", 0.99, 0.9, 5).good
    assert "different" in str(VoiceReport("a", 0.0, False, 1.0))


def test_a_graph_holds_only_what_its_outputs_need():
    g = GraphBuilder()
    kept = g.node("Add", "x", g.weight("used", np.ones(2, np.float32)))
    g.node("Mul", "x", g.weight("idle", np.ones(2, np.float32)))
    g.node("Identity", kept, output="y")
    model = g.model("test", [floats("x", 2)], [floats("y", 2)], 17)
    assert [node.op_type for node in model.graph.node] == ["Add", "Identity"]
    assert [tensor.name for tensor in model.graph.initializer] == ["used"]
