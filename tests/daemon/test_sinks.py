import time
import wave

import numpy as np
import pytest

from daemon.errors import SinkError
from daemon.sinks import make_sink
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
