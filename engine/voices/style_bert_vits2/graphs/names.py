"""The inputs of a synthesizer graph under the names of different exporters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from engine.errors import VoiceNotAvailableError

_ALIASES = {
    "x": ("x", "x_tst"),
    "x_lengths": ("x_lengths", "x_tst_lengths"),
    "sid": ("sid",),
    "tone": ("tone", "tones"),
    "language": ("language", "languages"),
    "bert": ("bert", "ja_bert"),
    "style_vec": ("style_vec", "style_vector"),
    "noise_scale": ("noise_scale",),
    "length_scale": ("length_scale",),
    "noise_scale_w": ("noise_scale_w", "noise_w"),
    "sdp_ratio": ("sdp_ratio",),
}

CANONICAL_INPUTS = tuple(_ALIASES)
"""Inputs of a JP-Extra synthesizer by the names that published graphs give them."""


def resolve_inputs(path: Path, names: Iterable[str]) -> Mapping[str, str]:
    """The graph's own name for each input that a JP-Extra synthesizer has.

    Raises:
        VoiceNotAvailableError: an input is missing or unknown: the graph is of another kind.
    """
    given = list(names)
    resolved = {name: next((alias for alias in aliases if alias in given), "") for name, aliases in _ALIASES.items()}
    missing = [name for name, found in resolved.items() if not found]
    unknown = [name for name in given if name not in resolved.values()]
    if missing or unknown:
        lacks = f"lacks {', '.join(missing)}" if missing else ""
        has = f"takes {', '.join(unknown)}, which no JP-Extra graph does" if unknown else ""
        fault = " and ".join(filter(None, (lacks, has)))
        message = (
            f"{path} is not a graph of a Style-Bert-VITS2 JP-Extra synthesizer: it {fault}; "
            "export it again, or convert the folder it was trained in"
        )
        raise VoiceNotAvailableError(message)
    return resolved
