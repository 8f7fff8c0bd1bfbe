"""Checks of the configuration's file and of the service, where one runs."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping

from daemon.compute import CPU
from daemon.config import ConfigError, load_config
from daemon.doctor.findings import Finding, Level, Patient, fail, ok, warn
from daemon.service.pulse import pulse_path, read_pulse

_PROPERTIES = "LoadState,ActiveState,SubState,Result,NRestarts,StatusText,UnitFileState,DevicePolicy,DeviceAllow"


def check_configuration(patient: Patient) -> Iterator[Finding]:
    """Is the file valid? A credential that only the service sees is no mistake of the file."""
    if patient.path is None:
        yield warn("there is no configuration; all defaults are used", "asagoe install puts an example in place")
        return
    try:
        load_config(patient.path)
    except ConfigError as error:
        for problem in error.problems:
            if problem.key == "mqtt.password" and "CREDENTIALS_DIRECTORY" not in patient.environment:
                yield warn(
                    f"{problem}",
                    "outside the service a credential is not seen; for the service it is the file "
                    "/etc/credstore/asagoe.mqtt-password",
                )
            else:
                yield fail(str(problem), "correct this line; then: systemctl reload-or-restart asagoe")
    else:
        yield ok(f"{patient.path} is valid")


def check_service(patient: Patient) -> Iterator[Finding]:
    """What systemd says of the service, else what the pulse says."""
    if patient.exists("run/systemd/system") and shutil.which("systemctl"):
        # Somebody who has a service of his own asks about that one, even where the machine has one, too.
        own = [["--user"]] if patient.uid != 0 and patient.environment.get("XDG_RUNTIME_DIR") else []
        for scope in (*own, []):
            facts = _unit(scope)
            if facts.get("LoadState") == "loaded":
                yield from judge_unit(facts, " ".join(["systemctl", *scope]))
                if patient.config is not None and patient.config.compute_device != CPU:
                    yield from judge_devices(facts)
                return
    node = patient.config.node if patient.config else "home"
    if not pulse_path(node).exists():
        yield warn("the service does not run here", "asagoe run, or as a service: sudo asagoe install")
        return
    beat = read_pulse(node, time.monotonic())
    yield ok(beat.text) if beat.well else fail(beat.text, "see its log; restart it")


def judge_unit(facts: Mapping[str, str], systemctl: str) -> Iterator[Finding]:
    """What the properties of the unit mean.

    Args:
        facts: of `systemctl show`.
        systemctl: the command, for remedies.
    """
    user = " --user" if "--user" in systemctl else ""
    state, status = facts.get("ActiveState", ""), facts.get("StatusText", "")
    restarts = int(facts.get("NRestarts") or 0)
    log = f"journalctl{user} -u asagoe -n 30"
    if state == "active":
        yield Finding(Level.OK, f"the service is active: {status}")
        if restarts:
            yield warn(f"it was restarted {restarts} time(s) since it was started", log)
    elif state in {"activating", "reloading"}:
        yield warn(f"the service is {state}: {status}", f"wait; {log}")
    elif state == "failed":
        yield fail(
            f"the service has failed ({facts.get('Result')}): {status}", f"{log}; then {systemctl} restart asagoe"
        )
    else:
        yield fail("the service is installed, but does not run", f"{systemctl} start asagoe")
    if facts.get("UnitFileState") == "disabled":
        yield warn("it does not start with the machine", f"{systemctl} enable asagoe")


def judge_devices(facts: Mapping[str, str]) -> Iterator[Finding]:
    """Whether the unit lets the service reach a CUDA device; see ``judge_unit``."""
    if facts.get("DevicePolicy") in {"closed", "strict"} and "nvidia" not in facts.get("DeviceAllow", ""):
        yield warn(
            "its unit keeps the service from CUDA devices, and the configuration wants one",
            "add the lines of docs/install.md, CUDA, by systemctl edit asagoe; then systemctl restart asagoe",
        )


def _unit(scope: list[str]) -> Mapping[str, str]:
    try:
        done = subprocess.run(
            ["systemctl", *scope, "show", "asagoe.service", f"--property={_PROPERTIES}"],
            capture_output=True,
            text=True,
            check=False,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    facts: dict[str, str] = {}
    for line in done.stdout.splitlines():
        name, found, value = line.partition("=")
        if found:  # a list has a line for each of its values
            facts[name] = f"{facts[name]} {value}" if name in facts else value
    return facts
