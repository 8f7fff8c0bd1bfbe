"""The user's guides say what a running service has: paths of HTTP, commands of MQTT."""

import re
from pathlib import Path

import pytest

from tests.daemon.http.conftest import Node

DOCS = Path(__file__).parents[3] / "docs"
HTTP, MQTT = ((DOCS / name).read_text(encoding="utf-8") for name in ("http.md", "mqtt.md"))
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    with Node(tmp_path_factory.mktemp("docs")) as running:
        yield running


def told_paths():
    """Method and path of each row of the table; `…/x` stands for the path before it with another last part."""
    section = HTTP.partition("## Asagoe's own paths")[2].partition("\n## ")[0]
    for row in (line for line in section.splitlines() if line.startswith("| `")):
        method = path = ""
        for word in " ".join(re.findall(r"`([^`]*)`", row.split(" | ")[0])).split():
            if word in METHODS:
                method = word
            else:
                path = path.rpartition("/")[0] + word[1:] if word.startswith("…") else word.partition("?")[0]
                yield method, path


def test_the_table_has_every_path_of_our_own_and_no_other(node):
    found = {
        (method.upper(), re.sub(r"\{\w*id\}", "ID", path).replace("{name}", "NAME"))
        for path, methods in node.ask("GET", "/openapi.json").json["paths"].items()
        for method in methods
        if path.startswith("/api/") or path in ("/health", "/metrics")
    }
    assert set(told_paths()) == found


def test_every_path_of_voicevox_stands_in_the_guide(node):
    paths = [p for p in node.ask("GET", "/openapi.json").json["paths"] if not p.startswith(("/api/", "/health", "/me"))]
    assert len(paths) > 30
    for path in paths:
        assert f"`{path.partition('/{')[0]}" in HTTP or f"POST {path}?" in HTTP or f"POST {path}`" in HTTP, path


def test_every_command_of_mqtt_stands_in_the_guide_and_no_other(node):
    names = {re.sub(r"^(set/(?:alarm|schedule))/.*", r"\1", name) for name in node.service.house.commands.names}
    told = {name.removesuffix("/") for name in re.findall(r"`…/((?:do|set)/[a-z_]+)", MQTT.partition("\n## ")[0])}
    assert told == names


@pytest.mark.parametrize(("path", "topic"), [("/api/state", "state"), ("/health", "health")])
def test_every_key_of_what_the_node_tells_stands_in_the_guide(node, path, topic):
    (row,) = [line for line in MQTT.splitlines() if line.startswith(f"| `…/{topic}` |")]
    told = node.ask("GET", path).json
    assert len(told) > 8
    if topic == "health":  # HTTP adds one; without MQTT there is no connection to tell of
        told = told.keys() - {"status"} | {"mqtt"}
    for key in told:
        assert f"`{key}`" in row, key
