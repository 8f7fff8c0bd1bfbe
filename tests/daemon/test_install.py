import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from daemon.errors import InstallError
from daemon.install import plan
from daemon.install.steps import Folder, Link, Remove, Run, Write, carry_out
from daemon.resources import resource, unit_text

ROOT = Path(__file__).parents[2]
UNITS = ("asagoe.service", "user/asagoe.service", "asagoe.sysusers", "asagoe.tmpfiles")
FILES = plan.Files({name: unit_text(name) for name in UNITS}, "example", "schema")


@pytest.fixture
def machine(tmp_path):
    program = tmp_path / "opt/asagoe/bin/asagoe"
    program.parent.mkdir(parents=True)
    program.touch()
    return plan.Machine(
        root=tmp_path,
        program=program,
        packages=tmp_path / "opt/asagoe/lib/daemon",
        booted=True,
        home_config=tmp_path / "home/me/.config",
        home_data=tmp_path / "home/me/.local/share",
    )


def do(steps):
    """All steps but those that run programs of the system; returns the commands of those."""
    carry_out([step for step in steps if not isinstance(step, Run)], lambda line: None, dry=False)
    return [" ".join(step.command) for step in steps if isinstance(step, Run)]


def test_an_installation_puts_everything_in_place(machine):
    commands = do(plan.install_system(machine, FILES, start=True))
    root = machine.root
    assert (root / "etc/asagoe/asagoe.yaml").read_text() == "example"
    assert (root / "usr/local/bin/asagoe").readlink() == machine.program
    unit = (root / "usr/local/lib/systemd/system/asagoe.service").read_text()
    assert f"ExecStart={machine.program} run --config /etc/asagoe/asagoe.yaml" in unit
    assert f"ExecReload={machine.program} reload" in unit
    assert commands[-3:] == [
        "systemctl daemon-reload",
        "systemctl enable asagoe.service",
        "systemctl restart asagoe.service",
    ]
    assert commands[0].startswith("systemd-sysusers ")


def test_a_second_installation_keeps_the_configuration_and_renews_the_rest(machine):
    do(plan.install_system(machine, FILES, start=True))
    config = machine.root / "etc/asagoe/asagoe.yaml"
    config.write_text("mine")
    (machine.root / "usr/local/lib/systemd/system/asagoe.service").write_text("old")
    do(plan.install_system(machine, FILES, start=True))
    assert config.read_text() == "mine"
    assert "ExecStart" in (machine.root / "usr/local/lib/systemd/system/asagoe.service").read_text()


def test_where_systemd_does_not_run_nothing_is_started(machine):
    idle = plan.Machine(machine.root, machine.program, machine.packages, False, machine.root, machine.root)
    commands = do(plan.install_system(idle, FILES, start=True))
    assert [c for c in commands if c.startswith("systemctl")] == ["systemctl enable asagoe.service"]


def test_a_command_of_somebody_else_is_not_replaced(machine):
    command = machine.root / "usr/local/bin/asagoe"
    command.parent.mkdir(parents=True)
    command.write_text("#!/bin/sh")
    assert not [s for s in plan.install_system(machine, FILES, start=True) if isinstance(s, Link)]
    steps, _ = plan.remove_system(machine, purge=True)
    assert Remove(command) not in steps


@pytest.mark.parametrize("folder", ["home/me/venv", "root/venv", "tmp/venv"])
def test_an_environment_that_the_service_cannot_see_is_refused(machine, folder):
    program = machine.root / folder / "bin/asagoe"
    program.parent.mkdir(parents=True)
    program.touch()
    hidden = plan.Machine(machine.root, program, machine.packages, True, machine.root, machine.root)
    with pytest.raises(InstallError, match="/opt/asagoe"):
        plan.install_system(hidden, FILES, start=True)
    assert plan.install_user(hidden, FILES, start=True)  # a service of the user sees it


def test_a_path_that_a_unit_cannot_hold_is_refused(machine):
    program = machine.root / "opt/my voice/bin/asagoe"
    program.parent.mkdir(parents=True)
    program.touch()
    odd = plan.Machine(machine.root, program, machine.packages, True, machine.root, machine.root)
    with pytest.raises(InstallError, match="holds signs"):
        plan.install_user(odd, FILES, start=True)


def test_a_removal_names_what_it_leaves(machine):
    do(plan.install_system(machine, FILES, start=True))
    for folder in ("var/lib/asagoe", "etc/credstore"):
        (machine.root / folder).mkdir(parents=True)
    secret = machine.root / "etc/credstore/asagoe.hf-token"
    secret.write_text("x")
    (machine.root / "etc/credstore/other.token").write_text("x")
    steps, left = plan.remove_system(machine, purge=False)
    do(steps)
    assert left == [
        f"{machine.root}/etc/asagoe (configuration)",
        f"{machine.root}/var/lib/asagoe (state)",
        f"{secret} (a secret)",
        "the user asagoe",
        f"{machine.root}/opt/asagoe (the environment)",
    ]
    assert secret.exists()
    assert not (machine.root / "usr/local/lib/systemd").exists()
    assert not (machine.root / "usr/local/bin/asagoe").is_symlink()


def test_a_purge_leaves_nothing_but_what_belongs_to_others(machine):
    do(plan.install_system(machine, FILES, start=True))
    (machine.root / "etc/credstore").mkdir()
    (machine.root / "etc/credstore/asagoe.hf-token").write_text("x")
    (machine.root / "etc/credstore/other.token").write_text("x")
    steps, left = plan.remove_system(machine, purge=True)
    commands = do(steps)
    assert left == []
    assert "userdel asagoe" in commands
    files = {str(p.relative_to(machine.root)) for p in machine.root.rglob("*") if not p.is_dir()}
    assert files == {"etc/credstore/other.token"}


def test_an_installation_for_a_user_touches_only_his_folders(machine):
    commands = do(plan.install_user(machine, FILES, start=True))
    made = {str(p.relative_to(machine.root)) for p in machine.root.rglob("*") if p.is_file()}
    assert made == {
        "opt/asagoe/bin/asagoe",
        "home/me/.config/asagoe/asagoe.yaml",
        "home/me/.config/asagoe/asagoe.schema.json",
        "home/me/.local/share/systemd/user/asagoe.service",
    }
    assert all(command.startswith("systemctl --user ") for command in commands)


def test_a_dry_run_changes_nothing(tmp_path):
    said = []
    carry_out([Folder(tmp_path / "a"), Write(tmp_path / "b", "x"), Run(("false",))], said.append, dry=True)
    assert list(tmp_path.iterdir()) == []
    assert said == [f"make {tmp_path}/a/", f"write {tmp_path}/b", "run  false"]


def test_a_program_that_fails_is_one_error_with_its_words():
    with pytest.raises(InstallError, match=r"failed \(3\): no such thing\nask your mother"):
        carry_out([Run(("sh", "-c", "echo no such thing >&2; exit 3"), remedy="ask your mother")], print, dry=False)
    carry_out([Run(("false",), optional=True), Run(("no-such-program",), optional=True)], print, dry=False)
    with pytest.raises(InstallError, match="no-such-program is missing"):
        carry_out([Run(("no-such-program",))], print, dry=False)


def test_the_command_says_what_it_would_do_without_rights():
    if shutil.which("systemctl") is None:
        pytest.skip("no systemd")
    done = subprocess.run(
        [sys.executable, "-m", "daemon", "install", "--dry-run"], capture_output=True, text=True, check=False
    )
    where = "write /usr/local/lib/systemd/system/asagoe.service"
    assert where in done.stdout or "which the hardened service does not see" in done.stderr, done


def test_the_example_that_is_installed_is_the_example():
    assert resource("asagoe.yaml").read_text() == (ROOT / "config/asagoe.yaml").read_text()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd")
def test_the_unit_is_exposed_by_2_or_less(tmp_path):
    unit = tmp_path / "asagoe.service"
    unit.write_text(unit_text("asagoe.service"))
    done = subprocess.run(
        ["systemd-analyze", "security", "--no-pager", "--offline=true", "--threshold=20", str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-400:]


@pytest.mark.parametrize("name", ["asagoe.service", "user/asagoe.service"])
def test_a_mistake_in_the_configuration_is_not_restarted(name):
    from daemon.app import EXIT_CONFIG

    lines = unit_text(name).splitlines()
    assert f"RestartPreventExitStatus={EXIT_CONFIG}" in lines
    assert "Restart=on-failure" in lines
    assert "WatchdogSignal=SIGABRT" in lines
    assert any(line.startswith("StartLimitBurst=") for line in lines)
