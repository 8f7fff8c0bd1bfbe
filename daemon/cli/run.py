"""``asagoe run`` and ``asagoe reload``."""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import shutil
import signal
import sys
from pathlib import Path

from daemon.app import Service
from daemon.cli.common import err, fail, out, read_config
from daemon.config import Config, ConfigError, find_config, load_config
from daemon.errors import UnavailableError
from daemon.house import House
from daemon.logs import set_up_logging, stderr
from daemon.service import node_lock
from daemon.service.notify import SystemdNotifier
from daemon.service.signals import show_stacks_of_crashes


def run_service(explicit: Path | None) -> int:
    """Run until a signal; returns the exit code, or ends the process with it."""
    config, path = _read_or_explain(explicit)
    set_up_logging(config.log.level)
    show_stacks_of_crashes()
    try:
        lock = node_lock.take(config.node)
    except UnavailableError as error:
        return fail(str(error))
    except OSError as error:
        lock = None
        where = node_lock.lock_path(config.node)
        err.print(f"{where} cannot be written ({error.strerror}); asagoe reload will not find this", markup=False)
    code = asyncio.run(Service(config, path, greet=lambda service: _greet(service, explicit)).run())
    if lock is not None:
        lock.close()
    # Without Python's own farewell: it would wait for threads that a sound device or a voice may hold for long, and end
    # PortAudio under a thread that is inside it.
    logging.shutdown()
    sys.stdout.flush()
    os._exit(code)


def _read_or_explain(explicit: Path | None) -> tuple[Config, Path | None]:
    """The configuration, or an exit with 78 whose reasons stand in the journal and in `systemctl status`."""
    path = find_config(explicit)
    try:
        return load_config(path), path
    except ConfigError as error:
        priority = "<3>" if "JOURNAL_STREAM" in os.environ else ""
        for problem in error.problems:
            print(f"{priority}{problem}", file=stderr())
        if len(error.problems) > 1:
            print(f"{priority}{len(error.problems)} errors in {path}", file=stderr())
        more = f" (and {len(error.problems) - 1} more)" if len(error.problems) > 1 else ""
        SystemdNotifier().status(f"the configuration is broken: {error.problems[0]}{more}")
        sys.exit(78)


def reload_service(explicit: Path | None) -> int:
    """Check the file, then send SIGHUP to the service of its node."""
    config, _ = read_config(explicit)
    pid = node_lock.holder(config.node)
    if pid is None:
        return fail(
            f"no asagoe runs as node {config.node!r} with this state folder; under systemd: systemctl reload asagoe"
        )
    os.kill(pid, signal.SIGHUP)
    out.print(f"process {pid} reads its configuration again")
    return 0


def _this_program() -> list[str]:
    installed = Path(sys.executable).with_name("asagoe")
    on_path = shutil.which("asagoe")
    if on_path is not None and Path(on_path).absolute() == installed.absolute():
        return ["asagoe"]
    return [str(installed)] if installed.exists() else [sys.executable, "-m", "daemon"]


def _greet(house: House, explicit: Path | None) -> None:
    """Say how to speak to it, in commands that can be pasted."""
    mqtt, base = house.config.mqtt, house.topics.own
    if mqtt.broker == "none":
        return
    where = f"{mqtt.bind}:{mqtt.port}" if mqtt.embedded else str(mqtt.url)
    if house.broker is None:
        print(
            "\nMQTT is not available now (the reason stands above); the schedule is spoken all the same.\n",
            file=stderr(),
        )
        return
    command = [*_this_program(), "announce", *(["--config", str(explicit.absolute())] if explicit else [])]
    print(
        f"\nSpeak to it:\n"
        f"  {shlex.join(command)} '洗濯が終わりました'\n"
        f"  any MQTT client: publish text to {base}/announce at {where}\n",
        file=stderr(),
    )
