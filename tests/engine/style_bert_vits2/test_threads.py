"""Threads of a process with several neural speakers, and whose turn it is to compute."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from engine import TTS
from engine.turns import working
from engine.voices.style_bert_vits2.runtime import session as onnx_session
from engine.voices.style_bert_vits2.runtime.session import Graph
from tests.fakes.published import VOICE

PROGRAM = """
import os, sys
from engine import TTS
tts = TTS(cache_dir=sys.argv[1])
for name in "abcd":
    tts.load(name, source=sys.argv[2], voice=sys.argv[3])
tts.prepare(warmup=True)
print(len(os.listdir("/proc/self/task")))
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs Linux")
def test_with_a_shared_pool_threads_do_not_grow_with_speakers(root_cache, tree):
    environment = os.environ | {"ASAGOE_SHARED_POOL": "1", "ASAGOE_THREADS": "4", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", PROGRAM, str(root_cache), str(tree), VOICE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=110)
    assert (done.stdout.strip(), done.stderr) == ("4", "")


def test_a_computation_that_is_waited_for_goes_before_one_that_is_rendered_ahead(graph, monkeypatch):
    order, entered, go = [], threading.Event(), threading.Event()

    class Session:
        def __init__(self, name):
            self.name = name

        def run(self, *_):
            order.append(self.name)
            entered.set()
            go.wait(30)
            return []

    def computing(name, background):
        one = Graph(graph)
        one.inputs, one.outputs, one._session = {}, [], Session(name)

        def work():
            with working(background=lambda: background):
                one.run({"x": np.zeros(1)})

        return threading.Thread(target=work)

    waiting = lambda: onnx_session._computing.waiting  # noqa: E731
    first = computing("first", False)
    first.start()
    entered.wait(30)
    others = [computing("ahead", True), computing("asked for", False)]
    for number, thread in enumerate(others, 1):
        thread.start()
        while waiting() < number:
            time.sleep(0.001)
    go.set()
    for thread in [first, *others]:
        thread.join()
    assert order == ["first", "asked for", "ahead"]


@pytest.mark.parametrize(("release", "spins"), [("1.20.1", "0"), ("1.31.9", "0"), ("1.32.0", "1"), ("2.0.0rc1", "1")])
def test_threads_spin_only_where_it_can_be_bounded(release, spins):
    settings = onnx_session._waiting(release)
    assert settings["allow_spinning"] == spins
    assert (int(settings.get("spin_duration_us", 0)) in range(1, 100)) is (spins == "1")


def test_a_network_that_has_nothing_to_do_takes_no_processor_time(tree, tmp_path):
    voice = TTS(cache_dir=tmp_path).load("a", source=str(tree), voice=VOICE).prepare().speakers["a"]
    voice.generate("はい。")
    begun = time.process_time()
    time.sleep(1.0)
    assert time.process_time() - begun < 0.05


def test_after_preparing_nothing_is_left_to_be_loaded_by_the_first_sentence(tree, root_cache):
    program = """
import sys
from engine import TTS
tts = TTS(cache_dir=sys.argv[1]).load("a", source=sys.argv[2], voice=sys.argv[3]).prepare()
assert tts.text._words.front_end is not None
before = {name.partition(".")[0] for name in sys.modules}
tts.speakers["a"].generate("今日は2026年です。")
print(*sorted({name.partition(".")[0] for name in sys.modules} - before))
"""
    command = [sys.executable, "-c", program, str(root_cache), str(tree), VOICE]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=110)
    assert "pyopenjtalk" not in done.stdout.split()
