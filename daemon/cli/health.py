"""``asagoe doctor --health``: how a running service is. Imports little: a container asks twice a minute."""

from __future__ import annotations

import sys
import time

from daemon.service.pulse import read_pulse, runtime_folder


def show_health() -> int:
    """Ask the services of this machine, or container; returns 0 if all can speak now, else 1."""
    beats = {path.stem: read_pulse(path.stem, time.monotonic()) for path in sorted(runtime_folder().glob("*.pulse"))}
    if not beats:
        print(f"no asagoe runs here: {runtime_folder()} holds no pulse", file=sys.stderr)
    for node, beat in beats.items():
        print(f"{node}: {beat.text}")
    return int(not beats or not all(beat.well for beat in beats.values()))
