"""What script/run promises on a machine that has nothing yet, or what a power cut left of it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def shell(code, *, venv, timeout=30):
    """Run bash with script/common sourced; pip and the making of environments only tell what they were asked."""
    prologue = f"""
        set -euo pipefail
        . '{ROOT}/script/common'
        make_environment() {{ echo made >> '{venv}.log'; }}
    """
    return subprocess.run(
        ["bash", "-c", prologue + code],
        env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "ASAGOE_VENV": str(venv)},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


@pytest.fixture
def venv(tmp_path):
    """An environment whose python is a script that notes its arguments, and is slow enough to be met at work."""
    folder = tmp_path / "my venv"
    (folder / "bin").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text(f"command = {sys.executable} -m venv {folder}\n")
    python = folder / "bin" / "python"
    python.write_text(f'#!/bin/sh\necho "$*" >> "{folder}.log"\ncase "$*" in *install*) sleep 0.2;; esac\n')
    python.chmod(0o755)
    return folder


def log(venv):
    path = venv.with_name(venv.name + ".log")
    return path.read_text().splitlines() if path.exists() else []


def installs(venv):
    return [line for line in log(venv) if " --editable " in line]


def test_a_finished_installation_is_not_touched_again(venv):
    for _ in range(2):
        assert shell("environment run --editable X", venv=venv).returncode == 0
    assert len(installs(venv)) == 1
    assert "made" not in log(venv)


def test_two_at_once_install_once(venv):
    both = shell("environment run --editable X & environment run --editable X; wait $!", venv=venv)
    assert both.returncode == 0, both.stderr
    assert len(installs(venv)) == 1
    assert "waiting" in both.stderr


def test_an_installation_that_was_killed_begins_anew(venv):
    killed = shell("install_environment run --editable X & sleep 0.1; kill -9 $!; wait", venv=venv)
    assert killed.returncode == 0
    assert (venv / ".unfinished").exists()
    shell("environment run --editable X", venv=venv)
    assert log(venv).count("made") == 1


def test_an_installation_that_failed_is_tried_again_in_the_same_environment(venv):
    python = venv / "bin" / "python"
    whole = python.read_text()
    python.write_text(whole + 'case "$*" in *editable*) exit 1;; esac\n')
    failed = shell("environment run --editable X", venv=venv)
    assert failed.returncode == 1
    assert "failed" in failed.stderr
    python.write_text(whole)
    assert shell("environment run --editable X", venv=venv).returncode == 0
    assert "made" not in log(venv)


def test_an_environment_that_was_moved_is_made_anew(venv):
    shell("environment run --editable X", venv=venv)
    moved = venv.rename(venv.with_name("elsewhere"))
    shell("environment run --editable X", venv=moved)
    assert "made" in log(moved)


def test_an_environment_without_a_working_pip_is_made_anew(venv):
    (venv / "bin" / "python").write_text("#!/bin/sh\nexit 1\n")
    shell("environment run --editable X", venv=venv)
    assert "made" in log(venv)


def test_an_environment_of_another_python_is_brought_up_to_date(venv, tmp_path):
    python = venv / "bin" / "python"
    for version in ("python3.11", "python3.13"):
        real = tmp_path / version
        if python.is_symlink():
            python.unlink()
            real.write_text((tmp_path / "python3.11").read_text())
        else:
            real.write_text(python.read_text())
            python.unlink()
        real.chmod(0o755)
        python.symlink_to(real)
        assert shell("environment run --editable X", venv=venv).returncode == 0
    assert len(installs(venv)) == 2


def test_marks_of_other_states_of_the_project_do_not_stay(venv):
    (venv / ".run-0123456789abcdef").touch()
    shell("environment run --editable X", venv=venv)
    assert len(list(venv.glob(".run-*"))) == 1
    assert not (venv / ".run-0123456789abcdef").exists()


def test_without_root_one_command_names_all_that_is_missing(tmp_path):
    done = subprocess.run(
        [
            "bash",
            "-c",
            f"""
            . '{ROOT}/script/common'
            id() {{ echo 1000; }}
            sudo() {{ return 1; }}
            apt-get() {{ echo "apt-get is called" >&2; }}
            dpkg-query() {{ return 1; }}
            find_python() {{ echo false; }}
            also=(libportaudio2)
            environment run --editable X
            """,
        ],
        env={"PATH": "/usr/bin:/bin", "ASAGOE_VENV": str(tmp_path / "venv")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == (
        "Missing: python3-venv libportaudio2. Install with:  sudo apt-get install -y python3-venv libportaudio2\n"
    )
