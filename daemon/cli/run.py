"""``asagoe run`` and ``asagoe reload``."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

from daemon.app import Service
from daemon.cli.common import err, fail, out, read_config
from daemon.folders import state_folder
from daemon.logs import set_up_logging, stderr


def run_service(explicit: Path | None) -> int:
    """Run until a signal; returns the exit code."""
    config, path = read_config(explicit)
    set_up_logging(config.log.level)
    pid_file = state_folder() / f"{config.node}.pid"
    service_pid = _running_pid(pid_file)
    if service_pid is not None:
        return fail(f"asagoe already runs as node {config.node!r} (process {service_pid}); give this one another node:")
    _write_pid(pid_file)
    try:
        return asyncio.run(Service(config, path, greet=_greet).run())
    finally:
        pid_file.unlink(missing_ok=True)


def reload_service(explicit: Path | None) -> int:
    """Check the file, then send SIGHUP to the service of its node."""
    config, _ = read_config(explicit)
    pid = _running_pid(state_folder() / f"{config.node}.pid")
    if pid is None:
        return fail(
            f"no asagoe runs as node {config.node!r} with this state folder; under systemd: systemctl reload asagoe"
        )
    os.kill(pid, signal.SIGHUP)
    out.print(f"process {pid} reads its configuration again")
    return 0


def _greet(service: Service) -> None:
    mqtt, base = service.config.mqtt, service.topics.own
    if mqtt.broker == "none":
        return
    where = f"{mqtt.bind}:{mqtt.port}" if mqtt.embedded else str(mqtt.url)
    print(
        f"\nSpeak to it:\n"
        f"  asagoe announce '洗濯が終わりました'\n"
        f"  any MQTT client: publish text to {base}/announce at {where}\n",
        file=stderr(),
    )


def _write_pid(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(os.getpid()))
    except OSError as error:
        err.print(
            f"{path} cannot be written ({error.strerror}); asagoe reload will not find this process", markup=False
        )


def _running_pid(path: Path) -> int | None:
    """The process of a file, if it lives and is an asagoe."""
    try:
        pid = int(path.read_text())
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, ValueError):
        return None
    return pid if pid != os.getpid() and (b"asagoe" in command or b"daemon" in command) else None
