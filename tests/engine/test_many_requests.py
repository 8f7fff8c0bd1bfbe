"""Thousands of requests over four speakers, from threads and tasks, some cancelled: none lost, none mixed up."""

import asyncio
import gc
import random
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np

from engine import TTS, Audio, CancelledSpeechError, DeadlineExceededError, Speaker
from engine.text import TextPipeline
from engine.voices.base import Rendered

REQUESTS = 2000
RATE = 8000
NAMES = ("a", "b", "c")


class MarkedVoice:
    """Its sound says who spoke and what: a tone of the speaker's frequency, 10 ms a character and more by their sum."""

    family, sample_rate, styles, options = "marked", RATE, ("Normal",), frozenset({"seed"})

    def __init__(self, number: int) -> None:
        self.frequency = 500 + 500 * number
        self.fingerprint = f"marked {number}"
        self.inside = 0
        self.most = 0

    def check(self, options) -> None:
        pass

    def synthesize(self, sentence, options) -> Rendered:
        self.inside += 1
        self.most = max(self.most, self.inside)
        time.sleep(0.0002)
        t = np.arange(length_of(sentence.text)) / RATE
        self.inside -= 1
        return Rendered(Audio((0.5 * np.sin(2 * np.pi * self.frequency * t)).astype(np.float32), RATE))

    def memory(self) -> int:
        return 0

    def close(self) -> None:
        pass


def length_of(text: str) -> int:
    return 400 + 80 * len(text) + sum(map(ord, text)) % 79


def expected(text: str, pipeline: TextPipeline) -> list[int]:
    """Samples of the chunks without their pauses."""
    return [length_of(sentence.text) for sentence in pipeline.script(text).sentences]


def check(audio: Audio, name: str, text: str, pipeline: TextPipeline, mei: dict[str, Audio]) -> None:
    if name == "mei":
        assert np.array_equal(audio.samples, mei[text].samples)
        return
    frequency = 500 + 500 * NAMES.index(name)
    spectrum = np.abs(np.fft.rfft(audio.samples))
    assert abs(spectrum.argmax() * RATE / len(audio.samples) - frequency) < 30, "another speaker's voice"
    sentences = pipeline.script(text).sentences
    # A tone begins and ends with its sine: all but a few samples of it are above the silence.
    samples = sum(expected(text, pipeline)) + sum(round(s.pause * RATE) for s in sentences[:-1])
    assert abs(len(audio.samples) - samples) <= 4 * len(sentences), "another text"


def resident() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def test_none_is_lost_none_is_mixed_up_and_memory_stays():  # noqa: C901 - threads and tasks ask alike
    tts = TTS().load("mei").prepare(warmup=True)
    pipeline = tts.text
    voices = {name: MarkedVoice(number) for number, name in enumerate(NAMES)}
    for name, voice in voices.items():
        tts._speakers[name] = Speaker(name, voice, pipeline)
    generator = random.Random(4)
    texts = [
        f"{number}番目の{word}です。" + "そうです。" * (number % 3) for number in range(12) for word in ("駅", "道")
    ]
    short = [f"{n}。" for n in ("はい", "いいえ", "さあ")]
    mei = {text: tts.speakers["mei"].generate(text) for text in short}
    outcomes: Counter[str] = Counter()
    guard = threading.Lock()
    memory = []

    def request():
        name = generator.choice((*NAMES, *NAMES, *NAMES, "mei"))
        text = generator.choice(short if name == "mei" else texts)
        kind = generator.choice(("plain", "plain", "plain", "cancel", "deadline", "abandon"))
        return name, text, kind, generator.random() < 0.3, generator.random() * 0.004

    def note(outcome):
        with guard:
            outcomes[outcome] += 1
            if sum(outcomes.values()) % 100 == 0:
                memory.append(resident())

    def from_thread(requests):
        for name, text, kind, background, wait in requests:
            speaker = tts.speakers[name]
            if kind == "abandon":  # a consumer that goes away after the first chunk
                stream = speaker.stream(text, background=background)
                next(stream)
                stream.close()
                note("abandoned")
                continue
            cancel = threading.Event()
            if kind == "cancel":
                threading.Timer(wait, cancel.set).start()
            deadline = wait if kind == "deadline" else None
            try:
                audio = speaker.generate(text, cancel=cancel, deadline=deadline, background=background)
            except CancelledSpeechError:
                assert kind == "cancel"
                note("cancelled")
            except DeadlineExceededError:
                assert kind == "deadline"
                note("too late")
            else:
                check(audio, name, text, pipeline, mei)
                note("spoken")

    async def one(name, text, kind, background, wait):
        speaker = tts.speakers[name]
        try:
            if kind == "abandon":
                async for _ in speaker.astream(text, background=background):
                    break
                note("abandoned")
                return
            limit = wait if kind == "cancel" else None
            async with asyncio.timeout(limit):
                deadline = wait if kind == "deadline" else None
                audio = await speaker.agenerate(text, deadline=deadline, background=background)
        except TimeoutError:
            assert kind == "cancel"
            note("cancelled")
        except DeadlineExceededError:
            assert kind == "deadline"
            note("too late")
        else:
            check(audio, name, text, pipeline, mei)
            note("spoken")

    async def from_tasks(requests):
        for start in range(0, len(requests), 25):
            await asyncio.gather(*(one(*request) for request in requests[start : start + 25]))

    all_requests = [request() for _ in range(REQUESTS)]
    threads = [threading.Thread(target=from_thread, args=(all_requests[n:1000:4],)) for n in range(4)]
    threads.append(threading.Thread(target=lambda: asyncio.run(from_tasks(all_requests[1000:]))))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a request hangs"
    assert sum(outcomes.values()) == REQUESTS
    assert min(outcomes[kind] for kind in ("spoken", "cancelled", "too late", "abandoned")) > 20, outcomes
    assert outcomes["spoken"] > 1000
    assert [voice.most for voice in voices.values()] == [1, 1, 1]  # a speaker speaks one sentence at a time
    gc.collect()
    half = len(memory) // 2
    assert max(memory[half:]) - max(memory[:half]) < 10, memory  # MB
    tts.close()
