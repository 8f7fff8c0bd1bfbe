"""The engine's front door: which speakers there are, and their life."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

from platformdirs import user_cache_path

from engine.device import checked_device
from engine.errors import DictionaryError, EngineError, InvalidOptionError, PrepareError, UnknownSpeakerError
from engine.failures import engine_errors
from engine.forking import renewed_after_fork
from engine.memory import trim
from engine.options import SpeechOptions
from engine.sources import Progress, Step, parse_source
from engine.sources.base import nothing
from engine.sources.store import folders, open_tree
from engine.speaker import Speaker
from engine.text import Dictionary, TextPipeline, load_dictionary
from engine.voices.base import LoadContext, Voice, VoiceFamily

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
        mirrors: for a source as it is written in ``load``, others that hold the same tree; they are asked in turn where
            it cannot be had.
        compile: let ``torch.compile`` specialise neural voices on a CUDA device: loading takes minutes then.

    Raises:
        InvalidOptionError: there is no such kind of device, or nothing to compile on it.
    """

    def __init__(
        self,
        device: str = "cpu",
        *,
        cache_dir: Path | str | None = None,
        mirrors: Mapping[str, Sequence[str]] | None = None,
        compile: bool = False,  # noqa: A002 - the word of PyTorch
    ) -> None:
        checked_device(device)
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
        self._mirrors = {source: tuple(others) for source, others in (mirrors or {}).items()}
        self._lock = threading.RLock()  # of what is declared and ready; never held while something is loaded
        self._preparing = threading.Lock()
        renewed_after_fork(self, TTS._renew)

    def _renew(self) -> None:
        """In a forked process: nothing is loaded. Speakers that somebody still holds say so."""
        self._lock = threading.RLock()
        self._preparing = threading.Lock()
        self._families = {}
        self._speakers = {}

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

    def prepare(self, *, warmup: bool = False, download: bool = True, progress: Progress = nothing) -> Self:
        """Load every declared speaker that is not loaded yet. May be called again, also after a failure.

        Speakers that are ready speak on meanwhile, and each new one is ready as soon as it is loaded.

        Args:
            warmup: let each new speaker say a short sentence, so that the first real one is as quick as the next.
            download: fetch what is not in the cache; without it, not one network call is made. With it, none is made
                either once everything is in the cache.
            progress: told how far downloads are. What it raises ends the call; the next one resumes the download.

        Raises:
            PrepareError: names the speakers that failed; all others are ready.
        """
        failures: dict[str, EngineError] = {}
        with self._preparing:
            context = LoadContext(self._device, self.text, self._cache, compile=self._compile)
            with self._lock:
                missing = {name: spec for name, spec in self._specs.items() if name not in self._speakers}
            # One after another: four neural speakers took as long side by side (0.9 s and 0.9 s, on two cores).
            for name, spec in missing.items():
                error = self._prepare(name, spec, context, warmup=warmup, download=download, progress=progress)
                if error is not None:
                    failures[name] = error
            if len(failures) < len(missing):
                with suppress(DictionaryError):  # it is raised where something is read
                    _ = self.text.front_end  # else the first sentence would wait for it
        if failures:
            raise PrepareError(failures)
        return self

    def pre_download(self, device: str | None = None, *, progress: Progress = nothing) -> Self:
        """Fetch what every declared speaker needs into the cache; nothing is loaded, and no PyTorch or GPU is needed.

        Args:
            device: that they will run on; None for that of this ``TTS``.
            progress: told how far it is. What it raises ends the download, which the next call resumes.

        Raises:
            InvalidOptionError: the device is none.
            PrepareError: names the speakers that cannot be had; those of all others are in the cache.
        """
        device = checked_device(self._device if device is None else device)
        failures: dict[str, EngineError] = {}
        with self._lock:
            specs = dict(self._specs)
        for name, spec in specs.items():
            try:
                source = parse_source(spec.source)
                tree = open_tree(source, self._cache, mirrors=self._mirrors_of(spec.source), progress=progress)
                for folder in folders(source, spec.voice or name, device):
                    if tree is not None:
                        tree.fetch(folder)
            except EngineError as error:
                failures[name] = error
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
    def device(self) -> str:
        """What voices are computed on: "cpu", "cuda" or "cuda:N"."""
        return self._device

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

    def release(self, name: str) -> bool:
        """Free the voice of a speaker that stays: its next sentence loads it again. Safe while it speaks.

        Returns:
            Whether there was a voice to free.

        Raises:
            UnknownSpeakerError: no speaker of that name is ready.
        """
        released = self.speakers[name].release()
        self.release_memory(collect=False)
        return released

    def release_memory(self, *, collect: bool = True) -> None:
        """Give memory that is no longer needed back to the system.

        Args:
            collect: also what Python's garbage collector finds, for which every thread has to wait.
        """
        if collect:
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

    def _prepare(
        self, name: str, spec: _Spec, context: LoadContext, *, warmup: bool, download: bool, progress: Progress
    ) -> EngineError | None:
        """Load one speaker; returns why it cannot be had."""
        told = _Told(progress)
        try:
            with engine_errors(f"speaker {name} is loaded", unless=lambda: told.raised):
                speaker = self._loaded(name, spec, context, download=download, progress=told)
        except EngineError as error:
            return error
        try:
            if warmup:
                _warm_up(speaker)
        except EngineError as error:
            speaker.close()
            return error
        with self._lock:
            current = self._specs.get(name) == spec
            if current:
                self._speakers[name] = speaker
        if not current:  # declared anew or unloaded meanwhile
            speaker.close()
        return None

    def _loaded(self, name: str, spec: _Spec, context: LoadContext, *, download: bool, progress: Progress) -> Speaker:
        voice = self._voice(name, spec, context, download=download, progress=progress)

        def again() -> Voice:
            try:
                with engine_errors(f"speaker {name} is loaded again"):
                    return self._voice(name, spec, context, download=False, progress=nothing)
            except EngineError:  # then it is not ready any more; prepare() tries it again
                with self._lock:
                    if self._speakers.get(name) is speaker:
                        del self._speakers[name]
                raise

        try:
            speaker = Speaker(name, voice, self.text, spec.defaults, load_again=again)
        except EngineError:  # a default that this voice does not have: it gives back what it shares
            voice.close()
            raise
        return speaker

    def _voice(self, name: str, spec: _Spec, context: LoadContext, *, download: bool, progress: Progress) -> Voice:
        source = parse_source(spec.source)
        mirrors = self._mirrors_of(spec.source)
        tree = open_tree(source, self._cache, mirrors=mirrors, download=download, progress=progress)
        with self._lock:
            if source.family not in self._families:  # kept: what its voices share lives in it
                self._families[source.family] = _family(source.family)
            family = self._families[source.family]
        return family.load(source.model or spec.voice or name, replace(context, source=tree))

    def _mirrors_of(self, source: str) -> Sequence[str]:
        return self._mirrors.get(source, ())


class _Told:
    """Tells somebody how far a download is, and remembers whether that was what raised."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.raised = False

    def __call__(self, step: Step) -> None:
        self.raised = True
        self._progress(step)
        self.raised = False


class _Speakers(dict[str, Speaker]):
    """A snapshot of the speakers that answers a wrong name with a sentence."""

    def __missing__(self, name: str) -> Speaker:
        message = f"no speaker {name!r} is ready; ready are {', '.join(self) or 'none (call prepare first)'}"
        raise UnknownSpeakerError(message)


def _warm_up(speaker: Speaker) -> None:
    try:
        with engine_errors(f"speaker {speaker.name} says its first sentence"):
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
