from __future__ import annotations

import pytest

from tests.system.house import House


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/system" in str(item.path):
            item.add_marker(pytest.mark.system)


@pytest.fixture
def make_house(tmp_path):
    """Makes houses that are torn down after the test."""
    opened = []

    def make(config=None, **options):
        folder = tmp_path / f"house{len(opened)}"
        folder.mkdir()
        house = House(folder, config, **options)
        opened.append(house)
        return house.__enter__()

    yield make
    for house in reversed(opened):
        house.__exit__()


@pytest.fixture
def house(make_house):
    return make_house()
