"""Promises about the project itself."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def locked():
    lines = [line for line in (ROOT / "requirements.lock").read_text().splitlines() if line and line[0] != "#"]
    return [Requirement(line) for line in lines]


def test_the_lock_satisfies_every_requirement_of_the_project():
    wanted = list(PROJECT["project"]["dependencies"])
    for extra in PROJECT["project"]["optional-dependencies"].values():
        wanted += [line for line in extra if not line.startswith("torch")]  # its build depends on the machine
    for group in PROJECT["dependency-groups"].values():
        wanted += group
    versions = {canonicalize_name(r.name): r for r in locked() if not r.marker or r.marker.evaluate()}
    for requirement in map(Requirement, wanted):
        pinned = versions.get(canonicalize_name(requirement.name))
        assert pinned is not None, f"{requirement.name} is not in requirements.lock: run script/lock"
        (version,) = pinned.specifier
        assert requirement.specifier.contains(version.version), f"{requirement} against {pinned}: run script/lock"


@pytest.mark.parametrize("name", ["python-daemon", "torch", "transformers"])
def test_what_must_not_be_in_the_default_install(name):
    default = [Requirement(line).name for line in PROJECT["project"]["dependencies"]]
    assert canonicalize_name(name) not in {canonicalize_name(n) for n in default}
    if name == "python-daemon":
        assert name not in {canonicalize_name(r.name) for r in locked()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_wheel_holds_the_two_packages_and_nothing_else(wheel):
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"engine", "daemon"}


def test_the_wheel_holds_the_example_the_schema_and_the_chimes(wheel):
    names = set(wheel.namelist())
    assert {"daemon/data/asagoe.yaml", "daemon/data/asagoe.schema.json", "daemon/data/chimes/ding.wav"} <= names
    assert {"engine/py.typed", "daemon/py.typed"} <= names


def test_the_wheel_holds_the_page(wheel):
    for path in (ROOT / "daemon" / "http" / "page").iterdir():
        assert wheel.read(f"daemon/http/page/{path.name}") == path.read_bytes(), path.name


def test_the_wheel_holds_the_units_as_they_stand_in_the_project(wheel):
    for path in (ROOT / "systemd").rglob("*"):
        if path.is_file():
            name = f"daemon/data/systemd/{path.relative_to(ROOT / 'systemd')}"
            assert wheel.read(name) == path.read_bytes(), name


def test_the_configuration_of_the_image_is_valid_and_changes_only_what_a_container_must():
    from daemon.config import load_config

    config = load_config(ROOT / "docker" / "asagoe.yaml")
    assert config.mqtt.url == "mqtt://mosquitto:1883"
    assert "mosquitto" in yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]


def test_the_image_gets_what_it_is_made_of_and_nothing_else():
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert ignored[0] == "*"
    sources = re.findall(r"^COPY (?!--from)(.+) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    for source in " ".join(sources).split():
        if not source.startswith("$"):
            assert (ROOT / source).exists(), source
            assert f"!{source.split('/')[0]}" in ignored, source


def test_a_foreign_daemon_package_is_one_sentence():
    code = "import daemon; daemon.__distribution__ = 'python-daemon'\nfrom daemon.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "environment of its own" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_version_of_the_changelog_is_the_version():
    from engine import __version__

    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert re.search(r"^## \[(Unreleased|" + re.escape(__version__) + r")\]", changelog, re.MULTILINE)


def test_no_code_of_the_service_asks_the_clock_behind_the_clock_object():
    for path in ROOT.glob("daemon/**/*.py"):
        if path.name != "clock.py":
            assert not re.search(r"datetime\.(now|utcnow|today)\(|\btime\.time\(", path.read_text()), path


def test_the_command_works_from_any_folder(tmp_path):
    code = "import daemon.app, daemon.chimes; print(daemon.chimes.chime_names())"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "'ding'" in done.stdout, done.stderr
