"""Is an announcement lost or said twice when the connection to the broker has random faults?

A proxy between the service and a real mosquitto drops, stalls, delays and half-closes connections for some minutes,
while announcements are sent straight to the broker. The service's own journal says what became of each.

    python -m benchmarks.mqtt_faults [MINUTES [SEED]]
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from tests.system.faults import run_with_faults


def main() -> int:
    """Run and report; the exit code says whether all was as it should be."""
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory() as folder:
        outcome = run_with_faults(Path(folder), 60 * minutes, seed)
    console = Console()
    for key, value in asdict(outcome).items():
        console.print(f"{key:12} {value}", markup=False)
    return 1 if outcome.lost or outcome.doubled or outcome.stale else 0


if __name__ == "__main__":
    sys.exit(main())
