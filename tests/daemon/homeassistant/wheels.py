"""Wheels of Home Assistant to ask: those in the folder that ASAGOE_HOMEASSISTANT_WHEELS names (script/test --all)."""

import json
import os
import subprocess
import sys
from pathlib import Path

NEWEST, OLDER = "2026.11.0", "2026.2.3"
"""The newest when this was written, and one that does not know the platforms time and datetime."""


def wheel(version):
    folder = os.environ.get("ASAGOE_HOMEASSISTANT_WHEELS")
    found = sorted(Path(folder).glob(f"homeassistant-{version}-*.whl")) if folder else []
    return found[0] if found else None


def ask(version, messages):
    """What Home Assistant's schemas say about ``(topic, payload)``: a list of [topic, component, sentence]."""
    asked = [{"topic": topic, "payload": json.loads(payload)} for topic, payload in messages]
    oracle = Path(__file__).with_name("oracle.py")
    ran = subprocess.run(
        [sys.executable, str(oracle), str(wheel(version))],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)
