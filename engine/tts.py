"""The engine's front door: which speakers there are, and their life."""

from __future__ import annotations

import gc
import os
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

from platformdirs import user_cache_path

from engine.errors import EngineError, InvalidOptionError, PrepareError, UnknownSpeakerError
from engine.memory import trim
from engine.options import SpeechOptions
from engine.sources import parse_source
from engine.speaker import Speaker
from engine.text import Dictionary, TextPipeline, load_dictionary
from engine.voices.base import LoadContext, VoiceFamily

DEFAULT_SOURCE = "openjtalk:mei"
_WARMUP = "はい、準備ができました。"


def cache_root() -> Path:
    """Where fetched and prepared things live: ``ASAGOE_CACHE``, else systemd's folder, else the user's cache."""
    for name in ("ASAGOE_CACHE", "CACHE_DIRECTORY"):
        folder = os.environ.get(name)
        if folder:
            return Path(folder.split(":")[0]).expanduser()
    return user_cache_path("asagoe", appauthor=False)


@dataclass(frozen=True, slots=True)
class _Spec:
    source: str
    voice: str | None
    defaults: SpeechOptions


class TTS:
    """A set of speakers that share the text pipeline and whatever models they have in common.

    ``load`` declares and does no I/O; ``prepare`` loads what was declared since; both chain.

    Args:
        device: "cpu", "cuda" or "cuda:N".
        cache_dir: instead of ``cache_root()``.
        compile: let ``torch.compile`` specialise neural voices on a CUDA device: loading takes minutes then.

    Raises:
        InvalidOptionError: there is no such kind of device, or nothing to compile on it.
    """

    def __init__(
        self,
        device: str = "cpu",
        *,
        cache_dir: Path | str | None = None,
        compile: bool = False,  # noqa: A002 - the word of PyTorch
    ) -> None:
        if not re.fullmatch(r"cpu|cuda(:\d+)?", device):
            message = f"device must be cpu, cuda or cuda:N, got {device!r}"
            raise InvalidOptionError(message)
        if compile and device == "cpu":
            message = "compile is for CUDA devices: on the processor voices run on ONNX Runtime; leave it out"
            raise InvalidOptionError(message)
        self.text = TextPipeline()
        self._device = device
        self._compile = compile
        self._cache = Path(cache_dir).expanduser() if cache_dir else cache_root()
        self._specs: dict[str, _Spec] = {}
        self._speakers: dict[str, Speaker] = {}
        self._families: dict[str, VoiceFamily] = {}
        self._lock = threading.RLock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def load(self, name: str, *, source: str = DEFAULT_SOURCE, voice: str | None = None, **defaults: Any) -> Self:
        """Declare a speaker; nothing is read or fetched yet. A name that is declared again is replaced.

        Args:
            name: of the speaker.
            source: where its voice comes from, for example ``openjtalk:mei``.
            voice: its name at the source, where that differs from ``name``.
            defaults: speech options that requests start from.

        Raises:
            InvalidOptionError: a default is unknown or out of range.
        """
        options = SpeechOptions.of(defaults)
        with self._lock:
            spec = _Spec(source, voice, options)
            if name in self._speakers and self._specs.get(name) != spec:
                self._speakers.pop(name).close()
            self._specs[name] = spec
        return self

    def prepare(self, *, warmup: bool = False) -> Self:
        """Load every declared speaker that is not loaded yet. May be called again, also after a failure.

        Args:
            warmup: let each new speaker say a short sentence, so that the first real one is as quick as the next.

        Raises:
            PrepareError: names the speakers that failed; all others are ready.
        """
        failures: dict[str, EngineError] = {}
        with self._lock:
            context = LoadContext(self._device, self.text, self._cache, compile=self._compile)
            for name, spec in self._specs.items():
                if name in self._speakers:
                    continue
                try:
                    speaker = self._loaded(name, spec, context)
                    if warmup:
                        _warm_up(speaker)
                except EngineError as error:
                    failures[name] = error
                else:
                    self._speakers[name] = speaker
        if failures:
            raise PrepareError(failures)
        return self

    def use_dictionary(self, dictionary: Dictionary | Path | str | None) -> Self:
        """Read the user's own words from now on, with every speaker; also while speakers speak.

        Takes up to a second: words are compiled. A sentence that was planned before and is spoken afterwards may be
        read either way; ``Speaker.is_current`` tells.

        Args:
            dictionary: words, or the path of their YAML file; None for none.

        Raises:
            DictionaryError: names every mistake with its line; the words in use stay.
        """
        if isinstance(dictionary, Path | str):
            dictionary = load_dictionary(Path(dictionary).expanduser())
        self.text.use_dictionary(dictionary)
        return self

    @property
    def speakers(self) -> Mapping[str, Speaker]:
        """The speakers that are ready, by name; a view that does not change under the caller's feet."""
        with self._lock:
            return MappingProxyType(_Speakers(self._speakers))

    def unload(self, name: str) -> None:
        """Forget a speaker and free its voice, after the request that it is serving.

        Raises:
            UnknownSpeakerError: no such speaker is declared.
        """
        with self._lock:
            if name not in self._specs:
                message = f"no speaker {name!r} is declared; declared are {', '.join(self._specs) or 'none'}"
                raise UnknownSpeakerError(message)
            del self._specs[name]
            speaker = self._speakers.pop(name, None)
        if speaker is not None:
            speaker.close()
            self.release_memory()

    def release_memory(self) -> None:
        """Give memory that is no longer needed back to the system."""
        gc.collect()
        trim()

    def close(self) -> None:
        """Unload all speakers. Closing twice is harmless."""
        with self._lock:
            speakers = list(self._speakers.values())
            self._speakers.clear()
            self._specs.clear()
        for speaker in speakers:
            speaker.close()

    def _loaded(self, name: str, spec: _Spec, context: LoadContext) -> Speaker:
        source = parse_source(spec.source)
        if source.family not in self._families:  # kept: what its voices share lives in it
            self._families[source.family] = _family(source.family)
        model = source.model or spec.voice or name
        voice = self._families[source.family].load(model, replace(context, source=source.tree))
        try:
            return Speaker(name, voice, self.text, spec.defaults)
        except EngineError:  # a default that this voice does not have: it gives back what it shares
            voice.close()
            raise


class _Speakers(dict[str, Speaker]):
    """A snapshot of the speakers that answers a wrong name with a sentence."""

    def __missing__(self, name: str) -> Speaker:
        message = f"no speaker {name!r} is ready; ready are {', '.join(self) or 'none (call prepare first)'}"
        raise UnknownSpeakerError(message)


def _warm_up(speaker: Speaker) -> None:
    try:
        speaker.generate(_WARMUP)
    except EngineError:
        speaker.close()
        raise


def _family(name: str) -> VoiceFamily:
    """The family of that name; its module is imported when the first of its voices is loaded."""
    match name:
        case "openjtalk":
            from engine.voices.openjtalk import OpenJTalkFamily  # noqa: PLC0415

            return OpenJTalkFamily()
        case "style_bert_vits2":
            from engine.voices.style_bert_vits2.family import StyleBertVits2Family  # noqa: PLC0415

            return StyleBertVits2Family()
    message = f"no voice family {name!r}"
    raise AssertionError(message)
