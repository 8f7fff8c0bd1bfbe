"""Where samples go: a sound device, WAV files, or nowhere, behind one Protocol (``base``)."""

from __future__ import annotations

from pathlib import Path

from daemon.config import AudioConfig
from daemon.errors import SinkError
from daemon.folders import recordings_folder
from daemon.sinks.base import Sink

__all__ = ["Sink", "make_sink", "output_names", "sinks_of"]


def sinks_of(audio: AudioConfig, preferred_rate: int) -> list[Sink]:
    """The sinks of a configuration in the order in which they are tried: the device, the other one, WAV files.

    A device that is a folder or `null` is meant as it is and has no other behind it.
    """
    names = [audio.device, audio.fallback_device, f"file:{recordings_folder()}"]
    if audio.device.startswith("file:") or audio.device == "null":
        names = [audio.device]
    return [
        make_sink(name, recordings=audio.recordings, preferred_rate=preferred_rate)
        for name in dict.fromkeys(names)
        if name
    ]


def make_sink(device: str, *, recordings: int, preferred_rate: int) -> Sink:
    """The sink that a configured device stands for.

    Args:
        device: ``default``, part of a device's name, ``file:FOLDER`` or ``null``.
        recordings: how many WAV files a folder keeps.
        preferred_rate: of the speech, in Hz; a device may take another.
    """
    if device == "null":
        from daemon.sinks.null import NullSink  # noqa: PLC0415

        return NullSink(preferred_rate)
    if device.startswith("file:"):
        from daemon.sinks.file import FileSink  # noqa: PLC0415

        return FileSink(Path(device.removeprefix("file:")).expanduser(), preferred_rate, keep=recordings)
    from daemon.sinks.device import DeviceSink  # noqa: PLC0415

    return DeviceSink(device, preferred_rate)


def output_names(audio: AudioConfig) -> tuple[str, ...]:
    """Names of the sound devices that can play; none where sound goes to a folder or nowhere, or none can be listed.

    While a device is open this must not be called: reading the list anew would close it.
    """
    if audio.device.startswith("file:") or audio.device == "null":
        return ()
    from daemon.sinks.device import list_outputs  # noqa: PLC0415

    try:
        return tuple(dict.fromkeys(output.name for output in list_outputs()))
    except SinkError:
        return ()  # the player says so when it opens one
