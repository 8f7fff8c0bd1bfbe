"""A process that forks after voices were loaded: the child speaks or is told, and never hangs."""

import multiprocessing
import os
import sys
import threading
import time
import traceback
import warnings

import pytest

from engine import TTS, Speaker, VoiceNotAvailableError
from engine.text import TextPipeline
from engine.turns import Turns
from tests.fakes.published import VOICE, unpack_published
from tests.fakes.voice import ToneVoice

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A neural voice, whose graphs are prepared once into the cache beside it."""
    return unpack_published(tmp_path_factory.mktemp("voices") / "published")


def in_child(work, seconds=60):
    """What ``work`` returns in a forked process; fails when it hangs."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)

    def run():
        try:
            theirs.send((True, work()))
        except BaseException:
            theirs.send((False, traceback.format_exc()))

    process = context.Process(target=run)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # from 3.12 on: a process with threads forks
        process.start()
    try:
        assert ours.poll(seconds), "the child hangs"
        good, result = ours.recv()
        process.join(seconds)
        assert process.exitcode == 0, "the child does not end"
    finally:
        if process.is_alive():
            process.kill()
    assert good, result
    return result


def refusal(speaker):
    with pytest.raises(VoiceNotAvailableError) as caught:
        speaker.generate("はい。", deadline=5)
    return str(caught.value)


def test_the_embedded_voice_is_told_of_the_fork_and_speaks_after_prepare():
    with TTS().load("mei").prepare() as tts:
        speaker = tts.speakers["mei"]
        seconds = speaker.generate("はい。").duration

        def child():
            told = refusal(speaker)
            assert not tts.speakers
            again = tts.prepare().speakers["mei"].generate("はい。").duration
            speaker.close()
            tts.close()
            return told, again

        told, again = in_child(child)
        assert "was loaded before this process was forked" in told
        assert "prepare()" in told
        assert again == seconds
        assert speaker.generate("はい。").duration == seconds  # the parent goes on


def test_a_neural_voice_does_so_too(tree):
    with TTS(cache_dir=tree.parent / "cache").load("f1", source=str(tree), voice=VOICE, seed=1).prepare() as tts:
        speaker = tts.speakers["f1"]
        seconds = speaker.generate("はい。").duration

        def child():
            told = refusal(speaker)
            return told, tts.prepare().speakers["f1"].generate("はい。").duration

        told, again = in_child(child)
        assert "was loaded before this process was forked" in told
        assert again == seconds


def test_a_child_that_ends_in_the_ordinary_way_does_not_wait_for_threads_of_its_parent(tree):
    program = f"""
import os, warnings
warnings.simplefilter("ignore")
from engine import TTS
tts = TTS(cache_dir={str(tree.parent / "cache")!r}).load("f1", source={str(tree)!r}, voice={VOICE!r}).prepare(warmup=True)
child = os.fork()
if child:
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
else:
    del tts
"""
    import subprocess

    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"ASAGOE_THREADS": "4"},
    )
    assert (done.stdout.strip(), done.stderr) == ("0", "")


def test_locks_that_were_held_at_the_fork_are_free_in_the_child():
    voice, text, turns = ToneVoice(), TextPipeline(), Turns()
    text.script("はい。")
    speaker = Speaker("tone", voice, text)
    tts = TTS()
    tts._speakers["tone"] = speaker
    voice.may_speak.clear()
    busy = threading.Thread(target=speaker.generate, args=("長い文です。",))
    busy.start()
    turns.take()
    with tts._lock, text._lock:
        while not speaker.uses:
            time.sleep(0.001)

        def child():
            assert turns.take(timeout=0)
            text.script("髙橋さん。")
            assert not tts.speakers
            tts.load("tone")
            told = refusal(speaker)
            assert not speaker.release(wait=False)
            tts.close()
            return told

        assert "forked" in in_child(child)
    voice.may_speak.set()
    busy.join()
    speaker.close()
