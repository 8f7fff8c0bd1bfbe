"""Random voices in the real formats and sizes, for measuring without anybody's voice.

    python benchmarks/random_voice.py FOLDER [--seed 1] [--vocabulary vocab.txt]

writes FOLDER/voice (config.json, style_vectors.npy, voice_e100_s10000.safetensors: 62.76 M parameters, as
Style-Bert-VITS2 JP-Extra has it) and FOLDER/bert (config.json, vocab.txt, model.safetensors: 24 layers, hidden 1024, as
ku-nlp/deberta-v2-large-japanese-char-wwm has it; float16). What they say is noise, but of the length and the level of
speech: 5 to 7 frames a phoneme. The same seed gives the same files.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

Floats = npt.NDArray[np.floating[Any]]

STYLES = ("Neutral", "Happy", "Sad", "Angry")
FRAMES_A_SYMBOL = 2.9  # every second symbol is a blank: 5.8 frames a phoneme


@dataclass(frozen=True)
class VoiceSizes:
    """Sizes of a voice; the defaults are those of JP-Extra."""

    hidden: int = 192
    filter: int = 768
    heads: int = 2
    layers: int = 6
    speaker: int = 512
    bert: int = 1024
    decoder: int = 512
    speakers: int = 1
    flow_layers: int = 6
    upsample_rates: tuple[int, ...] = (8, 8, 2, 2, 2)
    upsample_kernels: tuple[int, ...] = (16, 16, 8, 2, 2)


@dataclass(frozen=True)
class BertSizes:
    """Sizes of a BERT; the defaults are those of deberta-v2-large-japanese-char-wwm."""

    hidden: int = 1024
    filter: int = 4096
    heads: int = 16
    layers: int = 24
    vocabulary: int = 22012


class _Tensors:
    """Collects random tensors by key."""

    def __init__(self, seed: int) -> None:
        self.all: dict[str, Floats] = {}
        self._random = np.random.default_rng(seed)

    def normal(self, key: str, *shape: int, std: float = 1.0, mean: float = 0.0) -> None:
        values = self._random.standard_normal(shape, np.float32) * np.float32(std) + np.float32(mean)
        self.all[key] = values.astype(np.float32, copy=False)

    def linear(self, key: str, *shape: int, gain: float = 1.0, bias: bool = True) -> None:
        """A weight whose output is about ``gain`` times as strong as its input."""
        self.normal(f"{key}.weight", *shape, std=gain / math.sqrt(math.prod(shape[1:])))
        if bias:
            self.normal(f"{key}.bias", shape[0], std=0.01)

    def weight_norm(self, key: str, *shape: int, gain: float, fan_in: float, out: int) -> None:
        self.normal(f"{key}.weight_v", *shape, std=gain / math.sqrt(fan_in))
        norm = np.sqrt((self.all[f"{key}.weight_v"] ** 2).sum(axis=tuple(range(1, len(shape))), keepdims=True))
        self.all[f"{key}.weight_g"] = norm * self._random.uniform(0.9, 1.1, norm.shape).astype(np.float32)
        self.normal(f"{key}.bias", out, std=0.01)

    def norm(
        self, key: str, channels: int, names: tuple[str, str] = ("gamma", "beta"), dtype: Any = np.float32
    ) -> None:
        self.all[f"{key}.{names[0]}"] = self._random.uniform(0.5, 1.5, channels).astype(dtype)
        self.normal(f"{key}.{names[1]}", channels, std=0.05)


def voice_tensors(sizes: VoiceSizes, seed: int) -> dict[str, Floats]:
    """Tensors of a voice, by the keys of a Style-Bert-VITS2 JP-Extra file."""
    t, h, g = _Tensors(seed), sizes.hidden, sizes.speaker
    t.all["iteration"] = np.array([10000], np.float32)
    t.normal("emb_g.weight", sizes.speakers, g)
    for key, rows in (("emb", 112), ("tone_emb", 12), ("language_emb", 3)):
        t.normal(f"enc_p.{key}.weight", rows, h, std=h**-0.5)
    t.linear("enc_p.bert_proj", h, sizes.bert, 1, gain=0.1)
    t.linear("enc_p.style_proj", h, 256, gain=0.3)
    _encoder(t, "enc_p.encoder", sizes, sizes.layers, kernel=3)
    t.linear("enc_p.proj", 2 * h, h, 1)
    t.all["enc_p.proj.weight"][h:] *= 0.2  # deviations of the prior near 1
    for flow in range(0, 8, 2):
        t.linear(f"flow.flows.{flow}.pre", h, h // 2, 1)
        _encoder(t, f"flow.flows.{flow}.enc", sizes, sizes.flow_layers, kernel=5)
        t.linear(f"flow.flows.{flow}.post", h // 2, h, 1, gain=0.3)
    _durations(t, sizes)
    _decoder(t, sizes)
    return t.all


def _encoder(t: _Tensors, key: str, sizes: VoiceSizes, layers: int, kernel: int) -> None:
    h = sizes.hidden
    t.linear(f"{key}.spk_emb_linear", h, sizes.speaker, gain=0.3)
    for layer in range(layers):
        for part, gain in (("q", 1.0), ("k", 1.0), ("v", 1.0), ("o", 0.3)):  # layers change a symbol, not replace it
            t.linear(f"{key}.attn_layers.{layer}.conv_{part}", h, h, 1, gain=gain)
        for part in "kv":
            t.normal(
                f"{key}.attn_layers.{layer}.emb_rel_{part}", 1, 9, h // sizes.heads, std=(h // sizes.heads) ** -0.5
            )
        t.linear(f"{key}.ffn_layers.{layer}.conv_1", sizes.filter, h, kernel)
        t.linear(f"{key}.ffn_layers.{layer}.conv_2", h, sizes.filter, kernel, gain=0.3)
        t.norm(f"{key}.norm_layers_1.{layer}", h)
        t.norm(f"{key}.norm_layers_2.{layer}", h)


def _durations(t: _Tensors, sizes: VoiceSizes) -> None:
    h, g = sizes.hidden, sizes.speaker
    target = math.log(FRAMES_A_SYMBOL - 0.5)  # frames are rounded up
    t.linear("dp.cond", h, g, 1, gain=0.1)
    t.linear("dp.conv_1", 256, h, 3)
    t.norm("dp.norm_1", 256)
    t.linear("dp.conv_2", 256, 256, 3)
    t.norm("dp.norm_2", 256)
    t.linear("dp.proj", 1, 256, 1, gain=0.1)
    t.all["dp.proj.bias"][:] = target
    for prefix in ("", "post_"):
        t.linear(f"sdp.{prefix}pre", h, 1 if prefix else h, 1)
        t.linear(f"sdp.{prefix}proj", h, h, 1)
        _separable(t, f"sdp.{prefix}convs", h)
        flows = f"sdp.{prefix}flows"
        # the inverse is (x - m) exp(-logs): noise of deviation 0.8 becomes 0.4 around the target
        t.all[f"{flows}.0.logs"] = np.full((2, 1), math.log(2.0), np.float32)
        t.all[f"{flows}.0.m"] = np.full((2, 1), -2.0 * target, np.float32)
        for flow in (1, 3, 5, 7):
            t.linear(f"{flows}.{flow}.pre", h, 1, 1)
            _separable(t, f"{flows}.{flow}.convs", h)
            t.linear(f"{flows}.{flow}.proj", 29, h, 1, gain=0.2)
    t.linear("sdp.cond", h, g, 1, gain=0.3)


def _separable(t: _Tensors, key: str, channels: int) -> None:
    for layer in range(3):
        t.linear(f"{key}.convs_sep.{layer}", channels, 1, 3)
        t.linear(f"{key}.convs_1x1.{layer}", channels, channels, 1)
        t.norm(f"{key}.norms_1.{layer}", channels)
        t.norm(f"{key}.norms_2.{layer}", channels)


def _decoder(t: _Tensors, sizes: VoiceSizes) -> None:
    channels = sizes.decoder
    t.linear("dec.conv_pre", channels, sizes.hidden, 7)
    t.linear("dec.cond", channels, sizes.speaker, 1, gain=0.3)
    for stage, (rate, kernel) in enumerate(zip(sizes.upsample_rates, sizes.upsample_kernels, strict=True)):
        out = channels // 2
        fan_in = channels * kernel / rate
        t.weight_norm(f"dec.ups.{stage}", channels, out, kernel, gain=1.3, fan_in=fan_in, out=out)
        channels = out
        for block, width in enumerate((3, 7, 11)):
            for convs, gain in (("convs1", 1.4), ("convs2", 0.5)):
                for index in range(3):
                    key = f"dec.resblocks.{3 * stage + block}.{convs}.{index}"
                    t.weight_norm(key, channels, channels, width, gain=gain, fan_in=channels * width, out=channels)
    t.linear("dec.conv_post", 1, channels, 7, gain=0.25, bias=False)


def write_voice(folder: Path, sizes: VoiceSizes | None = None, seed: int = 1) -> Path:
    """Write a voice as users have it and return the path of its weights."""
    sizes = sizes or VoiceSizes()
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "model_name": folder.name,
        "version": "2.7.0-JP-Extra",
        "data": {
            "use_jp_extra": True,
            "sampling_rate": 44100,
            "hop_length": math.prod(sizes.upsample_rates),
            "add_blank": True,
            "n_speakers": sizes.speakers,
            "spk2id": {f"speaker_{index}": index for index in range(sizes.speakers)},
            "num_styles": len(STYLES),
            "style2id": {style: index for index, style in enumerate(STYLES)},
        },
        "model": {
            "inter_channels": sizes.hidden,
            "hidden_channels": sizes.hidden,
            "filter_channels": sizes.filter,
            "n_heads": sizes.heads,
            "n_layers": sizes.layers,
            "resblock": "1",
            "resblock_kernel_sizes": [3, 7, 11],
            "resblock_dilation_sizes": [[1, 3, 5]] * 3,
            "upsample_rates": list(sizes.upsample_rates),
            "upsample_initial_channel": sizes.decoder,
            "upsample_kernel_sizes": list(sizes.upsample_kernels),
            "gin_channels": sizes.speaker,
        },
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    styles = np.random.default_rng(seed + 1).standard_normal((len(STYLES), 256)).astype(np.float32)
    np.save(folder / "style_vectors.npy", styles)
    path = folder / f"{folder.name}_e100_s10000.safetensors"
    save_file(voice_tensors(sizes, seed), path)
    return path


def bert_tensors(sizes: BertSizes, seed: int) -> Iterable[tuple[str, Floats]]:
    """Tensors of a BERT one by one in float16, by the keys of a DebertaV2ForMaskedLM."""
    h, names = sizes.hidden, ("weight", "bias")

    def drained(t: _Tensors) -> Iterable[tuple[str, Floats]]:
        for key, tensor in t.all.items():
            yield f"deberta.{key}", tensor.astype(np.float16)
        t.all.clear()

    t = _Tensors(seed)
    t.normal("embeddings.word_embeddings.weight", sizes.vocabulary, h, std=0.05)
    t.norm("embeddings.LayerNorm", h, names)
    t.normal("encoder.rel_embeddings.weight", 512, h, std=0.05)
    t.norm("encoder.LayerNorm", h, names)
    t.linear("encoder.conv.conv", h, h, 3)
    t.norm("encoder.conv.LayerNorm", h, names)
    yield from drained(t)
    for layer in range(sizes.layers):
        key = f"encoder.layer.{layer}"
        for part in ("query", "key", "value"):
            t.linear(f"{key}.attention.self.{part}_proj", h, h)
        t.linear(f"{key}.attention.output.dense", h, h)
        t.norm(f"{key}.attention.output.LayerNorm", h, names)
        t.linear(f"{key}.intermediate.dense", sizes.filter, h)
        t.linear(f"{key}.output.dense", h, sizes.filter)
        t.norm(f"{key}.output.LayerNorm", h, names)
        yield from drained(t)


def random_vocabulary(size: int) -> list[str]:
    """Special tokens, then the characters of Japanese texts, one a line."""
    ranges: Sequence[tuple[int, int]] = ((0x21, 0x7F), (0x3001, 0x3400), (0x4E00, 0xA000), (0xAC00, 0xD7A4))
    characters = (chr(code) for low, high in ranges for code in range(low, high))
    tokens = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]", "▁", *characters]
    return tokens[:size]


def bert_config(sizes: BertSizes) -> dict[str, Any]:
    """config.json of a BERT."""
    return {
        "architectures": ["DebertaV2ForMaskedLM"],
        "model_type": "deberta-v2",
        "attention_head_size": sizes.hidden // sizes.heads,
        "conv_act": "gelu",
        "conv_kernel_size": 3,
        "hidden_act": "gelu",
        "hidden_size": sizes.hidden,
        "intermediate_size": sizes.filter,
        "layer_norm_eps": 1e-07,
        "max_position_embeddings": 512,
        "max_relative_positions": -1,
        "norm_rel_ebd": "layer_norm",
        "num_attention_heads": sizes.heads,
        "num_hidden_layers": sizes.layers,
        "pad_token_id": 0,
        "pos_att_type": ["p2c", "c2p"],
        "position_biased_input": False,
        "position_buckets": 256,
        "relative_attention": True,
        "share_att_key": True,
        "torch_dtype": "float16",
        "type_vocab_size": 0,
        "vocab_size": sizes.vocabulary,
    }


def write_bert(folder: Path, sizes: BertSizes | None = None, seed: int = 1, vocabulary: Path | None = None) -> Path:
    """Write a BERT in the format of transformers and return the path of its weights."""
    sizes = sizes or BertSizes()
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = {
        "tokenizer_class": "BertJapaneseTokenizer",
        "word_tokenizer_type": "basic",
        "subword_tokenizer_type": "character",
        "do_word_tokenize": True,
        "do_subword_tokenize": True,
        "do_lower_case": False,
    }
    special = {
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "unk_token": "[UNK]",
        "pad_token": "[PAD]",
        "mask_token": "[MASK]",
    }
    for name, content in (
        ("config.json", bert_config(sizes)),
        ("tokenizer_config.json", tokenizer | special),
        ("special_tokens_map.json", special),
    ):
        (folder / name).write_text(json.dumps(content, indent=2), encoding="utf-8")
    if vocabulary is not None:
        text = vocabulary.read_text("utf-8")
    else:
        text = "".join(f"{token}\n" for token in random_vocabulary(sizes.vocabulary))
    (folder / "vocab.txt").write_text(text, encoding="utf-8")
    path = folder / "model.safetensors"
    save_file(dict(bert_tensors(sizes, seed)), path)
    return path


def main(arguments: Sequence[str]) -> int:
    """Write a full-size voice and BERT and say what they are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--vocabulary", type=Path, help="a vocab.txt to use instead of a generated one")
    options = parser.parse_args(arguments)
    for path in (
        write_voice(options.folder / "voice", seed=options.seed),
        write_bert(options.folder / "bert", seed=options.seed, vocabulary=options.vocabulary),
    ):
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
