"""Where voices come from (hub, S3, folders), and the cache that keeps what was fetched."""

from engine.sources.base import Listing, Progress, Remote, RemoteFile, Source, Step
from engine.sources.local import LocalSource
from engine.sources.parse import BUNDLED_SCHEME, VoiceSource, parse_source

__all__ = [
    "BUNDLED_SCHEME",
    "Listing",
    "LocalSource",
    "Progress",
    "Remote",
    "RemoteFile",
    "Source",
    "Step",
    "VoiceSource",
    "parse_source",
]
