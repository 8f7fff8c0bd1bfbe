"""The service: MQTT, schedule, queue and sound device around the engine's public face."""

from __future__ import annotations

__distribution__ = "asagoe"
"""PyPI's python-daemon installs a package of the same name; the command checks that this one was imported."""
