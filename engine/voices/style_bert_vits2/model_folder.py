"""The folder of a voice: config.json, style_vectors.npy, and what must be true of them."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.errors import UnknownStyleError, VoiceNotAvailableError
from engine.voices.style_bert_vits2.backend import Floats

JP_EXTRA = "JP-Extra"


@dataclass(frozen=True, slots=True)
class VoiceConfig:
    """What speaking needs of config.json.

    Attributes:
        sample_rate: of the audio, in Hz.
        hop_length: samples a frame.
        add_blank: whether a blank stands between all symbols.
        speakers: how many speakers the model has.
        styles: id by name.
        margin: frames on each side of a frame that the decoder needs to see for it.
    """

    sample_rate: int
    hop_length: int
    add_blank: bool
    speakers: int
    styles: Mapping[str, int]
    margin: int


def read_config(folder: Path) -> VoiceConfig:
    """Read and check config.json; unknown keys are ignored, missing ones take the family's defaults.

    Raises:
        VoiceNotAvailableError: missing, not JSON, of another version than JP-Extra, or with impossible values.
    """
    path = folder / "config.json"
    try:
        content = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        message = f"{folder} is no Style-Bert-VITS2 voice: it has no config.json"
        raise VoiceNotAvailableError(message) from None
    except (OSError, ValueError) as error:
        message = f"{path} cannot be read ({error}); fetch the voice again"
        raise VoiceNotAvailableError(message) from error
    if not isinstance(content, dict) or not isinstance(data := content.get("data", {}), dict):
        message = f"{path} is not the configuration of a Style-Bert-VITS2 voice: it holds no object 'data'"
        raise VoiceNotAvailableError(message)
    version = content.get("version", JP_EXTRA)
    if not (isinstance(version, str) and version.endswith(JP_EXTRA)):
        message = f"{path} says version {version!r}; only models of Style-Bert-VITS2 {JP_EXTRA} can be used"
        raise VoiceNotAvailableError(message)
    return VoiceConfig(
        sample_rate=_whole(path, data, "sampling_rate", 44100, 8000),
        hop_length=_whole(path, data, "hop_length", 512, 1),
        add_blank=data.get("add_blank", True) is not False,
        speakers=_whole(path, data, "n_speakers", max(1, len(data.get("spk2id") or ())), 0) or 1,
        styles=_styles(path, data.get("style2id", {"Neutral": 0})),
        margin=_margin(path, content.get("model", {})),
    )


def _whole(path: Path, data: Mapping[str, Any], key: str, default: int, low: int) -> int:
    value = data.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        message = f"{path} says data.{key} {value!r}; a whole number from {low} is expected"
        raise VoiceNotAvailableError(message)
    return value


def _styles(path: Path, styles: object) -> dict[str, int]:
    good = (
        isinstance(styles, dict)
        and styles
        and all(isinstance(row, int) and not isinstance(row, bool) and row >= 0 for row in styles.values())
    )
    if not good or not isinstance(styles, dict):
        message = f"{path} says data.style2id {styles!r}; names with their row numbers are expected"
        raise VoiceNotAvailableError(message)
    return dict(sorted(styles.items(), key=lambda item: item[1]))


def _margin(path: Path, model: Any) -> int:
    try:
        return decoder_margin(
            rates=model.get("upsample_rates", (8, 8, 2, 2, 2)),
            kernels=model.get("upsample_kernel_sizes", (16, 16, 8, 2, 2)),
            residual_kernels=model.get("resblock_kernel_sizes", (3, 7, 11)),
            dilations=model.get("resblock_dilation_sizes", ((1, 3, 5),) * 3),
        )
    except (AttributeError, TypeError, ValueError, ZeroDivisionError) as error:
        message = f"{path} does not describe a decoder in 'model' ({error}); fetch the voice again"
        raise VoiceNotAvailableError(message) from error


def decoder_margin(
    *,
    rates: Sequence[int],
    kernels: Sequence[int],
    residual_kernels: Sequence[int],
    dilations: Sequence[Sequence[int]],
) -> int:
    """Frames on each side that a sample of a HiFi-GAN generator depends on (its receptive field).

    A convolution of kernel k and dilation d reaches d · (k - 1) / 2 to each side, a transposed one of stride s
    ((k + s) / 2 - 1) / s of its input; what comes after n-fold upsampling counts 1 / n.

    Args:
        rates: strides of the upsampling, stage by stage.
        kernels: kernels of the upsampling.
        residual_kernels: kernels of the parallel residual blocks, the same in each stage.
        dilations: of each residual block's convolutions; each is followed by one of dilation 1.
    """
    reach, upsampled = 3.0, 1  # the first convolution has kernel 7
    blocks = zip(residual_kernels, dilations, strict=True)
    residual = max(sum((kernel - 1) / 2 * (dilation + 1) for dilation in row) for kernel, row in blocks)
    for rate, kernel in zip(rates, kernels, strict=True):
        reach += ((kernel + rate) / 2 - 1) / rate / upsampled
        upsampled *= rate
        reach += residual / upsampled
    return math.ceil(reach + 3 / upsampled)  # so has the last


class StyleVectors:
    """The styles of a voice; row 0 is the mean of all, the neutral one."""

    def __init__(self, folder: Path, styles: Mapping[str, int]) -> None:
        path = folder / "style_vectors.npy"
        try:
            vectors = np.load(path, allow_pickle=False)
        except FileNotFoundError:
            message = f"{folder} is no complete Style-Bert-VITS2 voice: it has no style_vectors.npy"
            raise VoiceNotAvailableError(message) from None
        except (OSError, ValueError, EOFError) as error:
            message = f"{path} cannot be read ({error}); fetch the voice again"
            raise VoiceNotAvailableError(message) from error
        highest = max(styles.values())
        if not isinstance(vectors, np.ndarray) or vectors.ndim != 2 or highest >= len(vectors):
            shape = getattr(vectors, "shape", "no array")
            message = f"{path} holds {shape}; one row for each of the {highest + 1} styles of config.json is expected"
            raise VoiceNotAvailableError(message)
        self._vectors: Floats = vectors.astype(np.float32)
        self._rows = dict(styles)
        self.fingerprint = hashlib.sha256(self._vectors.tobytes() + repr(self._rows).encode()).hexdigest()[:16]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the styles, in the order of their rows."""
        return tuple(self._rows)

    @property
    def size(self) -> int:
        """Numbers in a style vector."""
        return int(self._vectors.shape[1])

    def vector(self, style: str | None, weight: float) -> Floats:
        """The vector that lies ``weight`` times as far from the mean as the style: mean + (style - mean) · weight.

        Raises:
            UnknownStyleError: the voice has no such style.
        """
        row = 0 if style is None else self._rows.get(style)
        if row is None:
            message = f"no style {style!r}; there are {', '.join(self._rows)}"
            raise UnknownStyleError(message)
        mean = self._vectors[0]
        vector: Floats = mean + (self._vectors[row] - mean) * np.float32(weight)
        return vector
