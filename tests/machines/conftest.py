"""Whole machines, made and started by ``script/test-system``: without its folder these files are not even collected."""

from __future__ import annotations

import os

import pytest

collect_ignore_glob = [] if os.environ.get("ASAGOE_MACHINES") else ["test_*.py"]


@pytest.fixture(scope="module")
def container(image):
    """A container of the image that the module builds."""
    from tests.machines.images import Container  # with it comes what only machines need

    made = Container(image)
    yield made
    made.end()
