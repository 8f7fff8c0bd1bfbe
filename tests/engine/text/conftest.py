from __future__ import annotations

import pytest

from engine.text import TextPipeline


@pytest.fixture(scope="session")
def pipeline() -> TextPipeline:
    return TextPipeline()
