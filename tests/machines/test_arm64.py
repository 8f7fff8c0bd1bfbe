"""On aarch64, emulated instruction by instruction: the same speech as here, and the core of the tests. Slow: times are
those of the emulation, ten to thirty times what a board takes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import wave
from pathlib import Path

import numpy as np
import pytest
import yaml

from tests.fakes.published import VOICE, unpack_published
from tests.machines.nspawn import machines_folder

ROOT = Path(__file__).resolve().parents[2]
TEXT = "おはようございます。12月1日火曜日、7時です。"
CORE = [
    "tests/engine/test_audio.py", "tests/engine/test_loudness.py", "tests/engine/test_options.py",
    "tests/engine/test_sentences.py", "tests/engine/test_speaker.py", "tests/engine/test_tts.py",
    "tests/engine/style_bert_vits2/test_voice.py", "tests/daemon/test_payloads.py", "tests/daemon/test_queue.py",
    "tests/daemon/test_phrases.py", "tests/daemon/test_player.py", "tests/daemon/schedule/test_plan.py",
]  # fmt: skip


# ONNX Runtime asks /proc/cpuinfo what it runs on, and qemu shows that of the machine that emulates, which ends in a crash.
CPUINFO = """\
processor\t: {number}
BogoMIPS\t: 108.00
Features\t: fp asimd evtstrm crc32 cpuid
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x0
CPU part\t: 0xd08
CPU revision\t: 3

"""
"""Of the Cortex-A72, a Raspberry Pi 4."""
INTO = """
set -e
cd "$1"
mkdir -p src wheels
mount -t proc proc proc
mount --bind "$4" proc/cpuinfo
mount --rbind /dev dev
mount --rbind /sys sys
mount --bind -o ro "$2" src
mount --bind -o ro "$3" wheels
exec chroot . /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 QEMU_CPU=cortex-a72 \\
  PIP_NO_INDEX=1 PIP_FIND_LINKS=/wheels /bin/sh -c "$5"
"""


class Board:
    """A Debian folder for aarch64, and commands in it: without a network, their mounts gone with them."""

    def __init__(self, folder: Path):
        self.folder, self.root = folder, folder / "root"
        for name in ("upper", "work", "root"):
            (folder / name).mkdir(parents=True)
        lower = os.environ["ASAGOE_DEBIAN"]
        options = f"lowerdir={lower},upperdir={folder / 'upper'},workdir={folder / 'work'}"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, str(self.root)], check=True)
        self.cpuinfo = folder / "cpuinfo"
        self.cpuinfo.write_text("".join(CPUINFO.format(number=n) for n in range(os.cpu_count() or 1)))

    def run(self, script: str, timeout: float = 1800):
        """Run a shell script; returns its output and the seconds that it took."""
        places = [self.root, ROOT, os.environ["ASAGOE_WHEELS"], self.cpuinfo]
        command = ["unshare", "--mount", "--net", "--pid", "--fork", "/bin/sh", "-c", INTO, "sh", *map(str, places)]
        began = time.monotonic()
        done = subprocess.run(
            [*command, script],
            capture_output=True, text=True, check=False, timeout=timeout, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if done.returncode:
            raise AssertionError(f"{script}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
        return done.stdout, time.monotonic() - began

    def end(self):
        subprocess.run(["umount", str(self.root)], check=False)
        subprocess.run(["rm", "-rf", str(self.folder)], check=True)


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    made = Board(machines_folder() / f"board-{os.getpid()}")
    try:
        _, seconds = made.run(
            "python3 -m venv /opt/asagoe && cd /src && "
            "/opt/asagoe/bin/pip install -q --disable-pip-version-check 'pip>=25.1' && "
            "/opt/asagoe/bin/pip install -q --disable-pip-version-check -c requirements.lock '/src[broker,world]' pytest "
            "pytest-timeout hypothesis jsonschema packaging"
        )
        print(f"\ninstalled in {seconds:.0f} s (emulated)")
        unpack_published(made.root / "srv/voices")
        made.root.joinpath("srv/asagoe.yaml").write_text(CONFIG.format(tree="/srv/voices"))
        yield made
    finally:
        made.end()


CONFIG = f"speakers:\n  mei: {{{{source: 'openjtalk:mei'}}}}\n  neural: {{{{source: 'file://{{tree}}', name: {VOICE}, seed: 7}}}}\n"


def heard(path):
    with wave.open(str(path)) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32768.0
        return samples, file.getframerate()


def level(samples):
    """Root mean square in dBFS."""
    return 20 * np.log10(np.sqrt(np.mean(samples**2)))


def test_it_is_another_processor(board):
    assert board.run("uname -m")[0].strip() == "aarch64"


def test_import_and_start_times(board):
    print()
    for what in ("import engine", "import numpy", "import onnxruntime", "import pyopenjtalk"):
        _, seconds = board.run(f"/opt/asagoe/bin/python -c '{what}'")
        print(f"{what}: {seconds:.1f} s (emulated)")
    print(f"asagoe --version: {board.run('/opt/asagoe/bin/asagoe --version')[1]:.1f} s (emulated)")


@pytest.mark.parametrize("speaker", ["mei", "neural"])
def test_it_says_what_this_machine_says(board, tmp_path, speaker):
    out, seconds = board.run(
        f"/opt/asagoe/bin/asagoe say --config /srv/asagoe.yaml --speaker {speaker} --out /srv/{speaker}.wav '{TEXT}'"
    )
    tree = unpack_published(tmp_path / "voices")
    config = tmp_path / "asagoe.yaml"
    config.write_text(CONFIG.format(tree=tree))
    here = tmp_path / "here.wav"
    subprocess.run(
        [sys.executable, "-m", "daemon", "say", "--config", str(config), "--speaker", speaker, "--out", str(here), TEXT],
        check=True, cwd=ROOT,
        env=os.environ | {"ASAGOE_CACHE": str(tmp_path / "cache")},
    )  # fmt: skip
    (there_samples, there_rate), (here_samples, here_rate) = heard(board.root / f"srv/{speaker}.wav"), heard(here)
    assert yaml.safe_load(config.read_text())["speakers"][speaker]
    print(
        f"\n{speaker}: {out.strip()} in {seconds:.1f} s (emulated)\n"
        f"  aarch64 {len(there_samples) / there_rate:.3f} s {level(there_samples):.2f} dBFS, "
        f"here {len(here_samples) / here_rate:.3f} s {level(here_samples):.2f} dBFS"
    )
    assert there_rate == here_rate
    assert len(there_samples) == pytest.approx(len(here_samples), rel=0.01)
    assert level(there_samples) == pytest.approx(level(here_samples), abs=0.3)
    assert np.abs(there_samples).max() > 0.05


def test_the_core_of_the_tests(board):
    board.run("cp -r /src /srv/src && rm -rf /srv/src/.venv")
    out, seconds = board.run(
        "cd /srv/src && /opt/asagoe/bin/python -m pytest -q -x -p no:cacheprovider --timeout=900 "
        f"-m 'not system' {' '.join(CORE)} 2>&1 || true"
    )
    last = out.strip().splitlines()[-1]
    print(f"\n{last}; {seconds:.0f} s (emulated)")
    assert " passed" in last, out[-5000:]
    assert "failed" not in last, out[-5000:]
    assert "error" not in last, out[-5000:]
