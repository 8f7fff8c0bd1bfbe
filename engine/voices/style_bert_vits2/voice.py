"""A loaded voice of the family: sentences in, audio with timings out, whatever computes the networks."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

from engine.audio import Audio, PhonemeTiming, Samples
from engine.errors import InvalidOptionError, NothingToSayError, VoiceNotAvailableError
from engine.memory import trim
from engine.options import SpeechOptions
from engine.text import Sentence, TextPipeline
from engine.text.utterances import fits
from engine.voices.base import Rendered
from engine.voices.style_bert_vits2.backend import (
    Controls,
    FeatureExtractor,
    Floats,
    NetworkInput,
    SeededNoise,
    Synthesizer,
)
from engine.voices.style_bert_vits2.model_folder import StyleVectors, VoiceConfig
from engine.voices.style_bert_vits2.pitch import change_pitch, require_vocoder
from engine.voices.style_bert_vits2.text.model_input import spread_features, symbol_ids, symbols_per_token
from engine.voices.style_bert_vits2.text.normalize import normalize, respell
from engine.voices.style_bert_vits2.text.reading import Reading, read, read_phrases
from engine.voices.style_bert_vits2.text.tokenizer import CharacterTokenizer
from engine.voices.style_bert_vits2.timing import final_pause, phoneme_timings

CODE_REVISION = "1"
"""Raised whenever the same graphs and options would sound otherwise."""

_OPTIONS = frozenset(
    {
        "style_weight",
        "speed",
        "sdp_ratio",
        "noise",
        "noise_w",
        "pitch",
        "intonation",
        "speaker_id",
        "assist_text",
    }
)


class StyleBertVits2Voice:
    """A voice of Style-Bert-VITS2 JP-Extra."""

    family = "style_bert_vits2"

    def __init__(
        self,
        config: VoiceConfig,
        styles: StyleVectors,
        synthesizer: Synthesizer,
        bert: FeatureExtractor,
        tokenizer: CharacterTokenizer,
        *,
        text: TextPipeline,
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        if 0 not in (synthesizer.feature_size, bert.feature_size) and synthesizer.feature_size != bert.feature_size:
            message = (
                f"the voice takes {synthesizer.feature_size} features of BERT, but the BERT at its source gives "
                f"{bert.feature_size}; use the BERT that the voice was trained with"
            )
            raise VoiceNotAvailableError(message)
        self._config = config
        self._styles = styles
        self._synthesizer = synthesizer
        self._bert = bert
        self._tokenizer = tokenizer
        self._text = text
        self._on_close = on_close
        self._closed = threading.Lock()
        self.sample_rate = config.sample_rate
        self.styles = styles.names
        self.options = _OPTIONS | ({"seed"} if synthesizer.reproducible else set())
        parts = (synthesizer.fingerprint, bert.fingerprint, styles.fingerprint)
        self.fingerprint = f"{self.family} {CODE_REVISION} {' '.join(parts)}"

    def check(self, options: SpeechOptions) -> None:
        """See ``Voice.check``: the speakers of the model, and the vocoder for pitch and intonation."""
        speaker = int(options.number("speaker_id"))
        if speaker >= self._config.speakers:
            message = f"speaker_id must be from 0 to {self._config.speakers - 1} with this voice, got {speaker}"
            raise InvalidOptionError(message)
        if options.number("pitch") != 0 or options.number("intonation") != 1:
            require_vocoder()

    def synthesize(self, sentence: Sentence, options: SpeechOptions) -> Rendered:
        """Speak one sentence; see ``Voice.synthesize``.

        Raises:
            UnknownStyleError: the voice has no such style.
        """
        self.check(options)
        style = self._styles.vector(options.style, options.number("style_weight"))
        reading = self._reading(sentence)
        if not reading.has_speech:
            message = f"nothing in {sentence.text!r} can be read aloud"
            raise NothingToSayError(message)
        network_input = self._input(reading, style, options.assist_text)
        output = self._synthesizer.synthesize(network_input, controls_of(options), SeededNoise(options.seed))
        trim()
        samples = self._pitched(output.samples, options)
        if output.durations is None:
            return Rendered(Audio(samples, self.sample_rate))
        timings = self._timings(reading, output.durations)
        frame = self._config.hop_length / self.sample_rate
        return Rendered(
            Audio(samples, self.sample_rate, timings), final_pause(reading.phonemes, output.durations, frame)
        )

    def network_input(self, text: str, options: SpeechOptions) -> NetworkInput:
        """What the network takes for a sentence.

        Raises:
            UnknownStyleError: the voice has no such style.
        """
        style = self._styles.vector(options.style, options.number("style_weight"))
        return self._input(self._read(text), style, options.assist_text)

    def memory(self) -> int:
        """Bytes of the voice's weights; BERT, which voices share, is not counted."""
        return self._synthesizer.memory()

    def close(self) -> None:
        """Free the networks; BERT goes with the last voice that uses it."""
        if self._closed.acquire(blocking=False):
            self._synthesizer.close()
            self._on_close()

    def _reading(self, sentence: Sentence) -> Reading:
        if not sentence.phrases:
            return self._read(sentence.text)
        words = self._read(sentence.text) if fits(sentence, self._text.front_end) else None
        return read_phrases(sentence.phrases, words)

    def _read(self, text: str) -> Reading:
        return read(normalize(respell(text)), self._text.front_end)

    def _input(self, reading: Reading, style: Floats, assist_text: str | None) -> NetworkInput:
        blanks = self._config.add_blank
        mood = self._read(assist_text) if assist_text else None
        assist = self._features(mood) if mood and mood.characters else None
        counts = symbols_per_token(reading, add_blank=blanks)
        features = spread_features(self._features(reading), counts, assist)
        return NetworkInput(*symbol_ids(reading, add_blank=blanks), features, style)

    def _features(self, reading: Reading) -> Floats:
        return self._bert.features(np.asarray(self._tokenizer.encode(reading.characters), np.int64))

    def _pitched(self, samples: Samples, options: SpeechOptions) -> Samples:
        moved = change_pitch(
            samples, self.sample_rate, semitones=options.number("pitch"), intonation=options.number("intonation")
        )
        peak = float(np.abs(moved).max(initial=0.0))
        return moved if peak <= 1.0 else (moved / np.float32(peak)).astype(np.float32)

    def _timings(self, reading: Reading, durations: np.ndarray) -> tuple[PhonemeTiming, ...]:
        return phoneme_timings(reading.phonemes, durations, self._config.hop_length / self.sample_rate)


def controls_of(options: SpeechOptions) -> Controls:
    """The options as numbers of the network."""
    return Controls(
        speaker_id=int(options.number("speaker_id")),
        length_scale=1 / options.number("speed"),
        sdp_ratio=options.number("sdp_ratio"),
        noise=options.number("noise"),
        noise_w=options.number("noise_w"),
    )
