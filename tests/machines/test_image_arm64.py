"""The Dockerfile's image for aarch64, built under emulation: it speaks, as the user that it runs as, without a network."""

from __future__ import annotations

import json
import os
import time
import wave

import numpy as np
import pytest
import yaml

from tests.fakes.published import unpack_published
from tests.machines.images import (
    SPEAKERS,
    buildah,
    built,
    make_base,
    make_context,
    private_hub,
    show_sizes,
    wheels_folders,
    with_voices,
)
from tests.machines.test_arm64 import CPUINFO, level

DEBIAN = "bookworm-arm64"
BEFORE = 'mount --bind "$1" /proc/cpuinfo; shift; exec "$@"'
"""The container has the /proc of this machine, as this command sees it."""


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    make_base(DEBIAN, os.environ["ASAGOE_DEBIAN"], arch="arm64")
    context, secret = make_context(tmp_path_factory.mktemp("context")), tmp_path_factory.mktemp("secret") / "token"
    arguments = ["--arch=arm64", f"--build-arg=DEBIAN={DEBIAN}"]
    with (
        private_hub(unpack_published(tmp_path_factory.mktemp("tree"))) as hub,
        built("asagoe:arm64", context, *arguments, *with_voices(hub, secret), wheels=wheels_folders()) as tag,
    ):
        yield tag


def test_the_image_is_for_that_processor_and_small(image, container):
    assert json.loads(buildah("inspect", "--type", "image", image))["OCIv1"]["architecture"] == "arm64"
    show_sizes(container.root)
    assert container.run("uname", "-m").stdout.strip() == "aarch64"


@pytest.mark.parametrize("speaker", ["mei", "private"])
def test_it_speaks_with_the_voices_that_were_built_in(container, tmp_path, speaker):
    cpuinfo, config = tmp_path / "cpuinfo", tmp_path / "asagoe.yaml"
    cpuinfo.write_text("".join(CPUINFO.format(number=number) for number in range(os.cpu_count() or 1)))
    config.write_text(yaml.safe_dump({"speakers": SPEAKERS}))
    config.chmod(0o644)
    options = ["--env=QEMU_CPU=cortex-a72", f"--volume={config}:/etc/asagoe/asagoe.yaml:ro"]
    before = ["unshare", "--net", "--mount", "sh", "-c", BEFORE, "sh", str(cpuinfo)]
    began = time.monotonic()
    done = container.run(
        "asagoe",
        "say",
        "--speaker",
        speaker,
        "--out",
        "/tmp/say.wav",
        "おはようございます。",
        options=options,
        before=before,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    with wave.open(str(container.root / "tmp/say.wav")) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32768.0
        rate = file.getframerate()
    print(
        f"\n{speaker}: {len(samples) / rate:.2f} s at {rate} Hz, {level(samples):.1f} dBFS, "
        f"in {time.monotonic() - began:.1f} s (emulated)"
    )
    assert 0.5 < len(samples) / rate < 2.5
    assert -30 < level(samples) < -10
    assert abs(samples[0]) < 1e-3
    assert abs(samples[-1]) < 1e-3


def test_it_runs_as_a_user_of_its_own_who_keeps_what_this_processor_needs(container):
    assert container.run("python3", "-c", "import os; print(os.geteuid())").stdout.strip() == "10001"
    prepared = [path for path in (container.root / "voices").rglob("*.ort*") if path.is_file()]
    prepared += [path for path in (container.root / "voices").rglob("prepared/**/*") if path.is_file()]
    assert prepared
    assert {path.stat().st_uid for path in prepared} == {10001}
