"""The BERT of JP-Extra models as an int8 ONNX graph, put together by hand so that nothing idle is in it.

What makes it small and quick:

- The last two layers and the language-model head are left out: the feature is hidden_states[-3].
- Linear layers are int8 with one scale an output channel; activations are quantised when they are known
  (DynamicQuantizeLinear, MatMulInteger: ONNX Runtime fuses the pattern). Query, key and value are one product.
- Embeddings are int8 with one scale a row: a Gather of bytes, then one multiplication.
- Keys and queries of relative positions depend on the weights alone. They are kept as int8 tables of 512 rows, of
  which a text of L tokens gathers 2 L: neither float32 tables on disk nor products for 512 positions at run time.
- The scores of relative positions reach their place by reshaping instead of by index tensors of size L² a head.

Disentangled attention: He, Liu, Gao, Chen 2021, "DeBERTa", arXiv:2006.03654, section 3.1; log buckets as in its
version 2. Scores are (Qc·Kc + Qc·Kr(q-k) + Kc·Qr(q-k)) / sqrt(3 d).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from engine.audio import Samples
from engine.errors import VoiceNotAvailableError
from engine.voices.style_bert_vits2.conversion.export_graph import RUNTIME_DOMAIN, Array, GraphBuilder, floats, integers

OPSET = 17

_BLOCK = 32

_EXPECTED = {
    "relative_attention": True,
    "share_att_key": True,
    "position_biased_input": False,
    "type_vocab_size": 0,
    "norm_rel_ebd": "layer_norm",
    "hidden_act": "gelu",
    "conv_act": "gelu",
}


@dataclass(frozen=True, slots=True)
class BertSizes:
    """Sizes of a DeBERTa v2.

    Attributes:
        layers: that make the feature, the last two of the model left out.
        hidden: channels D.
        heads: attention heads.
        buckets: of relative positions on each side.
        max_positions: distance at which the last bucket begins to stand for all.
        kernel: of the convolution beside the first layer.
        epsilon: of the layer normalisations.
    """

    layers: int
    hidden: int
    heads: int
    buckets: int
    max_positions: int
    kernel: int
    epsilon: float

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> BertSizes:
        """Read ``config.json`` of the model, with the layer count of the features.

        Raises:
            VoiceNotAvailableError: it is a DeBERTa of another make than the one that JP-Extra models use.
        """
        found = {key: config.get(key) for key in _EXPECTED}
        kinds = config.get("pos_att_type") or []
        if found != _EXPECTED or sorted(kinds if isinstance(kinds, list) else kinds.split("|")) != ["c2p", "p2c"]:
            wrong = next((key for key in _EXPECTED if found[key] != _EXPECTED[key]), "pos_att_type")
            message = (
                f"config.json of the BERT says {wrong} {config.get(wrong)!r}; only BERTs of the make of "
                "ku-nlp/deberta-v2-large-japanese-char-wwm can be converted"
            )
            raise VoiceNotAvailableError(message)
        limit = int(config.get("max_relative_positions", -1))
        return cls(
            layers=int(config["num_hidden_layers"]),
            hidden=int(config["hidden_size"]),
            heads=int(config["num_attention_heads"]),
            buckets=int(config["position_buckets"]),
            max_positions=limit if limit > 0 else int(config["max_position_embeddings"]),
            kernel=int(config["conv_kernel_size"]),
            epsilon=float(config["layer_norm_eps"]),
        )


class Precision(Enum):
    """How the linear layers are quantised.

    CHANNELS: weights by output channel, activations by tensor, in operators of standard ONNX. The quickest.
    BLOCKS: both by blocks of 32 along the sum (MatMulNBits of ONNX Runtime 1.22 and later): for weights whose
    activations have outliers that one step for all would drown; a tenth larger and a third slower.
    """

    CHANNELS = "int8 by channels"
    BLOCKS = "int8 by blocks"


def bert_graph(sizes: BertSizes, weights: Mapping[str, Samples], precision: Precision) -> onnx.ModelProto:
    """Build the graph.

    Inputs input_ids and attention_mask, int64 [batch, seq]; output hidden_states, float32 [batch, seq, D].

    Args:
        sizes: of the model.
        weights: float32, by the keys of the weight file without ``deberta.``.
        precision: of the linear layers.
    """
    return _Bert(sizes, weights, precision).model()


def distance_rows(buckets: int, max_positions: int) -> npt.NDArray[np.int64]:
    """Row of the relative embeddings for each distance q - k from -max_positions to max_positions - 1.

    Distances up to half the buckets have a row each, farther ones share rows that widen with the logarithm.
    The computation is in float32, as in training: at the edges of buckets its rounding decides.
    """
    distances = np.arange(-max_positions, max_positions)
    middle = buckets // 2
    far = np.maximum(np.abs(distances), middle).astype(np.float32) / np.float32(middle)
    widest = np.float32(math.log((max_positions - 1) / middle))
    shared = np.ceil(np.log(far) / widest * np.float32(middle - 1)) + middle
    bucket = np.where(np.abs(distances) <= middle, distances, shared * np.sign(distances))
    rows: npt.NDArray[np.int64] = np.clip(bucket + buckets, 0, 2 * buckets - 1).astype(np.int64)
    return rows


def quantised_rows(table: Samples) -> tuple[Array, Samples]:
    """Symmetric int8 with one scale a row: [N, D] to int8 [N, D] and float32 [N, 1]."""
    scale = np.maximum(np.abs(table).max(axis=1, keepdims=True) / 127.0, np.finfo(np.float32).tiny).astype(np.float32)
    return np.rint(table / scale).astype(np.int8), scale


class _Bert:
    def __init__(self, sizes: BertSizes, weights: Mapping[str, Samples], precision: Precision) -> None:
        self.sizes, self.weights, self.precision, self.graph = sizes, weights, precision, GraphBuilder()

    def model(self) -> onnx.ModelProto:
        g = self.graph
        mask = g.node("Cast", "attention_mask", to=onnx.TensorProto.FLOAT)
        token_mask = g.node("Unsqueeze", mask, g.ints(2))
        # 0 for tokens, a number that softmax turns into 0 for padding: [batch, 1, 1, seq]
        bias = g.node("Mul", g.node("Sub", mask, g.scalar(1.0)), g.scalar(1e9))
        bias = g.node("Unsqueeze", bias, g.ints(1, 2))
        self._distances()
        x = embedded = self._embeddings(token_mask)
        relative = self._relative_embeddings()
        for layer in range(self.sizes.layers):
            x = self._layer(layer, x, bias, relative)
            if layer == 0 and self.sizes.kernel:
                x = self._convolution(embedded, x, token_mask)
        g.node("Identity", x, output="hidden_states")
        return g.model(
            "bert",
            [integers("input_ids", "batch", "seq"), integers("attention_mask", "batch", "seq")],
            [floats("hidden_states", "batch", "seq", self.sizes.hidden)],
            OPSET,
        )

    def _distances(self) -> None:
        """Rows of the tables for the distances L - 1 … -L (``descending``) and 1 - L … L (``ascending``)."""
        g, limit = self.graph, self.sizes.max_positions
        table = g.weight("distance_rows", distance_rows(self.sizes.buckets, limit))
        self.length = g.node("Gather", g.node("Shape", "input_ids"), g.scalar(1, np.int64))
        one = g.scalar(1, np.int64)
        negative = g.node("Neg", self.length)
        for name, order in (
            ("ascending", g.node("Range", g.node("Sub", one, self.length), g.node("Add", self.length, one), one)),
            (
                "descending",
                g.node("Range", g.node("Sub", self.length, one), g.node("Sub", negative, one), g.scalar(-1, np.int64)),
            ),
        ):
            clipped = g.node("Clip", order, g.scalar(-limit, np.int64), g.scalar(limit - 1, np.int64))
            g.node("Gather", table, g.node("Add", clipped, g.scalar(limit, np.int64)), output=name)

    def _embeddings(self, token_mask: str) -> str:
        rows = self._table("embeddings.word", self.weights["embeddings.word_embeddings.weight"], "input_ids")
        return self.graph.node("Mul", self._norm(rows, "embeddings.LayerNorm"), token_mask)

    def _relative_embeddings(self) -> Samples:
        table = self.weights["encoder.rel_embeddings.weight"].astype(np.float64)
        centred = table - table.mean(axis=1, keepdims=True)
        normed = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + self.sizes.epsilon)
        scaled = normed * self.weights["encoder.LayerNorm.weight"] + self.weights["encoder.LayerNorm.bias"]
        normalised: Samples = scaled.astype(np.float32)
        return normalised

    def _layer(self, layer: int, x: str, bias: str, relative: Samples) -> str:
        g, key = self.graph, f"encoder.layer.{layer}."
        attended = self._linear(
            f"{key}attention.output.dense", self._attention(f"{key}attention.self.", x, bias, relative)
        )
        x = self._norm(g.node("Add", attended, x), f"{key}attention.output.LayerNorm")
        inner = self._gelu(self._linear(f"{key}intermediate.dense", x))
        return self._norm(g.node("Add", self._linear(f"{key}output.dense", inner), x), f"{key}output.LayerNorm")

    def _attention(self, key: str, x: str, bias: str, relative: Samples) -> str:
        g, heads = self.graph, self.sizes.heads
        weights = {name: self.weights[f"{key}{name}_proj.weight"] for name in ("query", "key", "value")}
        biases = {name: self.weights[f"{key}{name}_proj.bias"] for name in ("query", "key", "value")}
        width = weights["query"].shape[0]
        scale = np.float32(1.0 / math.sqrt(3.0 * (width // heads)))  # of the scores, taken into the queries
        weights["query"], biases["query"] = weights["query"] * scale, biases["query"] * scale
        product = self._product(
            f"{key}qkv", x, np.concatenate(list(weights.values())), np.concatenate(list(biases.values()))
        )
        query, keys, value = (
            g.node("Transpose", g.node("Reshape", part, g.ints(0, 0, heads, width // heads)), perm=[0, 2, 1, 3])
            for part in g.nodes_of("Split", product, g.ints(width, width, width), outputs=["", "", ""], axis=2)
        )
        distant_key = self._positions(f"{key}distant_key", relative @ weights["key"].T + biases["key"], "descending")
        distant_query = self._positions(
            f"{key}distant_query", relative @ weights["query"].T + biases["query"], "ascending"
        )
        by_key = self._by_distance(query, distant_key)
        by_query = g.node("Transpose", self._by_distance(keys, distant_query), perm=[0, 1, 3, 2])
        scores = g.node("MatMul", query, g.node("Transpose", keys, perm=[0, 1, 3, 2]))
        scores = g.node("Add", g.node("Add", g.node("Add", scores, by_key), by_query), bias)
        context = g.node("MatMul", g.node("Softmax", scores, axis=-1), value)
        return g.node("Reshape", g.node("Transpose", context, perm=[0, 2, 1, 3]), g.ints(0, 0, width))

    def _positions(self, name: str, table: Samples, rows: str) -> str:
        """Rows of a table of positions by head, transposed: [heads, d, 2 L]."""
        g, heads = self.graph, self.sizes.heads
        split = g.node("Reshape", self._table(name, table, rows), g.ints(0, heads, table.shape[1] // heads))
        return g.node("Transpose", split, perm=[1, 2, 0])

    def _by_distance(self, content: str, positions: str) -> str:
        """Scores of content rows with positions, moved to their columns: out[i, j] = full[i, j - i + L - 1].

        In the flat order full[i, j - i + L - 1] of rows of 2 L stands at i (2 L - 1) + j + L - 1: cut L - 1 off the
        front, and the same numbers are rows of 2 L - 1 of which the first L columns are wanted.
        """
        g = self.graph
        full = g.node("MatMul", content, positions)  # [batch, heads, L, 2 L]
        flat = g.node("Reshape", full, g.ints(0, 0, -1))
        one = g.ints(1)
        length = self._once("length_1", lambda: g.node("Unsqueeze", self.length, g.ints(0), output="length_1"))
        width = self._once("width_1", lambda: g.node("Sub", g.node("Add", length, length), one, output="width_1"))
        start = self._once("skew_start", lambda: g.node("Sub", length, one, output="skew_start"))
        end = self._once("skew_end", lambda: g.node("Add", start, g.node("Mul", length, width), output="skew_end"))
        shape = self._once(
            "skew_shape", lambda: g.node("Concat", g.ints(0), g.ints(0), length, width, axis=0, output="skew_shape")
        )
        rows = g.node("Reshape", g.node("Slice", flat, start, end, g.ints(2)), shape)
        return g.node("Slice", rows, g.ints(0), length, g.ints(3))

    def _once(self, name: str, make: Any) -> str:
        known = any(name in node.output for node in self.graph.nodes)
        return name if known else str(make())

    def _convolution(self, embedded: str, x: str, token_mask: str) -> str:
        """The convolution over the embeddings that is added to the first layer, as one product of shifted copies."""
        g, kernel = self.graph, self.sizes.kernel
        weight = self.weights["encoder.conv.conv.weight"]  # [out, in, kernel]
        side = kernel // 2
        padded = g.node("Pad", embedded, g.ints(0, side, 0, 0, side, 0))
        copies = [
            g.node(
                "Slice",
                padded,
                g.ints(shift),
                g.ints(shift - kernel + 1) if shift < kernel - 1 else g.ints(2**62),
                g.ints(1),
            )
            for shift in range(kernel)
        ]
        flat = weight.transpose(0, 2, 1).reshape(weight.shape[0], -1)
        out = self._product(
            "encoder.conv", g.node("Concat", *copies, axis=2), flat, self.weights["encoder.conv.conv.bias"]
        )
        activated = self._gelu(g.node("Mul", out, token_mask))
        return g.node("Mul", self._norm(g.node("Add", x, activated), "encoder.conv.LayerNorm"), token_mask)

    def _linear(self, key: str, x: str) -> str:
        return self._product(key, x, self.weights[f"{key}.weight"], self.weights[f"{key}.bias"])

    def _product(self, name: str, x: str, weight: Samples, bias: Samples) -> str:
        """X · weightᵀ + bias with int8 weights [out, in] and activations of 8 bits, quantised as they come."""
        g = self.graph
        if self.precision is Precision.BLOCKS:
            return self._blockwise(name, x, weight, bias)
        quantised, scale = quantised_rows(weight)
        bytes_, step, zero = g.nodes_of("DynamicQuantizeLinear", x, outputs=["", "", ""])
        whole = g.node("MatMulInteger", bytes_, g.weight(f"{name}.int8", quantised.T), zero)
        scales = g.node("Mul", step, g.weight(f"{name}.scale", scale[:, 0]))
        product = g.node("Mul", g.node("Cast", whole, to=onnx.TensorProto.FLOAT), scales)
        return g.node("Add", product, g.weight(f"{name}.bias", bias))

    def _blockwise(self, name: str, x: str, weight: Samples, bias: Samples) -> str:
        """The same with a scale for every block of inputs, for weights and activations alike."""
        g = self.graph
        outputs, inputs = weight.shape
        quantised, scale = quantised_rows(weight.reshape(-1, _BLOCK))
        biased = (quantised.astype(np.int16) + 128).astype(np.uint8).reshape(outputs, inputs // _BLOCK, _BLOCK)
        product = g.node(
            "MatMulNBits",
            x,
            g.weight(f"{name}.blocks", biased),
            g.weight(f"{name}.scale", scale.reshape(outputs, -1)),
            K=inputs,
            N=outputs,
            bits=8,
            block_size=_BLOCK,
            accuracy_level=4,  # activations are quantised to int8, by the same blocks
            domain=RUNTIME_DOMAIN,
        )
        return g.node("Add", product, g.weight(f"{name}.bias", bias))

    def _table(self, name: str, table: Samples, rows: str) -> str:
        """Rows of an int8 table as float32."""
        g = self.graph
        quantised, scale = quantised_rows(table)
        gathered = g.node(
            "Cast", g.node("Gather", g.weight(f"{name}.int8", quantised), rows), to=onnx.TensorProto.FLOAT
        )
        return g.node("Mul", gathered, g.node("Gather", g.weight(f"{name}.scale", scale), rows))

    def _norm(self, x: str, key: str) -> str:
        g = self.graph
        scale = g.weight(f"{key}.weight", self.weights[f"{key}.weight"])
        bias = g.weight(f"{key}.bias", self.weights[f"{key}.bias"])
        return g.node("LayerNormalization", x, scale, bias, axis=-1, epsilon=self.sizes.epsilon)

    def _gelu(self, x: str) -> str:
        g = self.graph
        erf = g.node("Erf", g.node("Div", x, g.scalar(math.sqrt(2.0))))
        return g.node("Mul", g.node("Mul", x, g.node("Add", erf, g.scalar(1.0))), g.scalar(0.5))
