"""Devices that voices are computed on, by their names."""

from __future__ import annotations

import re

from engine.errors import InvalidOptionError, VoiceNotAvailableError
from engine.failures import engine_errors

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
        EngineDefectError: PyTorch fails in another way.
    """
    if checked_device(device) == CPU:
        return
    from engine.voices.style_bert_vits2.pytorch.install import INSTALL, require  # noqa: PLC0415 - only CUDA devices need them

    require(f"the device {device!r}", "torch", "transformers", "safetensors")
    with engine_errors(f"the device {device!r} is opened"):
        try:
            from engine.voices.style_bert_vits2.pytorch.device import open_device  # noqa: PLC0415
        except (ImportError, OSError) as error:  # a library of CUDA or of the system is missing, or another release
            message = (
                f"the device {device!r} needs PyTorch, which is installed but cannot be imported ({error}); install it "
                f"anew: {INSTALL}, or use the device cpu"
            )
            raise VoiceNotAvailableError(message) from error
        open_device(device)
