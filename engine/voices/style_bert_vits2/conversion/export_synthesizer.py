"""The network of a voice as ONNX graphs that share one file of weights.

Two graphs keep the contract of published voices: ``synthesizer.onnx`` draws its noise by itself, and
``duration_predictor.onnx`` is its first part. Three graphs are for who wants to steer: ``encoder.onnx`` (text to prior
and durations), ``flow.onnx`` (prior to latent), ``decoder.onnx`` (latent to waveform, any stretch of frames) take all
noise as inputs, so that a seed determines the audio and the decoder can run in pieces.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import onnx
import torch
from torch import Tensor, nn

from engine.voices.style_bert_vits2.conversion.export_graph import GraphBuilder, floats, integers, save_models
from engine.voices.style_bert_vits2.pytorch.network.synthesizer import Synthesizer, frames_of

OPSET = 18

SYNTHESIZER = "synthesizer.onnx"
DURATION_PREDICTOR = "duration_predictor.onnx"
ENCODER = "encoder.onnx"
FLOW = "flow.onnx"
DECODER = "decoder.onnx"
WEIGHTS = "synthesizer.onnx.data"

_TEXT = {"x": 1, "tone": 1, "language": 1, "bert": 2}
"""Inputs with a column a symbol, and the axis of the columns."""


def export_synthesizer(network: Synthesizer, folder: Path) -> None:
    """Write the five graphs and their weights.

    Args:
        network: in evaluation mode, on the CPU.
        folder: must exist; files of the same names are overwritten.
    """
    text_encoder = network.text_encoder
    sizes = _Sizes(
        bert=text_encoder.bert_proj.in_channels,
        style=text_encoder.style_proj.in_features,
        speaker=network.speaker_embedding.embedding_dim,
        latent=text_encoder.latent,
    )
    parts = _exported_parts(network, sizes)
    models = {
        folder / ENCODER: _encoder(parts["encoder"], sizes),
        folder / FLOW: _flow(parts["flow"], sizes),
        folder / DECODER: _decoder(parts["decoder"], sizes),
        folder / DURATION_PREDICTOR: _published(parts, sizes, durations_only=True),
        folder / SYNTHESIZER: _published(parts, sizes, durations_only=False),
    }
    for model in models.values():
        onnx.checker.check_model(model)
    save_models(models, folder / WEIGHTS)


class _Sizes:
    """Channels of what goes in and out of the parts."""

    def __init__(self, *, bert: int, style: int, speaker: int, latent: int) -> None:
        self.bert, self.style, self.speaker, self.latent = bert, style, speaker, latent


class _EncoderPart(nn.Module):
    """Text to speaker embedding, prior and durations."""

    inputs = ("x", "tone", "language", "bert", "style_vec", "sid", "noise", "sdp_ratio", "length_scale")
    outputs = ("g", "mean", "log_deviation", "durations")

    def __init__(self, network: Synthesizer) -> None:
        super().__init__()
        self.network = network

    def forward(
        self,
        x: Tensor,
        tone: Tensor,
        language: Tensor,
        bert: Tensor,
        style_vec: Tensor,
        sid: Tensor,
        noise: Tensor,
        sdp_ratio: Tensor,
        length_scale: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        encoded = self.network.encode(x, tone, language, bert, style_vec, sid)
        durations = frames_of(self.network.log_durations(encoded, noise, sdp_ratio), length_scale)
        return encoded.speaker, encoded.mean, encoded.log_deviation, durations


def _exported_parts(network: Synthesizer, sizes: _Sizes) -> dict[str, onnx.ModelProto]:
    symbols, frames = 19, 23  # any lengths above 1: the exporter takes 0 and 1 for constants
    # three tensors, not one: the exporter makes one input of arguments that are the same object
    phones, tones, languages = (torch.zeros(1, symbols, dtype=torch.int64) for _ in range(3))
    text = (phones, tones, languages, torch.randn(1, sizes.bert, symbols))
    style, speaker_id = torch.randn(1, sizes.style), torch.zeros(1, dtype=torch.int64)
    controls = (torch.randn(1, 2, symbols), torch.ones(1), torch.ones(1))
    latent = (torch.randn(1, sizes.latent, frames), torch.randn(1, sizes.speaker, 1))
    encoder = _EncoderPart(network).eval()
    return {
        "encoder": _exported(
            encoder, (*text, style, speaker_id, *controls), encoder.inputs, encoder.outputs, _TEXT | {"noise": 2}
        ),
        "flow": _exported(network.flow, latent, ("z_p", "g"), ("z",), {"z_p": 2}),
        "decoder": _exported(network.decoder, latent, ("z", "g"), ("audio",), {"z": 2}),
    }


def _exported(
    part: nn.Module,
    arguments: tuple[Tensor, ...],
    inputs: Sequence[str],
    outputs: Sequence[str],
    dynamic: Mapping[str, int],
) -> onnx.ModelProto:
    length = torch.export.Dim("length", min=2)
    shapes = tuple({dynamic[name]: length} if name in dynamic else None for name in inputs)
    with _quiet():
        program = torch.onnx.export(
            part,
            arguments,
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_shapes=shapes,
            opset_version=OPSET,
            dynamo=True,
            verbose=False,
        )
    model: onnx.ModelProto = program.model_proto
    return model


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the exporter's talk about its own insides (deprecations, optional packages) from the user."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _encoder(part: onnx.ModelProto, sizes: _Sizes) -> onnx.ModelProto:
    g = GraphBuilder()
    noise = g.node("Mul", "noise_w", "noise_scale_w")
    g.inline(part, "encoder.", _same(*_EncoderPart.inputs, *_EncoderPart.outputs) | {"noise": noise})
    inputs = [
        *_text_inputs(sizes),
        floats("noise_w", 1, 2, "symbols"),
        *_scalars("noise_scale_w", "sdp_ratio", "length_scale"),
    ]
    prior = [floats(name, 1, sizes.latent, "symbols") for name in ("mean", "log_deviation")]
    outputs = [floats("g", 1, sizes.speaker, 1), *prior, floats("durations", 1, "symbols")]
    return g.model("encoder", inputs, outputs, OPSET)


def _flow(part: onnx.ModelProto, sizes: _Sizes) -> onnx.ModelProto:
    g = GraphBuilder()
    mean, deviation = _expanded(g)
    _prior(g, mean, deviation, "noise")
    g.inline(part, "flow.", _same("z_p", "g", "z"))
    inputs = [
        *(floats(name, 1, sizes.latent, "symbols") for name in ("mean", "log_deviation")),
        floats("durations", 1, "symbols"),
        floats("noise", 1, sizes.latent, "frames"),
        *_scalars("noise_scale"),
        floats("g", 1, sizes.speaker, 1),
    ]
    return g.model("flow", inputs, [floats("z", 1, sizes.latent, "frames")], OPSET)


def _decoder(part: onnx.ModelProto, sizes: _Sizes) -> onnx.ModelProto:
    g = GraphBuilder()
    g.inline(part, "decoder.", _same("z", "g", "audio"))
    inputs = [floats("z", 1, sizes.latent, "frames"), floats("g", 1, sizes.speaker, 1)]
    return g.model("decoder", inputs, [floats("audio", 1, 1, "samples")], OPSET)


def _published(parts: Mapping[str, onnx.ModelProto], sizes: _Sizes, *, durations_only: bool) -> onnx.ModelProto:
    """A graph of the published contract; the weights have the names that they have in the graphs of the parts."""
    g = GraphBuilder()
    # no padding inside: symbols beyond x_lengths are cut off before anything is computed
    text = {
        name: g.node("Slice", name, g.ints(0), "x_lengths", g.ints(axis), output=f"{name}_used")
        for name, axis in _TEXT.items()
    }
    symbols = g.node("Shape", text["x"], start=1)
    like = g.node("ConstantOfShape", g.node("Concat", g.ints(1), g.ints(2), symbols, axis=0))
    noise_w = g.node("RandomNormalLike", like, output="noise_w", dtype=onnx.TensorProto.FLOAT)
    noise = g.node("Mul", noise_w, "noise_scale_w")
    g.inline(parts["encoder"], "encoder.", _same(*_EncoderPart.inputs, *_EncoderPart.outputs) | text | {"noise": noise})
    durations = floats("durations", 1, "phone_len")
    inputs = [
        integers("x", 1, "phone_len"),
        integers("x_lengths", 1),
        integers("sid", 1),
        integers("tone", 1, "phone_len"),
        integers("language", 1, "phone_len"),
        floats("bert", 1, sizes.bert, "phone_len"),
        floats("style_vec", 1, sizes.style),
    ]
    if durations_only:
        controls = _scalars("length_scale", "noise_scale_w", "sdp_ratio")
        return g.model("duration_predictor", [*inputs, *controls], [durations], OPSET)
    mean, deviation = _expanded(g)
    prior_noise = g.node("RandomNormalLike", mean, output="noise", dtype=onnx.TensorProto.FLOAT)
    _prior(g, mean, deviation, prior_noise)
    g.inline(parts["flow"], "flow.", _same("z_p", "g", "z"))
    g.inline(parts["decoder"], "decoder.", _same("z", "g", "audio"))
    controls = _scalars("noise_scale", "length_scale", "noise_scale_w", "sdp_ratio")
    return g.model("synthesizer", [*inputs, *controls], [floats("audio", 1, 1, "audio_len"), durations], OPSET)


def _expanded(g: GraphBuilder) -> tuple[str, str]:
    """Mean and log deviation with each column as often as its symbol has frames.

    A 1 at the first frame of each symbol but the first, summed up, is the index of the symbol of each frame.
    """
    frames = g.node("Reshape", g.node("Cast", "durations", to=onnx.TensorProto.INT64), g.ints(-1))
    ends = g.node("CumSum", frames, g.scalar(0, np.int64))
    total = g.node("Slice", ends, g.ints(-1), g.ints(2**62), g.ints(0))
    starts = g.node("Slice", ends, g.ints(0), g.ints(-1), g.ints(0))
    zeros = g.node("ConstantOfShape", total, value=onnx.helper.make_tensor("zero", onnx.TensorProto.INT64, [1], [0]))
    ones = g.node(
        "ConstantOfShape",
        g.node("Shape", starts),
        value=onnx.helper.make_tensor("one", onnx.TensorProto.INT64, [1], [1]),
    )
    marks = g.node("ScatterElements", zeros, starts, ones, axis=0, reduction="add")
    symbol = g.node("CumSum", marks, g.scalar(0, np.int64))
    return g.node("Gather", "mean", symbol, axis=2), g.node("Gather", "log_deviation", symbol, axis=2)


def _prior(g: GraphBuilder, mean: str, log_deviation: str, noise: str) -> None:
    """The prior's sample: mean + noise · deviation · scale. Noise meets a value of its own length F first."""
    drawn = g.node("Mul", noise, g.node("Exp", log_deviation))
    g.node("Add", mean, g.node("Mul", drawn, "noise_scale"), output="z_p")


def _text_inputs(sizes: _Sizes) -> list[onnx.ValueInfoProto]:
    return [
        *(integers(name, 1, "symbols") for name in ("x", "tone", "language")),
        integers("sid", 1),
        floats("bert", 1, sizes.bert, "symbols"),
        floats("style_vec", 1, sizes.style),
    ]


def _scalars(*names: str) -> list[onnx.ValueInfoProto]:
    return [floats(name, 1) for name in names]


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}
