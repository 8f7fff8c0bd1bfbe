"""What neural voices are computed on: the configured device, or the processor where that cannot be used."""

from __future__ import annotations

from engine import EngineError, check_device

CPU = "cpu"


def usable_device(wanted: str) -> tuple[str, str | None]:
    """The device to compute on, and what is wrong with the one that was wanted.

    A driver that does not fit its kernel after an upgrade is no reason to speak with another voice: where the cache
    holds the voice for the processor, or it can be fetched, it is the same voice, only slower.

    Args:
        wanted: "cpu", "cuda" or "cuda:N".

    Returns:
        A device that works, and None or the reason why it is not the wanted one.
    """
    try:
        check_device(wanted)
    except EngineError as error:
        return CPU, str(error)
    return wanted, None
