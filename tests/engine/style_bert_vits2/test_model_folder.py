import json
from pathlib import Path

import numpy as np
import pytest

from engine.errors import UnknownStyleError, VoiceNotAvailableError
from engine.voices.style_bert_vits2.model_folder import StyleVectors, decoder_margin, read_config


def written(folder: Path, content: object) -> Path:
    (folder / "config.json").write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return folder


def test_missing_keys_take_defaults_and_unknown_ones_are_ignored(tmp_path: Path):
    config = read_config(written(tmp_path, {"version": "2.7.0-JP-Extra", "data": {"colour": "red"}}))
    assert (config.sample_rate, config.hop_length, config.add_blank, config.speakers) == (44100, 512, True, 1)
    assert dict(config.styles) == {"Neutral": 0}


def test_styles_stand_in_the_order_of_their_rows(tmp_path: Path):
    config = read_config(written(tmp_path, {"data": {"style2id": {"Sad": 2, "Neutral": 0, "Happy": 1}}}))
    assert list(config.styles) == ["Neutral", "Happy", "Sad"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({"version": "2.4.1"}, r"config\.json says version '2\.4\.1'; only models of Style-Bert-VITS2 JP-Extra"),
        ({"version": 2}, "says version 2; only"),
        ("{", "cannot be read .*; fetch the voice again"),
        ([], "holds no object 'data'"),
        ({"data": {"sampling_rate": "fast"}}, "data.sampling_rate 'fast'; a whole number from 8000"),
        ({"data": {"hop_length": True}}, "data.hop_length True; a whole number from 1"),
        ({"model": {"upsample_rates": 8}}, "does not describe a decoder in 'model'"),
        ({"data": {"style2id": {}}}, "data.style2id {}; names with their row numbers"),
        ({"data": {"style2id": {"Neutral": -1}}}, "names with their row numbers"),
    ],
)
def test_a_wrong_configuration_is_told_in_a_sentence(tmp_path: Path, content: object, sentence: str):
    with pytest.raises(VoiceNotAvailableError, match=sentence):
        read_config(written(tmp_path, content))


def test_a_folder_without_configuration_is_no_voice(tmp_path: Path):
    with pytest.raises(VoiceNotAvailableError, match=r"no Style-Bert-VITS2 voice: it has no config\.json"):
        read_config(tmp_path)


def test_a_style_lies_between_the_mean_and_beyond_its_row(tmp_path: Path):
    np.save(tmp_path / "style_vectors.npy", np.array([[1, 1], [3, 0]], np.float64))
    styles = StyleVectors(tmp_path, {"Neutral": 0, "Happy": 1})
    assert styles.vector(None, 1.0).tolist() == [1, 1]
    assert styles.vector("Neutral", 5.0).tolist() == [1, 1]
    assert styles.vector("Happy", 1.0).tolist() == [3, 0]
    assert styles.vector("Happy", 2.0).tolist() == [5, -1]
    assert styles.vector("Happy", 0.0).dtype == np.float32
    with pytest.raises(UnknownStyleError, match="no style 'Sad'; there are Neutral, Happy"):
        styles.vector("Sad", 1.0)


def test_missing_damaged_or_too_few_style_vectors(tmp_path: Path):
    with pytest.raises(VoiceNotAvailableError, match=r"it has no style_vectors\.npy"):
        StyleVectors(tmp_path, {"Neutral": 0})
    (tmp_path / "style_vectors.npy").write_bytes(b"no array")
    with pytest.raises(VoiceNotAvailableError, match=r"cannot be read .*; fetch the voice again"):
        StyleVectors(tmp_path, {"Neutral": 0})
    np.save(tmp_path / "style_vectors.npy", np.zeros((1, 256), np.float32))
    with pytest.raises(VoiceNotAvailableError, match=r"holds \(1, 256\); one row for each of the 3 styles"):
        StyleVectors(tmp_path, {"Neutral": 0, "Sad": 2})


def test_the_decoder_looks_14_frames_to_each_side():
    sizes = {"residual_kernels": (3, 7, 11), "dilations": ((1, 3, 5),) * 3}
    assert decoder_margin(rates=(8, 8, 2, 2, 2), kernels=(16, 16, 8, 2, 2), **sizes) == 14
    # 3 + (3 - 1)/2 · (1 + 1) / 4 + ((8 + 4)/2 - 1) / 4 + 3/4
    assert decoder_margin(rates=(4,), kernels=(8,), residual_kernels=(3,), dilations=((1,),)) == 6
