"""What tuning found: every candidate with its figures, and what was chosen."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from engine.voices.style_bert_vits2.tuning.processor import Processor

FLOAT32 = "float32"
_INFINITE = {"snr", "log_mel", "noise"}  # may be: no error at all, or another length of the sound


@dataclass(frozen=True, slots=True)
class Group:
    """Layers that are quantised together or not at all, tried by themselves.

    Attributes:
        name: for example ``s0k3``: the decoder's first stage, kernel 3.
        part: the graph that they are in.
        work: multiplications for one frame of the latent (in the encoder: for one symbol).
        noise: power of the error that they alone make, relative to the power of the sound.
        saved: share of the time of a sentence that they alone save; negative where they make it slower.
    """

    name: str
    part: str
    work: int
    noise: float
    saved: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A set of groups that was built and measured on sentences that it was not calibrated with.

    Attributes:
        groups: that are quantised; none is float32 itself.
        snr: power of the sound to power of the error, in dB, of the worst sentence.
        log_mel: distance of the log-mel spectra in dB, of the worst sentence; see ``measure.log_mel_distance``.
        seconds: of processor time that the networks took for all measuring sentences.
        speed: how many times as fast as float32, measured in turns with it.
        join: largest difference of a sample between decoding in windows and as a whole; None if it was not measured,
            since the SNR is too low anyway.
    """

    groups: tuple[str, ...]
    snr: float
    log_mel: float
    seconds: float
    speed: float
    join: float | None = None

    @property
    def name(self) -> str:
        """For people: ``float32``, or the groups with stages taken together."""
        return named(self.groups)


@dataclass(frozen=True, slots=True)
class Tuning:
    """A finished tuning.

    Attributes:
        content: hash of the network.
        processor: that it holds for.
        onnxruntime: release that it holds for.
        asagoe: release that made it.
        threshold: least SNR in dB that was asked for.
        groups: each by itself.
        candidates: sets that were measured, float32 first.
        chosen: groups of the set that was chosen; none if float32 stays.
        graphs: hash of each graph that was written, by its name; see ``content_hash``.
        made: when, in ISO 8601 with the offset of the time zone.
        seconds: that it took.
        peak_memory: largest resident memory of the process in bytes.
    """

    content: str
    processor: Processor
    onnxruntime: str
    asagoe: str
    threshold: float
    groups: tuple[Group, ...]
    candidates: tuple[Candidate, ...]
    chosen: tuple[str, ...]
    graphs: Mapping[str, str]
    made: str
    seconds: float
    peak_memory: int

    @property
    def choice(self) -> Candidate:
        """The candidate that was chosen."""
        return next(item for item in self.candidates if item.groups == self.chosen)

    @property
    def summary(self) -> str:
        """For a table: ``int8, 35.0 dB, 1.65 times as fast``."""
        if not self.chosen:
            return FLOAT32
        return f"int8, {self.choice.snr:.1f} dB, {self.choice.speed:.2f} times as fast"

    @property
    def precision(self) -> str:
        """For people: what the voice computes with."""
        return f"int8 in {named(self.chosen)}, else float32" if self.chosen else FLOAT32

    def to_json(self) -> str:
        """As text that ``from_json`` reads."""
        return json.dumps(_without_infinity(asdict(self)), ensure_ascii=False, indent=1, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Tuning:
        """Read what ``to_json`` wrote.

        Raises:
            ValueError: it is something else.
        """
        try:
            facts = json.loads(text)
            groups = tuple(Group(**_with_infinity(item)) for item in facts.pop("groups"))
            candidates = tuple(
                Candidate(**_with_infinity(item) | {"groups": tuple(item["groups"])})
                for item in facts.pop("candidates")
            )
            kind = facts.pop("processor")
            processor = Processor(kind["architecture"], kind["model"], tuple(kind["features"]))
            chosen = tuple(facts.pop("chosen"))
            found = cls(**facts, processor=processor, chosen=chosen, groups=groups, candidates=candidates)
            known = found.graphs.items(), found.choice.snr
        except (KeyError, TypeError, AttributeError, StopIteration) as error:
            message = f"it is no report of a tuning ({error!r})"
            raise ValueError(message) from error
        del known
        return found


def _without_infinity(value: Any) -> Any:
    """JSON has no infinite numbers: they become null."""
    if isinstance(value, dict):
        return {key: _without_infinity(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_infinity(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _with_infinity(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {key: math.inf if value is None and key in _INFINITE else value for key, value in facts.items()}


def named(groups: tuple[str, ...]) -> str:
    """Groups in words: ``decoder stages 0, 1 (kernels 3, 7)``."""
    if not groups:
        return FLOAT32
    stages: dict[str, list[str]] = {}
    others = []
    for name in groups:
        stage, kernel, width = name.partition("k")
        if kernel and stage[:1] == "s" and stage[1:].isdecimal():
            stages.setdefault(width, []).append(stage[1:])
        else:
            others.append(name)
    by_stages: dict[tuple[str, ...], list[str]] = {}
    for width, numbers in sorted(stages.items(), key=lambda item: int(item[0])):
        by_stages.setdefault(tuple(sorted(numbers)), []).append(width)
    words = [
        f"stage{'s' if len(numbers) > 1 else ''} {','.join(numbers)}"
        + (f" (kernel{'s' if len(widths) > 1 else ''} {','.join(widths)})" if len(by_stages) > 1 else "")
        for numbers, widths in by_stages.items()
    ]
    return " + ".join([*words, *sorted(others)])
