"""A Debian folder that is booted with systemd-nspawn, without a network, and commands inside it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

RATE, CHANNELS = 48_000, 2
ASOUND = f"""\
pcm.!default {{
  type plug
  slave {{ pcm speaker rate {RATE} channels {CHANNELS} format S16_LE }}
  hint {{ show on description "default" }}
}}
pcm.speaker {{ type file slave.pcm {{ type null }} file "/srv/speaker" format raw }}
"""
"""Sound that is sent to the default device goes into a pipe. What reads the pipe is the amplifier."""


def machines_folder() -> Path:
    return Path(os.environ["ASAGOE_MACHINES"])


def wait_for(condition, timeout: float, what: str):
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.2)
    raise AssertionError(f"waited {timeout} s for {what}")


@dataclass
class Machine:
    """A copy of a Debian folder, by an overlay; what is written goes into a folder that is removed in the end."""

    base: Path
    folder: Path
    binds: dict[Path, str] = field(default_factory=dict)
    process: subprocess.Popen | None = None
    leader: int = 0

    @property
    def root(self) -> Path:
        return self.folder / "root"

    def mount(self):
        for name in ("upper", "work", "root"):
            (self.folder / name).mkdir(parents=True)
        options = f"lowerdir={self.base},upperdir={self.folder / 'upper'},workdir={self.folder / 'work'}"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, str(self.root)], check=True)

    def run_offline(self, script: str):
        """Run a command before it is booted."""
        subprocess.run(["chroot", str(self.root), "/bin/sh", "-c", script], check=True, stdin=subprocess.DEVNULL)

    def boot(self):
        """Start systemd in it. It has a loopback device of its own and no other network."""
        command = ["systemd-nspawn", "--quiet", "--boot", "--register=no", "--keep-unit", "--private-network"]
        command += [f"--machine=asagoe-{os.getpid()}", "--console=read-only", f"--directory={self.root}"]
        command += [f"--bind-ro={path}:{inside}" for path, inside in self.binds.items()]
        with (self.folder / "console").open("w") as console:
            self.process = subprocess.Popen(command, stdout=console, stderr=console, stdin=subprocess.DEVNULL)
        self.leader = wait_for(self._leader, 20, "the first process")
        states = ("running", "degraded")
        wait_for(lambda: self.run("systemctl is-system-running", check=False).stdout.strip() in states, 60, "the boot")

    def _leader(self) -> int | None:
        assert self.process is not None
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        for child in map(int, children):
            with contextlib.suppress(OSError):
                if Path(f"/proc/{child}/comm").read_text().strip() == "systemd":
                    return child
        return None

    def run(self, script: str, *, check: bool = True, timeout: float = 300, user: str = "root", **environment: str):
        """Run a shell script inside; its output is text."""
        where = [
            "nsenter",
            f"--target={self.leader}",
            "--mount",
            "--uts",
            "--ipc",
            "--net",
            "--pid",
            "--root",
        ]
        clean = ["env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"]
        clean += [f"{key}={value}" for key, value in environment.items()]
        who = [] if user == "root" else ["runuser", "-u", user, "--"]
        done = subprocess.run(
            [*where, *clean, *who, "/bin/sh", "-c", f"cd /; {script}"],
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
        )
        if check and done.returncode:
            raise AssertionError(f"{script}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done

    def write(self, path: str, text: str):
        (self.root / path.lstrip("/")).write_text(text)

    def show(self, name: str, unit: str = "asagoe") -> str:
        """A property of a unit."""
        return self.run(f"systemctl show {unit} --property={name} --value").stdout.strip()

    def cursor(self) -> str:
        """The place in the journal where it ends now."""
        return self.run("journalctl --show-cursor -n 0 | sed -n 's/^-- cursor: //p'").stdout.strip()

    def journal(self, cursor: str, *, ours: bool = False) -> list[str]:
        """The messages of the unit since then; ``ours`` leaves out what systemd says of it."""
        only = "_COMM=asagoe" if ours else "-u asagoe"
        return self.run(f"journalctl -q -o cat {only} --after-cursor='{cursor}'").stdout.splitlines()

    def files(self) -> set[str]:
        """Everything in its own file system."""
        found = self.run("find / -xdev -not -path '/var/log/journal/*' -not -path '/tmp/*' -not -path '/var/tmp/*'")
        return set(found.stdout.splitlines())

    def end(self):
        """Switch off and remove what was written."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.leader, signal.SIGRTMIN + 4)  # systemd(1): power off
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(5)
        subprocess.run(["umount", str(self.root)], check=False)
        subprocess.run(["rm", "-rf", str(self.folder)], check=True)


class Amplifier:
    """Reads the pipe that stands for the sound card, and keeps what it reads."""

    def __init__(self, machine: Machine):
        self.pipe, self.raw = machine.root / "srv/speaker", machine.folder / "heard"
        machine.write("/etc/asound.conf", ASOUND)
        if not self.pipe.exists():
            os.mkfifo(self.pipe)
        self.pipe.chmod(0o666)
        self.raw.touch()
        # Opened for writing too, so that it never sees an end between two sounds.
        self.reader = subprocess.Popen(["sh", "-c", f"exec cat <>{self.pipe} >{self.raw}"])

    @property
    def position(self) -> int:
        return self.raw.stat().st_size

    def heard(self, since: int) -> float:
        """Seconds of sound that are not silence."""
        samples = np.fromfile(self.raw, "<i2", offset=since)
        blocks = samples[: len(samples) // 1920 * 1920].reshape(-1, 1920)  # of 20 ms
        return 0.02 * int((np.abs(blocks.astype(np.int32)).max(axis=1, initial=0) > 300).sum())

    def freeze(self):
        """Stop taking sound, as a driver that hangs does."""
        self.reader.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.reader.send_signal(signal.SIGCONT)

    def end(self):
        self.thaw()
        self.reader.kill()
        self.reader.wait(5)
