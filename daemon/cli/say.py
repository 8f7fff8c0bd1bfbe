"""``asagoe say``: one sentence, without the service."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from pathlib import Path
from typing import Any

from daemon.cli.common import device_for, err, fail, out, printable, read_config, text_or_stdin
from daemon.config import Config
from daemon.errors import DaemonError, PlaybackError
from daemon.folders import recordings_folder
from daemon.logs import stderr
from daemon.mix import amplitude
from daemon.playback import Outcome, Piece
from daemon.player import Player
from daemon.sinks import sinks_of
from engine import TTS, EngineError, Speaker


def say_text(
    explicit: Path | None,
    text: str,
    speaker: str | None,
    options: dict[str, Any],
    volume: int | None,
    target: Path | None,
) -> int:
    """Speak to a file or to the sound device; returns the exit code."""
    config, _ = read_config(explicit)
    text = text_or_stdin(text)
    name = speaker or config.speaker_name
    if name not in config.speakers:
        return fail(f"there is no speaker {name!r}; there are {', '.join(config.speakers)}")
    if name in config.remote_speakers:
        node = config.remote_speakers[name].node
        return fail(f"the speech of {name} is made by node {node}; use asagoe announce, or another speaker")
    chosen = config.speakers[name]
    try:
        with TTS(device_for(config)) as tts:
            tts.use_dictionary(config.words)
            tts.load(name, source=chosen.source, voice=chosen.name, **chosen.defaults()).prepare()
            ready = tts.speakers[name]
            plan = ready.plan(text, **options)
            for dropped in plan.dropped:
                err.print(f"not read: {printable(dropped.text)} ({dropped.reason})", style="yellow")
            if target is not None:
                audio = ready.generate(text, **options)
                audio.save(target)
                out.print(f"{target}: {audio.duration:.2f} s, {audio.sample_rate} Hz", markup=False)
                return 0
            return _play_to_end(config, ready, text, options, volume)
    except (EngineError, DaemonError) as error:
        return fail(str(error))
    except OSError as error:
        return fail(f"{target or recordings_folder()} cannot be written: {error.strerror}")


def _play_to_end(config: Config, speaker: Speaker, text: str, options: dict[str, Any], volume: int | None) -> int:
    """Play it; where a device hangs, the process ends here: Python's own farewell would wait for that device."""
    audio = config.audio
    errors = stderr()  # taken before PortAudio starts, which silences descriptor 2 for as long as it takes, or hangs
    logging.basicConfig(format="%(message)s", stream=errors)

    def report(name: str, audible: bool, problem: str | None) -> None:
        del name, audible
        if problem is not None:
            print(problem, file=errors)

    sinks = sinks_of(audio, speaker.sample_rate)
    player = Player(sinks, lead_in=audio.lead_in_ms / 1000, keep_open=0.0, on_sink=report)
    level = amplitude(audio.volume if volume is None else volume)
    try:
        code = asyncio.run(_play(player, level, speaker, text, options))
    except PlaybackError as error:
        code = 1
        print(error, file=errors)
    if player.hanging:
        sys.stdout.flush()
        os._exit(code)
    return code


async def _play(player: Player, level: float, speaker: Speaker, text: str, options: dict[str, Any]) -> int:
    player.start()
    try:
        playback = player.play("say", lambda: level)
        index = 0
        async for chunk in speaker.astream(text, **options):
            await playback.feed(Piece(chunk, index))
            index += 1
        playback.complete()
        outcome: Outcome = await playback.outcome
    finally:
        await asyncio.to_thread(player.shut_down)
    if not outcome.audible:
        out.print(f"written to {outcome.sink.removeprefix('file:')}", markup=False)
    return 0
