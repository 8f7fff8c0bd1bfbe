"""S3 (``s3://``), by boto3: AWS, and with ``AWS_ENDPOINT_URL_S3`` whatever speaks its language (R2, MinIO)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote, urlsplit

from engine.errors import EngineError, SourceUnreachableError, VoiceNotAvailableError
from engine.sources.base import Listing, RemoteFile
from engine.sources.manifest import sha256

if TYPE_CHECKING:
    from types import ModuleType

CONNECT_TIMEOUT = 10.0
READ_TIMEOUT = 30.0
"""Seconds without a byte after which a connection counts as dead."""

_ADDRESS = re.compile(r"([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:/[^/\\?#]+)*)/?")
_CHUNK = 1 << 16  # what of it has come is lost with the connection
_SHA256 = "sha256"
_AGAIN = {
    "InternalError", "OperationAborted", "PreconditionFailed", "RequestTimeout", "RequestTimeTooSkewed",
    "ServiceUnavailable", "SlowDown", "Throttling",
}  # fmt: skip
_NO_ENTRY = {
    "AccessDenied", "AllAccessDisabled", "ExpiredToken", "InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class S3Remote:
    """A tree in a bucket.

    Attributes:
        bucket: its name.
        root: of the tree, without a slash at either end; empty for the whole bucket.
    """

    bucket: str
    root: str = ""

    @classmethod
    def parse(cls, text: str) -> S3Remote | None:
        """Read what stands behind ``s3://``."""
        found = _ADDRESS.fullmatch(text)
        if not found or ".." in found[1] or {".", ".."} & set(found[2].split("/")):
            return None
        return cls(found[1], found[2].strip("/"))

    @property
    def uri(self) -> str:
        """See ``Remote``."""
        return f"s3://{self.bucket}" + (f"/{self.root}" if self.root else "")

    @property
    def slug(self) -> str:
        """See ``Remote``; buckets of one name at two endpoints are two."""
        place = urlsplit(_endpoint() or "//amazon").netloc.rpartition("@")[2]
        return f"s3/{quote(place, safe='')}/{self.bucket}" + (f"/{quote(self.root, safe='')}" if self.root else "")

    @property
    def pinned(self) -> bool:
        """See ``Remote``."""
        return False

    def listing(self, prefix: str) -> Listing:
        """See ``Remote``."""
        start = self._key(prefix, "")
        files = []
        with self._client() as client:
            for page in client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=start):
                for item in page.get("Contents", ()):
                    path = item["Key"].removeprefix(start)
                    if path and not path.endswith("/"):  # consoles make empty objects for folders
                        files.append(RemoteFile(path, item["Size"], self._digest(client, item)))
        return Listing("", tuple(files))

    @contextmanager
    def read(self, prefix: str, file: RemoteFile, revision: str, offset: int) -> Iterator[tuple[int, Iterator[bytes]]]:
        """See ``Remote``."""
        del revision
        with self._client() as client:
            options = {"Range": f"bytes={offset}-"} if offset else {}
            kind, _, tag = file.digest.partition(":")
            if kind == "etag":  # not a byte of another version
                options["IfMatch"] = f'"{tag}"'
            answer = client.get_object(Bucket=self.bucket, Key=self._key(prefix, file.path), **options)
            start = offset if answer.get("ContentRange", "").startswith(f"bytes {offset}-") else 0
            with answer["Body"] as body:
                yield start, iter(lambda: body.read(_CHUNK), b"")

    def upload(self, prefix: str, folder: Path) -> str:
        """See ``Source``; each object carries its SHA-256, which a download is compared with."""
        with self._client() as client:
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    key = self._key(prefix, path.relative_to(folder).as_posix())
                    client.upload_file(str(path), self.bucket, key, ExtraArgs={"Metadata": {_SHA256: sha256(path)}})
        return ""

    def _key(self, prefix: str, path: str) -> str:
        return "/".join(part for part in (self.root, prefix) if part) + f"/{path}"

    def _digest(self, client: Any, item: dict[str, Any]) -> str:
        head = client.head_object(Bucket=self.bucket, Key=item["Key"])
        known = head["Metadata"].get(_SHA256, "")
        tag = str(head["ETag"]).strip('"')
        return f"sha256:{known}" if re.fullmatch(r"[0-9a-f]{64}", known) else f"etag:{tag}"

    @contextmanager
    def _client(self) -> Iterator[Any]:
        """A client, and what goes wrong with it as an error that says what to do."""
        _boto3()
        from boto3.exceptions import S3UploadFailedError  # noqa: PLC0415
        from botocore import exceptions  # noqa: PLC0415

        credentials = (exceptions.NoCredentialsError, exceptions.PartialCredentialsError, exceptions.ProfileNotFound)
        try:
            yield _client_of(tuple(sorted(item for item in os.environ.items() if item[0].startswith("AWS_"))))
        except EngineError:
            raise
        except exceptions.ClientError as error:
            self._explain(error)
        except S3UploadFailedError as error:
            message = f"{self.uri} does not take the upload ({error})"
            raise VoiceNotAvailableError(message) from error
        except credentials as error:
            message = f"{self.uri} needs credentials ({error}); set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            raise VoiceNotAvailableError(message) from error
        except (exceptions.HTTPClientError, exceptions.ConnectionError, exceptions.IncompleteReadError) as error:
            message = f"{self.uri} cannot be reached ({error})"
            raise SourceUnreachableError(message) from error
        except exceptions.BotoCoreError as error:
            message = f"{self.uri} cannot be used ({error}); check AWS_ENDPOINT_URL_S3 and the AWS configuration"
            raise VoiceNotAvailableError(message) from error

    def _explain(self, error: Any) -> NoReturn:
        answer = error.response
        code = str(answer.get("Error", {}).get("Code", ""))
        status = int(answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        if code in _AGAIN or status in {408, 412, 416, 429} or status >= 500:
            asked = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("retry-after", "")
            message = f"{self.uri} answers {code or status}; it is asked again later"
            raise SourceUnreachableError(message, float(asked) if asked.isdecimal() else None) from error
        if code == "NoSuchBucket":
            message = (
                f"there is no bucket {self.bucket!r} at {_endpoint() or 'AWS'}; check its name and AWS_ENDPOINT_URL_S3"
            )
        elif code in _NO_ENTRY or status in {401, 403}:
            message = (
                f"{self.uri} refuses the credentials ({code or status}); they must be valid, and may list and read it"
            )
        elif status == 404:
            message = f"{self.uri} has lost a file while it was fetched; fetch it again"
        else:
            message = f"{self.uri} answers {code or status}: {answer.get('Error', {}).get('Message', '')}"
        raise VoiceNotAvailableError(message) from error


@lru_cache(maxsize=1)
def _client_of(environment: tuple[tuple[str, str], ...]) -> Any:
    """A client; making one takes up to a second on a small machine.

    Args:
        environment: what it is made of.

    Raises:
        VoiceNotAvailableError: the endpoint is no address.
    """
    del environment
    from botocore.config import Config  # noqa: PLC0415

    config = Config(
        connect_timeout=CONNECT_TIMEOUT,
        read_timeout=READ_TIMEOUT,
        retries={"total_max_attempts": 1},
        # Other makers' buckets have no names of their own in DNS, and not all know the newest checksums.
        s3={"addressing_style": "path" if _endpoint() else "auto"},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    session = _boto3().session.Session()
    region = session.region_name or "us-east-1"
    try:
        return session.client("s3", config=config, endpoint_url=_endpoint(), region_name=region)
    except ValueError as error:
        message = f"AWS_ENDPOINT_URL_S3 is {_endpoint()!r}, which is no address ({error})"
        raise VoiceNotAvailableError(message) from error


def _endpoint() -> str | None:
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or None


def _boto3() -> ModuleType:
    try:
        import boto3  # noqa: PLC0415 - an extra
    except ImportError as error:
        message = "s3:// needs boto3, which is not installed; run: pip install 'asagoe[s3]'"
        raise VoiceNotAvailableError(message) from error
    module: ModuleType = boto3
    return module
