"""Weight files: other sizes, and what is wrong with a file in one sentence."""

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from safetensors.torch import save_file

from benchmarks.random_voice import VoiceSizes, voice_tensors
from engine.errors import VoiceNotAvailableError
from engine.voices.style_bert_vits2.pytorch.network.sizes import DecoderStrides
from engine.voices.style_bert_vits2.pytorch.network.synthesizer import frames_of
from engine.voices.style_bert_vits2.pytorch.network.weights import build_synthesizer, load_synthesizer

SMALL = VoiceSizes(hidden=24, filter=40, heads=3, layers=4, speaker=20, bert=36, decoder=64, speakers=2, flow_layers=1)
OTHER_STRIDES = VoiceSizes(
    hidden=32,
    filter=48,
    heads=4,
    layers=3,
    speaker=16,
    bert=32,
    decoder=32,
    flow_layers=3,
    upsample_rates=(10, 8, 2, 2),
    upsample_kernels=(20, 16, 4, 4),
)


def tensors(sizes: VoiceSizes = SMALL) -> dict[str, torch.Tensor]:
    return {key: torch.from_numpy(value) for key, value in voice_tensors(sizes, seed=3).items()}


def speak(network, sizes: VoiceSizes, symbols: int = 15) -> torch.Tensor:
    ids = torch.ones(1, symbols, dtype=torch.int64)
    bert, style = torch.randn(1, sizes.bert, symbols), torch.randn(1, 256)
    encoded = network.encode(ids, ids, ids, bert, style, torch.tensor([sizes.speakers - 1]))
    frames = frames_of(network.log_durations(encoded, torch.randn(1, 2, symbols), 0.5), 1.0)[0].long()
    latent = network.latent(encoded, frames, torch.randn(1, sizes.hidden, int(frames.sum())))
    return network.decode(latent, encoded.speaker)


@pytest.mark.parametrize("sizes", [SMALL, OTHER_STRIDES])
def test_models_of_other_sizes_speak(sizes: VoiceSizes):
    network = build_synthesizer(tensors(sizes), DecoderStrides(upsample_rates=sizes.upsample_rates))
    audio = speak(network, sizes)
    assert audio.shape[2] % np.prod(sizes.upsample_rates) == 0
    assert 0.001 < float(audio.std()) < 0.9


def test_sizes_are_read_from_the_tensors():
    network = build_synthesizer(tensors())
    assert network.text_encoder.encoder.attn_layers[0].heads == 3
    assert len(network.text_encoder.encoder.attn_layers) == 4
    assert len(network.flow.flows["0"].enc.attn_layers) == 1
    assert network.speaker_embedding.num_embeddings == 2


def test_training_only_tensors_are_left_out():
    kept = set(build_synthesizer(tensors()).state_dict())
    assert not [key for key in kept if "post_" in key or "flows.1." in key or "enc_q" in key]
    assert not [key for key in kept if key.endswith(("weight_g", "weight_v"))]


def test_a_file_in_half_precision_is_computed_in_single():
    network = build_synthesizer({key: value.half() for key, value in tensors().items()})
    assert {parameter.dtype for parameter in network.parameters()} == {torch.float32}


@pytest.mark.parametrize(
    ("key", "named"),
    [
        ("emb_g.weight", "emb_g.weight is missing"),
        ("enc_p.encoder.attn_layers.0.emb_rel_k", "emb_rel_k is missing"),
        ("dec.ups.0.weight_g", "dec.ups.0.weight_g is missing"),
        ("sdp.flows.0.m", "sdp.flows.0.m is missing"),
        ("flow.flows.4.pre.bias", "flow.flows.4.pre.bias is missing"),
        ("dec.conv_post.weight", "dec.conv_post.weight is missing"),
    ],
)
def test_a_missing_tensor_is_named(key: str, named: str):
    broken = tensors()
    del broken[key]
    with pytest.raises(VoiceNotAvailableError, match=named):
        build_synthesizer(broken)


def test_a_tensor_of_a_wrong_shape_is_named_with_both_shapes():
    broken = tensors() | {"enc_p.proj.bias": torch.zeros(5)}
    with pytest.raises(VoiceNotAvailableError, match=r"enc_p\.proj\.bias has the shape \[5\] where \[48\]"):
        build_synthesizer(broken)


def test_values_that_are_not_finite_are_refused():
    broken = tensors() | {"dp.proj.bias": torch.tensor([float("nan")])}
    with pytest.raises(VoiceNotAvailableError, match=r"dp\.proj\.bias holds values that are not finite"):
        build_synthesizer(broken)


def test_a_tensor_that_the_network_does_not_have_is_refused():
    with pytest.raises(VoiceNotAvailableError, match=r"dec\.more\.weight is not part of a JP-Extra network"):
        build_synthesizer(tensors() | {"dec.more.weight": torch.zeros(1)})


def test_strides_that_do_not_fit_are_refused():
    with pytest.raises(VoiceNotAvailableError, match="5 upsampling stages"):
        build_synthesizer(tensors(), DecoderStrides(upsample_rates=(8, 8, 8)))


def test_another_kind_of_decoder_is_refused():
    other = {key.replace(".convs1.", ".convs."): value for key, value in tensors().items() if ".convs2." not in key}
    with pytest.raises(VoiceNotAvailableError, match="residual blocks of type 2"):
        build_synthesizer(other)


def test_a_discriminator_or_another_model_is_refused():
    with pytest.raises(VoiceNotAvailableError, match="not a Style-Bert-VITS2 JP-Extra model"):
        build_synthesizer({"discriminators.0.weight": torch.zeros(1)})


def test_a_truncated_file_is_one_sentence(tmp_path: Path):
    path = tmp_path / "voice.safetensors"
    save_file({"a": torch.zeros(100)}, path)
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(VoiceNotAvailableError, match="cannot be read as safetensors"):
        load_synthesizer(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(VoiceNotAvailableError, match=r"no model file at .*voice\.safetensors"):
        load_synthesizer(tmp_path / "voice.safetensors")


def test_an_error_names_the_file(tmp_path: Path):
    path = tmp_path / "voice.safetensors"
    save_file({"a": torch.zeros(1)}, path)
    with pytest.raises(VoiceNotAvailableError, match=r"voice\.safetensors: the tensor"):
        load_synthesizer(path)
