"""Devices that voices are computed on, by their names."""

from __future__ import annotations

import re

from engine.errors import InvalidOptionError

CPU = "cpu"


def checked_device(device: str) -> str:
    """The name of a device, if it is one.

    Raises:
        InvalidOptionError: it is not "cpu", "cuda" or "cuda:N".
    """
    if not re.fullmatch(r"cpu|cuda(:\d+)?", device):
        message = f"device must be cpu, cuda or cuda:N, got {device!r}"
        raise InvalidOptionError(message)
    return device


def check_device(device: str) -> None:
    """Make sure that neural voices can be computed on a device of this machine.

    For a CUDA device this imports PyTorch, which takes seconds, and computes a number on the device.

    Args:
        device: "cpu", "cuda" or "cuda:N".

    Raises:
        InvalidOptionError: there is no such kind of device.
        VoiceNotAvailableError: PyTorch or the device is missing or does not work; the message says what to do.
    """
    if checked_device(device) == CPU:
        return
    from engine.voices.style_bert_vits2.pytorch.install import require  # noqa: PLC0415 - only CUDA devices need them

    require(f"the device {device!r}", "torch", "transformers", "safetensors")
    from engine.voices.style_bert_vits2.pytorch.device import open_device  # noqa: PLC0415

    open_device(device)
