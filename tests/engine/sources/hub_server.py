"""A stand-in for the hub: the part of its HTTP API that fetching and publishing use, with faults on demand.

Two servers on two ports: the hub itself, and the storage that it redirects large files to.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

LARGE = 20_000
"""Files from this size on are stored as large files, behind a redirect."""


@dataclass
class Repository:
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    tokens: set[str] | None = None  # None: public

    def commit(self, files: dict[str, bytes], ref: str = "main") -> str:
        sha = hashlib.sha1(repr((len(self.commits), sorted(files))).encode()).hexdigest()
        self.commits[sha] = dict(files)
        self.refs[ref] = sha
        return sha

    def resolve(self, revision: str) -> str | None:
        return revision if revision in self.commits else self.refs.get(revision)


@dataclass
class Fault:
    """What goes wrong with the next requests whose path matches."""

    path: str
    times: int
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    cut_after: int | None = None  # bytes of the body after which the connection breaks
    body: bytes | None = None  # instead of the true one
    ignore_range: bool = False


class HubServer:
    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.faults: list[Fault] = []
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.uploaded: dict[str, bytes] = {}
        self.page_size = 1000
        self.delay = 0.0
        self.lock = threading.Lock()
        self.hub = self._serve()
        self.storage = self._serve()

    def _serve(self) -> ThreadingHTTPServer:
        handler = type("Handler", (_Handler,), {"state": self})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.02,), name="hub-stand-in", daemon=True).start()
        return server

    def stop(self) -> None:
        for server in (self.hub, self.storage):
            server.shutdown()
            server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.hub.server_port}"

    @property
    def storage_url(self) -> str:
        return f"http://localhost:{self.storage.server_port}"

    def fail(self, path: str, times: int = 1, **what: Any) -> None:
        self.faults.append(Fault(path, times, **what))

    def fault_for(self, path: str) -> Fault | None:
        with self.lock:
            for fault in self.faults:
                if fault.times and re.search(fault.path, path):
                    fault.times -= 1
                    return fault
        return None

    def blob(self, digest: str) -> bytes | None:
        for repository in self.repositories.values():
            for files in repository.commits.values():
                for data in files.values():
                    if hashlib.sha256(data).hexdigest() == digest:
                        return data
        return None

    def downloads(self) -> Counter[str]:
        """How often the bytes of each file were asked for."""
        return Counter(path for method, path, _ in self.requests if method == "GET" and "/resolve/" in path)


def git_name(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    state: HubServer
    protocol_version = "HTTP/1.1"
    timeout = 10
    disable_nagle_algorithm = True

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self._handle("GET")

    def do_HEAD(self) -> None:
        self._handle("HEAD")

    def do_POST(self) -> None:
        self._handle("POST")

    def do_PUT(self) -> None:
        self._handle("PUT")

    def _handle(self, method: str) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        if self.headers.get("Transfer-Encoding") == "chunked":
            self.body = self._chunked()
        else:
            self.body = self.rfile.read(length)
        with self.state.lock:
            self.state.requests.append((method, self.path, dict(self.headers)))
        self.fault = self.state.fault_for(self.path)
        if self.fault and self.fault.status:
            self._send(self.fault.status, b'{"error": "on purpose"}', self.fault.headers)
            return
        parts = urlsplit(self.path)
        path = parts.path
        routes = [
            (r"/api/models/([^/]+/[^/]+)(?:/revision/([^/]+))?", self._info),
            (r"/api/models/([^/]+/[^/]+)/tree/([^/]+)(?:/(.+))?", self._tree),
            (r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", self._resolve),
            (r"/storage/([0-9a-f]{64})", self._stored),
            (r"/api/repos/create", self._create),
            (r"/api/models/([^/]+/[^/]+)/preupload/([^/]+)", self._preupload),
            (r"/([^/]+/[^/]+)\.git/info/lfs/objects/batch", self._batch),
            (r"/upload/([0-9a-f]{64})", self._take),
            (r"/api/models/([^/]+/[^/]+)/commit/([^/]+)", self._commit),
            (r"/api/validate-yaml", lambda: self._json({"errors": [], "warnings": []})),
        ]
        for pattern, route in routes:
            found = re.fullmatch(pattern, path)
            if found:
                route(*(group and unquote(group) for group in found.groups()))
                return
        self._send(404, b"{}")

    # Reading.

    def _repository(self, name: str, revision: str | None = None) -> tuple[Repository, str] | None:
        """The repository and commit, or the answer that there is none."""
        repository = self.state.repositories.get(name)
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if token == "revoked":
            self._send(401, b'{"error": "Invalid credentials"}')
            return None
        if repository is None or (repository.tokens is not None and token not in repository.tokens):
            self._send(
                401 if not token else 404, b'{"error": "Repository not found"}', {"X-Error-Code": "RepoNotFound"}
            )
            return None
        sha = repository.resolve(revision or "main")
        if sha is None:
            self._send(404, b'{"error": "Invalid rev id"}', {"X-Error-Code": "RevisionNotFound"})
            return None
        return repository, sha

    def _info(self, name: str, revision: str | None) -> None:
        found = self._repository(name, revision)
        if found:
            siblings = [{"rfilename": path} for path in sorted(found[0].commits[found[1]])]
            self._json({"id": name, "modelId": name, "sha": found[1], "siblings": siblings, "private": False})

    def _tree(self, name: str, revision: str, prefix: str | None) -> None:
        found = self._repository(name, revision)
        if not found:
            return
        files = found[0].commits[found[1]]
        start = f"{prefix}/" if prefix else ""
        listed: list[dict[str, Any]] = []
        for path, data in sorted(files.items()):
            if path.startswith((start, "!")):
                item: dict[str, Any] = {
                    "type": "file",
                    "path": path.lstrip("!"),
                    "size": len(data),
                    "oid": git_name(data),
                }
                if len(data) >= LARGE:
                    digest = hashlib.sha256(data).hexdigest()
                    item |= {"lfs": {"oid": digest, "size": len(data), "pointerSize": 130}, "oid": "0" * 40}
                listed.append(item)
        if not listed and prefix != "empty":
            self._send(404, b'{"error": "Entry not found"}', {"X-Error-Code": "EntryNotFound"})
            return
        at = int(parse_qs(urlsplit(self.path).query).get("cursor", ["0"])[0])
        page = listed[at : at + self.state.page_size]
        headers = {}
        if at + len(page) < len(listed):
            headers["Link"] = f'<{self.state.url}{urlsplit(self.path).path}?cursor={at + len(page)}>; rel="next"'
        folders = [{"type": "directory", "path": f"{start}folder", "oid": "1" * 40, "size": 0}] if not at else []
        self._json(folders + page, headers)

    def _resolve(self, name: str, revision: str, path: str) -> None:
        found = self._repository(name, revision)
        if not found:
            return
        data = found[0].commits[found[1]].get(path)
        if data is None:
            self._send(404, b'{"error": "Entry not found"}', {"X-Error-Code": "EntryNotFound"})
            return
        digest = hashlib.sha256(data).hexdigest()
        headers = {"X-Repo-Commit": found[1]}
        if len(data) >= LARGE:
            headers |= {
                "X-Linked-Etag": f'"{digest}"',
                "X-Linked-Size": str(len(data)),
                "Location": f"{self.state.storage_url}/storage/{digest}",
            }
            self._send(302, b"", headers)
        else:
            self._data(data, headers | {"ETag": f'"{git_name(data)}"'})

    def _stored(self, digest: str) -> None:
        data = self.state.blob(digest)
        if data is None:
            self._send(404, b"")
        else:
            self._data(data, {"ETag": f'"{digest}"'})

    # Publishing.

    def _create(self) -> None:
        name = json.loads(self.body)["name"]
        full = name if "/" in name else f"me/{name}"
        organization = json.loads(self.body).get("organization")
        full = f"{organization}/{name}" if organization else full
        self.state.repositories.setdefault(full, Repository()).commit(
            {}
        ) if full not in self.state.repositories else None
        self._json({"url": f"{self.state.url}/{full}"})

    def _preupload(self, name: str, revision: str) -> None:
        if not self._repository(name, revision):
            return
        files = json.loads(self.body)["files"]
        modes = [
            {"path": f["path"], "uploadMode": "lfs" if f["size"] >= LARGE else "regular", "shouldIgnore": False}
            for f in files
        ]
        self._json({"files": modes})

    def _batch(self, name: str) -> None:
        objects = [
            item | {"actions": {"upload": {"href": f"{self.state.storage_url}/upload/{item['oid']}"}}}
            for item in json.loads(self.body)["objects"]
        ]
        self._json({"transfer": "basic", "objects": objects})

    def _take(self, digest: str) -> None:
        assert hashlib.sha256(self.body).hexdigest() == digest
        self.state.uploaded[digest] = self.body
        self._send(200, b"")

    def _commit(self, name: str, revision: str) -> None:
        found = self._repository(name, revision)
        if not found:
            return
        repository, sha = found
        files = dict(repository.commits[sha])
        for line in self.body.decode().splitlines():
            item = json.loads(line)
            value = item["value"]
            if item["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif item["key"] == "lfsFile":
                files[value["path"]] = self.state.uploaded[value["oid"]]
        new = repository.commit(files)
        self._json({"commitUrl": f"{self.state.url}/{name}/commit/{new}", "commitOid": new, "success": True})

    # Answering.

    def _data(self, data: bytes, headers: dict[str, str]) -> None:
        fault = self.fault
        if fault and fault.body is not None:
            data = fault.body
        found = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        if found and not (fault and fault.ignore_range):
            start = int(found[1])
            if start >= len(data):
                self._send(416, b"", {"Content-Range": f"bytes */{len(data)}"})
                return
            self._send(206, data[start:], headers | {"Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"})
        else:
            self._send(200, data, headers)

    def _json(self, value: Any, headers: dict[str, str] | None = None) -> None:
        body = json.dumps(value).encode()
        if self.fault and self.fault.body is not None:
            body = self.fault.body
        self._send(200, body, {"Content-Type": "application/json"} | (headers or {}))

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        cut = self.fault.cut_after if self.fault else None
        try:
            if cut is not None:
                self.wfile.write(body[:cut])
                self.wfile.flush()
                self.close_connection = True
                self.connection.shutdown(2)
                return
            for at in range(0, len(body), 1 << 14):
                self.wfile.write(body[at : at + (1 << 14)])
                if self.state.delay:
                    time.sleep(self.state.delay)
        except OSError:  # the client went away, or was killed
            self.close_connection = True

    def _chunked(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline().strip() or b"0", 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body
