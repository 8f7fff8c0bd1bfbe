"""What a measured speed depends on: the processor."""

from __future__ import annotations

import hashlib
import platform
import re
from dataclasses import dataclass
from pathlib import Path

from engine.voices.style_bert_vits2.tuning.quantise import Format

_CPUINFO = Path("/proc/cpuinfo")
_MODEL = ("model name", "cpu implementer", "cpu architecture", "cpu variant", "cpu part")
_VECTOR = re.compile(r"s?sse\d|avx|amx|fma|asimd|neon|vfpv|sve|sme\d?$|i8mm|bf16")
_ARM = {"aarch64", "arm64", "armv7l", "armv8l"}


@dataclass(frozen=True, slots=True)
class Processor:
    """A kind of processor.

    Attributes:
        architecture: as ``uname -m`` calls it.
        model: its name, or the numbers that ARM processors have instead.
        features: vector instructions that it has, as the kernel calls them, in order.
    """

    architecture: str
    model: str
    features: tuple[str, ...]

    @property
    def id(self) -> str:
        """12 hexadecimal digits."""
        text = "\n".join((self.architecture, self.model, *self.features))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def numbers(self) -> Format:
        """The 8-bit numbers that ONNX Runtime is quickest and exact with on it.

        x86 multiplies uint8 with int8, and without VNNI sums pairs of products in 16 bits, which saturate with weights
        of 8 bits; ARM multiplies int8 with int8.
        """
        if self.architecture in _ARM:
            return Format(signed=True, weight_bits=8)
        return Format(signed=False, weight_bits=8 if any("vnni" in name for name in self.features) else 7)


def this_processor(cpuinfo: Path = _CPUINFO) -> Processor:
    """That of this machine; of what the system does not tell, nothing."""
    facts: dict[str, list[str]] = {}
    try:
        lines = cpuinfo.read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        key, _, value = line.partition(":")
        values = facts.setdefault(key.strip().lower(), [])
        if value.strip() not in values:  # of all cores: big and little ones differ
            values.append(value.strip())
    named = [f"{'/'.join(facts[key])}" for key in _MODEL if key in facts]
    model = " ".join(named) or platform.processor() or "unknown"
    words = " ".join(facts.get("flags", []) + facts.get("features", [])).split()
    return Processor(platform.machine(), model, tuple(sorted({word for word in words if _VECTOR.match(word)})))
