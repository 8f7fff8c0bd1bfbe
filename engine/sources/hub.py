"""The hub (``hf://``), by huggingface_hub: its addresses, its listing, its errors; the bytes go through the cache.

huggingface_hub reads its environment when it is imported, and its own cache and transports keep state in the home
folder, which a service may not have. Endpoint and token are therefore read here at every use, files come by plain HTTP
with ranges, and nothing is written outside the cache.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote

from engine._version import __version__
from engine.errors import EngineError, SourceUnreachableError, VoiceNotAvailableError
from engine.sources.base import Listing, RemoteFile

if TYPE_CHECKING:
    import httpx2

CONNECT_TIMEOUT = 10.0
READ_TIMEOUT = 30.0
"""Seconds without a byte after which a connection counts as dead."""

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?"
_ADDRESS = re.compile(rf"({_NAME}/{_NAME})(?:@([A-Za-z0-9][A-Za-z0-9._/-]{{0,199}}))?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_PICKLES = ["*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.pickle"]


@dataclass(frozen=True, slots=True)
class HubRemote:
    """A repository of models.

    Attributes:
        repository: ``user/repo``.
        revision: branch, tag or commit; None for the newest of the main branch.
    """

    repository: str
    revision: str | None = None

    @classmethod
    def parse(cls, text: str) -> HubRemote | None:
        """Read what stands behind ``hf://``."""
        found = _ADDRESS.fullmatch(text)
        if not found or ".." in text or "--" in found[1] or "//" in text:
            return None
        return cls(found[1], found[2])

    @property
    def uri(self) -> str:
        """See ``Remote``."""
        return f"hf://{self.repository}" + (f"@{self.revision}" if self.revision else "")

    @property
    def slug(self) -> str:
        """See ``Remote``."""
        return f"hf/{self.repository}" + (f"@{quote(self.revision, safe='')}" if self.revision else "")

    @property
    def pinned(self) -> bool:
        """See ``Remote``."""
        return bool(self.revision and _COMMIT.fullmatch(self.revision))

    def listing(self, prefix: str) -> Listing:
        """See ``Remote``."""
        import huggingface_hub  # noqa: PLC0415 - half a second that only a download needs

        with self._errors(), _sense():
            api = huggingface_hub.HfApi(endpoint=_endpoint(), token=_token() or False, library_name="asagoe")
            info = api.model_info(self.repository, revision=self.revision, timeout=READ_TIMEOUT)
            commit = str(info.sha)
            url: str | None = f"{_endpoint()}/api/models/{self.repository}/tree/{commit}/{quote(prefix, safe='')}"
            found: list[dict[str, Any]] = []
            parameters: dict[str, Any] | None = {"recursive": True, "expand": False}
            while url:
                with self._stream(url, {}, parameters) as response:
                    if response.status_code == 404 and response.headers.get("X-Error-Code") == "EntryNotFound":
                        names = [item.rfilename for item in info.siblings or []]
                        raise VoiceNotAvailableError(self._missing(prefix, names))
                    self._check(response)
                    response.read()
                    found += response.json()
                    url, parameters = response.links.get("next", {}).get("url"), None
            return Listing(commit, tuple(_file(item, prefix) for item in found if item["type"] == "file"))

    @contextmanager
    def read(self, prefix: str, file: RemoteFile, revision: str, offset: int) -> Iterator[tuple[int, Iterator[bytes]]]:
        """See ``Remote``."""
        import huggingface_hub  # noqa: PLC0415

        name = f"{prefix}/{file.path}"
        url = huggingface_hub.hf_hub_url(self.repository, name, revision=revision, endpoint=_endpoint())
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={offset}-"} if offset else {})
        with self._errors(), self._stream(url, headers) as response:
            if response.status_code == 416:  # the part here is not a part of what is there
                message = f"{self.uri} has no byte {offset} of {name}"
                raise SourceUnreachableError(message)
            self._check(response)
            start = offset if _begins_at(response, offset) else 0
            yield (
                start,
                response.iter_bytes(),
            )  # as they come: a chunk that waits to be full is lost with the connection

    def upload(self, prefix: str, folder: Path) -> str:
        """See ``Source``; the repository is made, private, if there is none."""
        import huggingface_hub  # noqa: PLC0415

        token = _token()
        if token is None:
            message = f"publishing to {self.uri} needs a token that may write; set HF_TOKEN or HF_TOKEN_PATH"
            raise VoiceNotAvailableError(message)
        with self._errors(), _no_bars():
            api = huggingface_hub.HfApi(endpoint=_endpoint(), token=token, library_name="asagoe")
            api.create_repo(self.repository, private=True, exist_ok=True)
            commit = api.upload_folder(
                repo_id=self.repository,
                folder_path=folder,
                path_in_repo=prefix,
                revision=self.revision,
                commit_message=f"Publish {prefix}",
                ignore_patterns=_PICKLES,
            )
        return str(commit.oid)

    @contextmanager
    def _stream(
        self, url: str, headers: dict[str, str], parameters: dict[str, Any] | None = None
    ) -> Iterator[httpx2.Response]:
        import httpx2  # noqa: PLC0415
        from huggingface_hub import get_session  # noqa: PLC0415

        token = _token()
        ours = {"User-Agent": f"asagoe/{__version__}"} | ({"Authorization": f"Bearer {token}"} if token else {})
        timeout = httpx2.Timeout(READ_TIMEOUT, connect=CONNECT_TIMEOUT)
        # The session drops the token where a redirect leads to another host.
        with get_session().stream(
            "GET", url, headers=ours | headers, params=parameters, timeout=timeout, follow_redirects=True
        ) as response:
            yield response

    def _check(self, response: httpx2.Response) -> None:
        from huggingface_hub import hf_raise_for_status  # noqa: PLC0415

        if response.is_error:
            response.read()
            hf_raise_for_status(response)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """What goes wrong, as an error that says what to do."""
        import httpx2  # noqa: PLC0415
        from huggingface_hub import errors  # noqa: PLC0415

        try:
            yield
        except EngineError:
            raise
        except errors.OfflineModeIsEnabled as error:
            message = f"{self.uri} is not asked because HF_HUB_OFFLINE is set; unset it to download"
            raise VoiceNotAvailableError(message) from error
        except errors.HfHubHTTPError as error:
            self._explain(error)
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            message = f"{self.uri} cannot be reached at {_endpoint()} ({str(error) or type(error).__name__})"
            raise SourceUnreachableError(message) from error
        except ConnectionError as error:  # of the transport that large uploads go by
            message = f"{self.uri} broke off ({error})"
            raise SourceUnreachableError(message) from error
        except httpx2.InvalidURL as error:
            message = f"HF_ENDPOINT is {_endpoint()!r}, which is no address ({error})"
            raise VoiceNotAvailableError(message) from error

    def _explain(self, error: Any) -> NoReturn:
        status, code = error.response.status_code, error.response.headers.get("X-Error-Code", "")
        if status in {408, 425, 429} or status >= 500:
            message = f"{self.uri} answers {status}; it is asked again later"
            raise SourceUnreachableError(message, _retry_after(error.response)) from error
        where = f"revision {self.revision!r} of {self.repository}" if self.revision else self.repository
        if code == "RevisionNotFound":
            message = f"the hub has no {where}; name a branch, a tag or a commit that exists"
        elif code == "EntryNotFound":
            message = f"{self.uri} has lost a file while it was fetched; fetch it again"
        elif status == 401 and _token():
            message = (
                f"the hub refuses the token for {self.repository} (401); renew HF_TOKEN or the file of HF_TOKEN_PATH"
            )
        elif status in {401, 404}:
            private = "the token may not read it" if _token() else "it is private and needs a token (HF_TOKEN)"
            message = f"the hub shows no repository {self.repository} ({status}): it does not exist, or {private}"
        elif status == 403:
            message = f"the hub forbids {self.uri} (403): accept the terms on its page, or use a token that may do this"
        else:
            message = f"{self.uri} answers {status} ({str(error).strip().splitlines()[0]})"
        raise VoiceNotAvailableError(message) from error

    def _missing(self, prefix: str, names: list[str]) -> str:
        above = prefix.rpartition("/")[0]
        start = f"{above}/" if above else ""
        others = sorted({name[len(start) :].split("/")[0] for name in names if name.startswith(start)})
        there = f"{above or 'it'} has {', '.join(others)}" if others else "it is not a tree of published voices"
        return f"{self.uri} has no {prefix}; {there}"


@contextmanager
def _no_bars() -> Iterator[None]:
    """A library does not draw on its user's terminal."""
    utils: Any = import_module("huggingface_hub.utils")  # whose types do not export what it does
    drawn = not utils.are_progress_bars_disabled()
    utils.disable_progress_bars()
    try:
        yield
    finally:
        if drawn:
            utils.enable_progress_bars()


@contextmanager
def _sense() -> Iterator[None]:
    """An answer that is no hub's, as an error."""
    try:
        yield
    except (EngineError, OSError):
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        message = (
            f"{_endpoint()} does not answer as a hub does ({type(error).__name__}: {error}); is there a login page in "
            "the network?"
        )
        raise SourceUnreachableError(message) from error


def _file(item: dict[str, Any], prefix: str) -> RemoteFile:
    lfs = item.get("lfs")
    digest = f"sha256:{lfs['oid']}" if lfs else f"git:{item['oid']}"
    path = str(item["path"])
    # What is not below the prefix keeps its path, which the cache then refuses.
    return RemoteFile(
        path.removeprefix(f"{prefix}/") if path.startswith(f"{prefix}/") else f"/{path}", int(item["size"]), digest
    )


def _begins_at(response: httpx2.Response, offset: int) -> bool:
    content = response.headers.get("Content-Range", "")
    return response.status_code == 206 and content.startswith(f"bytes {offset}-")


def _retry_after(response: httpx2.Response) -> float | None:
    value = response.headers.get("Retry-After", "")
    return float(value) if value.isdecimal() else None


def _endpoint() -> str:
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or "https://huggingface.co"


def _token() -> str | None:
    """``HF_TOKEN``, the file of ``HF_TOKEN_PATH``, the systemd credential ``hf-token``, or the user's login.

    Raises:
        VoiceNotAvailableError: ``HF_TOKEN_PATH`` cannot be read.
    """
    from huggingface_hub import get_token  # noqa: PLC0415

    token = os.environ.get("HF_TOKEN", "").strip()
    if token:
        return token
    named = os.environ.get("HF_TOKEN_PATH")
    credentials = os.environ.get("CREDENTIALS_DIRECTORY")
    try:
        if named:
            return Path(named).read_text("utf-8").strip() or None
    except OSError as error:
        message = f"HF_TOKEN_PATH names {named}, which cannot be read ({error.strerror})"
        raise VoiceNotAvailableError(message) from error
    if credentials and (Path(credentials) / "hf-token").is_file():
        return (Path(credentials) / "hf-token").read_text("utf-8").strip() or None
    return get_token()
