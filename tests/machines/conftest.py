"""Whole machines, made and started by ``script/test-system``: without its folder these files are not even collected."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("ASAGOE_MACHINES") else ["test_*.py"]
