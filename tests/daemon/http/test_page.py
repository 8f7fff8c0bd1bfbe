"""The page as it is served: to everybody, complete, and with nothing from elsewhere."""

import re
from pathlib import Path

import pytest

from daemon.http.page import PATHS

FOLDER = Path(__file__).parents[3] / "daemon" / "http" / "page"
FILES = sorted(FOLDER.iterdir())
SCRIPTS = {path.name: path.read_text("utf-8") for path in FILES if path.suffix == ".js"}
INDEX = (FOLDER / "index.html").read_text("utf-8")


def test_all_files_of_the_page_are_served_and_no_others():
    assert {"/", *(f"/page/{path.name}" for path in FILES if path.name != "index.html")} == PATHS


def test_the_page_comes_with_a_strict_policy(node):
    answer = node.ask("GET", "/")
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    policy = dict(part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    types = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
    for path in PATHS - {"/"}:
        served = node.ask("GET", path)
        assert served.headers["Content-Type"] == types[Path(path).suffix]
        assert served.body == (FOLDER / Path(path).name).read_bytes()


def test_what_did_not_change_is_not_sent_again(node):
    tag = node.ask("GET", "/page/app.js").headers["ETag"]
    assert node.ask("GET", "/page/app.js", headers={"If-None-Match": tag}, status=304).body == b""


@pytest.mark.parametrize("name", ["nothing.js", "..%2fserver.py", "%2e%2e%2fserver.py", "index.html", "../server.py"])
def test_no_other_file_can_be_had(node, name):
    assert b"import" not in node.ask("GET", f"/page/{name}", status=404).body


def test_it_is_there_before_the_token_is_known_and_tells_nothing(make_node):
    with make_node(settings={"token": "s3cret"}) as node:
        for path in PATHS:
            assert b"s3cret" not in node.ask("GET", path).body
        node.ask("GET", "/api/state", status=401)
        node.ask("GET", "/api/events", status=401)


def test_nothing_comes_from_elsewhere_and_nothing_is_inline():
    for path in FILES:
        text = path.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|//[a-z]+\.|@import", text), path.name
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", INDEX)
    for name, text in SCRIPTS.items():
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text), name


def test_every_word_is_there_in_both_languages():
    words = SCRIPTS["words.js"]
    table = words[words.index("const WORDS = {") : words.index("\n};")]
    known = set(re.findall(r"^  (\w+): \[", table, re.MULTILINE))
    entries = re.findall(r'^  \w+: \[\s*"(?:[^"\\]|\\.)+",\s*"(?:[^"\\]|\\.)+",?\s*\]', table, re.MULTILINE)
    assert len(entries) == len(known)
    used = set(re.findall(r'data-t="(\w+)"', INDEX))
    for text in SCRIPTS.values():
        used |= set(re.findall(r'\bt\("(\w+)"', text))
        used |= set(re.findall(r'\baction\(item, "(\w+)"', text))
    assert used <= known, used - known
    assert {f"quiet_{mode}" for mode in ("auto", "on", "off")} <= known
    stages = {"accepted", "queued", "started", "interrupted", "deferred", "finished", "failed", "dropped", "expired"}
    origins = {f"origin_{name}" for name in ("mqtt", "http", "cli", "alarm", "briefing", "schedule", "quiet")}
    states = {"ready", "released", "elsewhere", "unavailable", "level_ok", "level_warn", "level_fail", "missed"}
    assert stages | origins | states <= known


def test_every_control_has_a_label():
    ids = set(re.findall(r'\bid="([\w-]+)"', INDEX))
    for text in SCRIPTS.values():
        assert set(re.findall(r'\$\("([\w-]+)"\)', text)) <= ids
    for control in re.findall(r"<(?:input|select|textarea)\b[^>]*>", INDEX):
        if " hidden" in control:
            continue
        before = INDEX[: INDEX.index(control)]
        assert before.rfind("<label") > before.rfind("</label"), control
    for name in re.findall(r'aria-labelledby="([\w-]+)"', INDEX):
        assert name in ids
    assert re.search(r'<html lang="\w+"', INDEX)
