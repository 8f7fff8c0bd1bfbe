"""From a trained voice folder to the published layout, for machines without PyTorch.

    bert = Path("bert/deberta-v2-large-japanese-char-wwm")
    print(convert(Path("model_assets/my-voice"), Path("voices"), bert=bert))

``voices`` is then a source (``file:///…/voices``) with onnx/speakers/my-voice, onnx/bert/q8 and bert/tokenizer.
Whatever is written is first run beside the original and compared; what differs is not published.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from engine.errors import VoiceNotAvailableError
from engine.voices.style_bert_vits2.conversion.report import BertReport, ConversionReport, VoiceReport, file_sizes
from engine.voices.style_bert_vits2.model_folder import read_config
from engine.voices.style_bert_vits2.pytorch.install import require
from engine.voices.style_bert_vits2.text.tokenizer import CharacterTokenizer

SPEAKERS = "onnx/speakers"
BERT = "onnx/bert/q8"
TOKENIZER = "bert/tokenizer"

_BERT_GRAPH = "bert_q8.onnx"
_VOICE_FILES = ("config.json", "style_vectors.npy")
_TOKENIZER_FILES = (
    "vocab.txt",
    "config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "tokenizer.json",
)
_NAME = re.compile(r"[^/\\\0]+")


@dataclass(frozen=True, slots=True)
class _Place:
    """A finished folder and where it belongs."""

    made: Path
    target: Path


def convert(
    folder: Path,
    to: Path,
    *,
    bert: Path | None = None,
    name: str | None = None,
    on_step: Callable[[str], None] = lambda _: None,
) -> ConversionReport:
    """Convert a voice, and its BERT if one is given.

    Args:
        folder: of a trained voice: config.json, style_vectors.npy and ``*.safetensors``, of which the newest is taken.
        to: root of the tree of voices; made if need be. A voice or BERT of the same name in it is replaced, all others
            stay.
        bert: folder of ku-nlp/deberta-v2-large-japanese-char-wwm (config.json, vocab.txt, model.safetensors). Needed
            once for a tree; None leaves the tree's own as it is.
        name: of the voice in the tree; None takes the name of ``folder``.
        on_step: told what is done next, for who waits: seconds for some steps, a minute for others.

    Returns:
        What was written and how near to the original it is.

    Raises:
        VoiceNotAvailableError: a package or file is missing, a file is damaged, or what was made differs from the
            original. Nothing in ``to`` has changed then.
        OSError: ``to`` cannot be written.
    """
    require("a conversion", "torch", "transformers", "safetensors", "onnxscript", "onnx")
    started = time.perf_counter()
    on_step("reading the voice")
    folder = folder.expanduser().absolute()
    speaker = folder.name if name is None else name
    if not _NAME.fullmatch(speaker) or speaker in {".", ".."}:
        message = f"{speaker!r} cannot be the name of a voice, which is the name of a folder; give another one"
        raise VoiceNotAvailableError(message)
    read_config(folder)  # a wrong folder is told at once, not after the seconds that PyTorch takes to load
    with _work(to) as work:
        places = [_Place(work / "speaker", to / SPEAKERS / speaker)]
        voice = _convert_voice(folder, places[0].made, on_step)
        features = None
        if bert is not None:
            places += [_Place(work / "bert", to / BERT), _Place(work / "tokenizer", to / TOKENIZER)]
            on_step("reading BERT")
            features = _convert_bert(bert.expanduser().absolute(), places[1].made, places[2].made, on_step)
        for place in places:
            _publish(place, work)
    written = tuple(item for place in places for item in file_sizes(place.target, to))
    return ConversionReport(speaker, to, written, voice, features, time.perf_counter() - started)


def _convert_voice(folder: Path, target: Path, on_step: Callable[[str], None]) -> VoiceReport:
    from engine.voices.style_bert_vits2.conversion.check import check_voice  # noqa: PLC0415 - they import PyTorch
    from engine.voices.style_bert_vits2.conversion.export_synthesizer import export_synthesizer  # noqa: PLC0415
    from engine.voices.style_bert_vits2.pytorch.model import read_model  # noqa: PLC0415

    _, _, network, weights = read_model(folder)
    target.mkdir()
    on_step("exporting the voice")
    export_synthesizer(network, target)
    for file in _VOICE_FILES:
        shutil.copyfile(folder / file, target / file)
    on_step("comparing the voice with the original")
    return check_voice(network, target, weights.name)


def _convert_bert(folder: Path, target: Path, tokenizer: Path, on_step: Callable[[str], None]) -> BertReport:
    from engine.voices.style_bert_vits2.conversion.check import check_bert  # noqa: PLC0415
    from engine.voices.style_bert_vits2.conversion.export_bert import BertSizes, Precision, bert_graph  # noqa: PLC0415
    from engine.voices.style_bert_vits2.conversion.export_graph import save_models  # noqa: PLC0415
    from engine.voices.style_bert_vits2.pytorch.bert import TorchBert, read_bert  # noqa: PLC0415

    vocabulary = CharacterTokenizer.load(folder)
    read = read_bert(folder)
    sizes = BertSizes.of(read.config)
    weights = {key: tensor.numpy() for key, tensor in read.tensors.items()}
    original = TorchBert(read)
    report: BertReport | None = None
    for precision in Precision:
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        on_step(f"quantising BERT ({precision.value})")
        save_models({target / _BERT_GRAPH: bert_graph(sizes, weights, precision)}, target / f"{_BERT_GRAPH}.data")
        on_step("comparing BERT with the original")
        report = check_bert(original, target / _BERT_GRAPH, vocabulary, precision.value)
        if report.good:
            break
    if report is None or not report.good:
        message = (
            f"the BERT in {folder} loses too much by quantisation: {report}; "
            "check that model.safetensors is that of ku-nlp/deberta-v2-large-japanese-char-wwm"
        )
        raise VoiceNotAvailableError(message)
    tokenizer.mkdir()
    for file in _TOKENIZER_FILES:
        if (folder / file).is_file():
            shutil.copyfile(folder / file, tokenizer / file)
    return report


@contextmanager
def _work(root: Path) -> Iterator[Path]:
    """A folder on the disk of the tree, so that finished folders only have to be renamed."""
    root.mkdir(parents=True, exist_ok=True)
    work = root / f".convert.{uuid4().hex}.part"
    work.mkdir()
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _publish(place: _Place, work: Path) -> None:
    """Put a finished folder in its place; a former one is set aside first and brought back if that fails."""
    place.target.parent.mkdir(parents=True, exist_ok=True)
    former = work / f"former-{place.made.name}"
    if place.target.exists():
        place.target.rename(former)
    try:
        place.made.rename(place.target)
    except OSError:
        if former.exists():
            former.rename(place.target)
        raise
