"""A small published tree of voices (random weights, the real formats): what a neural speaker's source is."""

from __future__ import annotations

import json
import lzma
import shutil
from pathlib import Path

import numpy as np

VOICE = "rand-tiny"
STYLES = ("Neutral", "Happy", "Sad")

_DATA = Path(__file__).parents[1] / "engine" / "style_bert_vits2" / "data"


def unpack_published(root: Path) -> Path:
    """Put the tree into a folder and return it."""
    shutil.copytree(_DATA / "published", root, dirs_exist_ok=True)
    for packed in root.rglob("*.xz"):
        packed.with_suffix("").write_bytes(lzma.decompress(packed.read_bytes()))
        packed.unlink()
    return root


def add_pytorch(tree: Path) -> Path:
    """Give a tree the part that is for PyTorch, of the same weights; returns it. Needs safetensors."""
    write_trained_voice(tree, tree / "pytorch" / "speakers" / VOICE)
    write_trained_bert(tree, tree / "pytorch" / "bert" / "fp32")
    return tree


def write_trained_voice(tree: Path, folder: Path) -> Path:
    """The folder that training would have left, of the weights that the published graph was made of."""
    from safetensors.numpy import save_file

    graph = tree / "onnx" / "speakers" / VOICE / "synthesizer.onnx"
    folder.mkdir(parents=True)
    for name in ("config.json", "style_vectors.npy"):
        shutil.copy(graph.parent / name, folder / name)
    tensors = _tensors_of(graph, "n.")
    rest = np.load(_DATA / "trained" / "voice.npz")
    for key in rest.files:
        if key.endswith(".weight_norm"):  # g · v / |v| is what the graph has
            base = key.removesuffix("_norm")
            tensors[f"{base}_v"] = tensors.pop(base) / rest[f"{base}_g"] * rest[key]
        else:
            tensors[key] = rest[key]
    save_file({key: np.ascontiguousarray(value) for key, value in tensors.items()}, folder / f"{VOICE}.safetensors")
    return folder


def write_trained_bert(tree: Path, folder: Path) -> Path:
    """A BERT as transformers writes it; its last two layers, which no feature needs, are not there."""
    from safetensors.numpy import save_file

    from benchmarks.random_voice import BertSizes, bert_config

    folder.mkdir(parents=True)
    tensors = _tensors_of(tree / "onnx" / "bert" / "q8" / "bert_q8.onnx", "m.")
    tensors |= dict(np.load(_DATA / "trained" / "bert.npz"))
    sizes = BertSizes(hidden=64, filter=128, heads=2, layers=4, vocabulary=3600)
    (folder / "config.json").write_text(json.dumps(bert_config(sizes)), "utf-8")
    save_file(
        {key: np.ascontiguousarray(value, np.float16) for key, value in tensors.items() if key.startswith("deberta.")},
        folder / "model.safetensors",
    )
    return folder


def _tensors_of(graph: Path, prefix: str) -> dict[str, np.ndarray]:
    import onnx

    tensors = onnx.load(graph).graph.initializer
    return {t.name.removeprefix(prefix): onnx.numpy_helper.to_array(t) for t in tensors if t.name.startswith(prefix)}
