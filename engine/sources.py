"""Where a speaker's voice comes from: the text of a source, read strictly."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import VoiceNotAvailableError

BUNDLED_SCHEME = "openjtalk"


@dataclass(frozen=True, slots=True)
class VoiceSource:
    """A parsed source.

    Attributes:
        family: which voice family loads it.
        model: what the family is given: a name or a path.
    """

    family: str
    model: str


def parse_source(source: str) -> VoiceSource:
    """Read a source such as ``openjtalk:mei``.

    Raises:
        VoiceNotAvailableError: the source is of no known form.
    """
    scheme, colon, rest = source.partition(":")
    if scheme == BUNDLED_SCHEME and colon and rest:
        return VoiceSource("openjtalk", rest)
    message = f"the source {source!r} is not understood; known is openjtalk:NAME, for example openjtalk:mei"
    raise VoiceNotAvailableError(message)
