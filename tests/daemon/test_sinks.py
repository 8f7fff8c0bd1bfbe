import time
import wave

import numpy as np
import pytest

from daemon.errors import SinkError, SinkMissingError
from daemon.sinks import device as device_room
from daemon.sinks import make_sink
from daemon.sinks.alsa import LATENCY, AlsaPcm, pcm_names
from daemon.sinks.device import DeviceSink
from daemon.sinks.file import FileSink
from daemon.sinks.null import NullSink
from tests.fakes.sinks import MemorySink


@pytest.fixture(params=["null", "file", "fake"])
def sink(request, tmp_path):
    return {
        "null": lambda: NullSink(8000),
        "file": lambda: FileSink(tmp_path, 8000, keep=3),
        "fake": lambda: MemorySink(sample_rate=8000),
    }[request.param]()


def test_the_contract_of_a_sink(sink):
    sink.close()  # harmless while closed
    for title in ("one", "two"):
        sink.open(title)
        sink.write(np.zeros(800, np.float32))
        sink.write(np.ones(1, np.float32))
        sink.close()
        sink.close()
    assert sink.name
    assert sink.sample_rate == 8000
    assert sink.latency == 0.0


def test_a_null_sink_takes_as_long_as_the_sound(tmp_path):
    sink = NullSink(8000)
    sink.open("x")
    before = time.monotonic()
    for _ in range(10):
        sink.write(np.zeros(160, np.float32))
    assert 0.15 < time.monotonic() - before < 0.4


def test_a_file_is_complete_or_absent_and_holds_the_samples(tmp_path):
    sink = FileSink(tmp_path, 8000, keep=3)
    sink.open("../wake up/朝")
    sink.write(np.array([0.0, 1.0, -1.0], np.float32))
    assert list(tmp_path.glob("*.wav")) == []
    sink.close()
    (path,) = tmp_path.iterdir()
    assert path.name.endswith("-wake-up-.wav")
    with wave.open(str(path)) as file:
        assert (file.getframerate(), file.getnchannels()) == (8000, 1)
        assert np.frombuffer(file.readframes(9), "<i2").tolist() == [0, 32767, -32767]


def test_only_the_newest_files_are_kept(tmp_path):
    sink = FileSink(tmp_path, 8000, keep=3)
    for number in range(5):
        sink.open(f"n{number}")
        sink.close()
    assert len(list(tmp_path.glob("*.wav"))) == 3


def test_a_folder_that_cannot_be_written_is_a_sink_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SinkError, match="cannot be written"):
        FileSink(tmp_path / "file" / "folder", 8000, keep=3).open("x")


@pytest.mark.parametrize(
    ("device", "kind"),
    [("null", "NullSink"), ("file:/tmp/x", "FileSink"), ("default", "DeviceSink"), ("USB", "DeviceSink")],
)
def test_devices_by_name(device, kind):
    assert type(make_sink(device, recordings=5, preferred_rate=48_000)).__name__ == kind


CARDS = """ 0 [PCH            ]: HDA-Intel - HDA Intel PCH
                      HDA Intel PCH at 0xf7d10000 irq 30
 1 [Device         ]: USB-Audio - USB Audio Device
"""


@pytest.mark.parametrize(
    ("wanted", "known", "names"),
    [
        ("default", ["default"], ["default"]),
        ("spare", ["spare device", "spare"], ["spare"]),
        ("usb", ["HDA Intel PCH: ALC256 (hw:0,0)", "USB Audio Device: - (hw:1,0)"], ["plughw:1,0"]),
        ("usb", [], ["usb", "plughw:1"]),
        ("hdmi", [], ["hdmi"]),
    ],
)
def test_the_names_that_alsa_has_for_a_device(tmp_path, wanted, known, names):
    cards = tmp_path / "cards"
    cards.write_text(CARDS)
    assert pcm_names(wanted, known, cards) == names
    assert pcm_names("usb", [], tmp_path / "none") == ["usb"]


def test_a_device_that_alsa_does_not_have_is_missing():
    with pytest.raises(SinkMissingError, match="the sound device 'nowhere' cannot be used: No such"):
        AlsaPcm("nowhere", ["nowhere"], 48_000)


def test_while_another_sink_hangs_in_portaudio_a_device_is_opened_by_alsa_and_portaudio_is_left_alone(monkeypatch):
    monkeypatch.setattr(device_room, "_read_outputs", lambda: pytest.fail("PortAudio was asked"))
    monkeypatch.setenv("ALSA_CONFIG_PATH", "/usr/share/alsa/alsa.conf")
    sink = DeviceSink("null", 24_000)  # ALSA's own device that takes everything
    with device_room._portaudio:  # held, as by a sink that hangs
        sink.open("t")
        assert (sink.sample_rate, sink.latency) == (24_000, LATENCY)
        sink.write(np.zeros(480, np.float32))
        sink.close()
        assert device_room._portaudio.locked()
    with pytest.raises(SinkError, match="is not open"):
        sink.write(np.zeros(480, np.float32))


def test_portaudio_is_let_go_of_when_the_device_is_closed_and_when_it_cannot_be_opened(monkeypatch):
    sink = DeviceSink("usb", 24_000)
    monkeypatch.setattr(sink, "_open_by_portaudio", lambda: None)
    sink.open("t")
    assert device_room._portaudio.locked()
    sink.close()
    assert not device_room._portaudio.locked()

    def refuse():
        raise SinkError("busy")

    monkeypatch.setattr(sink, "_open_by_portaudio", refuse)
    with pytest.raises(SinkError, match="busy"):
        sink.open("t")
    assert not device_room._portaudio.locked()


@pytest.mark.parametrize("make", [lambda p: NullSink(24_000), lambda p: FileSink(p, 24_000, keep=3)])
def test_a_sink_that_is_renewed_is_another_one_for_the_same_place(tmp_path, make):
    sink = make(tmp_path)
    other = sink.renewed()
    assert other is not sink
    assert (other.name, other.sample_rate) == (sink.name, sink.sample_rate)
