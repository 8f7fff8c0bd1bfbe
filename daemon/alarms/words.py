"""The text of an alarm at its moment."""

from __future__ import annotations

import re
from datetime import datetime

_NOW = re.compile(r"\{\{\s*now\s*\|\s*time\s*\}\}")


def words(template: str, moment: datetime) -> str:
    """A template at a moment."""
    return _NOW.sub(f"{moment:%-H:%M}", template)
