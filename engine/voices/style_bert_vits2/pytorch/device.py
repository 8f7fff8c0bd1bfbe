"""Devices of PyTorch: whether one is there and computes, and what its errors mean to a caller."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from engine.errors import TransientError, VoiceNotAvailableError


def open_device(name: str, *, tf32: bool = True) -> torch.device:
    """Check that a device is there and computes, and set what holds for the whole process.

    Args:
        name: "cpu", "cuda" or "cuda:N".
        tf32: see ``TorchSettings``.

    Raises:
        VoiceNotAvailableError: PyTorch sees no such device, or cannot compute on it.
    """
    device = torch.device(name)
    if device.type != "cuda":
        return device
    # What is wrong with a driver stands in a warning only.
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if (device.index or 0) >= count:
        seen = f"it sees {count} CUDA device(s)" if count else "it sees no CUDA device"
        if torch.version.cuda is None:
            seen += ", since it was built without CUDA"
        elif told:
            seen += f" ({_first_sentence(str(told[-1].message))})"
        message = (
            f"PyTorch cannot use the device {name!r}: {seen}; install the driver and a PyTorch with CUDA, or use the "
            "device cpu"
        )
        raise VoiceNotAvailableError(message)
    with device_errors(device, loading=True):
        # A release of PyTorch may have no code for a device that its driver knows.
        torch.ones(1, device=device).add_(1).cpu()
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    return device


@contextmanager
def device_errors(device: torch.device, *, loading: bool = False) -> Iterator[None]:
    """Make what PyTorch raises, while it computes or loads, an error of the engine.

    Raises:
        TransientError: the device has no memory left for a sentence.
        VoiceNotAvailableError: it has none for a voice, or it failed; after most failures a CUDA device computes
            nothing more for this process.
    """
    try:
        yield
    except torch.OutOfMemoryError as error:
        torch.cuda.empty_cache()
        if loading:
            message = (
                f"the device {str(device)!r} has no memory left for this voice; unload a speaker, or use the device cpu"
            )
            raise VoiceNotAvailableError(message) from error
        message = f"the device {str(device)!r} has no memory left for this sentence; unload a speaker, or try again"
        raise TransientError(message) from error
    except RuntimeError as error:
        reason = _first_sentence(str(error))
        message = f"the device {str(device)!r} failed ({reason}); restart the program, or use the device cpu"
        raise VoiceNotAvailableError(message) from error


def _first_sentence(text: str) -> str:
    """What matters of a message of PyTorch, which goes on with advice for those who write such programs."""
    return re.split(r"\n|\. |\s*\(Triggered internally", text.strip(), maxsplit=1)[0].strip().rstrip(".")[:200]
