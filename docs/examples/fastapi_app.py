"""Speech over HTTP with FastAPI: voices are loaded once at start-up and shared by all requests.

pip install asagoe fastapi uvicorn
uvicorn fastapi_app:app --port 8000

curl -o hello.wav  'localhost:8000/speech?text=おはようございます。'
curl 'localhost:8000/stream?text=一つ目の文です。二つ目の文です。' | aplay -t raw -f S16_LE -c 1 -r 48000
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import Depends, FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, StreamingResponse

from engine import TTS, BadRequestError, EngineError, Speaker, TransientError

DEADLINE = 60.0
"""Seconds until a sentence must have its turn; a client that waits longer is told so."""


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Load the voices in the process that speaks: a server that forks its workers runs this in each of them."""
    tts = TTS().load("mei", source="openjtalk:mei")
    try:
        await run_in_threadpool(tts.prepare, warmup=True)  # takes seconds: the loop stays free
        app.state.tts = tts
        yield
    finally:
        await run_in_threadpool(tts.close)  # after the sentence that is being spoken


app = FastAPI(lifespan=lifespan)


def chosen(request: Request, speaker: str = "mei") -> Speaker:
    """The speaker that a request names; an unknown one is an ``UnknownSpeakerError``."""
    found: Speaker = request.app.state.tts.speakers[speaker]
    return found


ChosenSpeaker = Annotated[Speaker, Depends(chosen)]


@app.exception_handler(EngineError)
async def explain(request: Request, error: EngineError) -> JSONResponse:
    """Every error of the engine says in one sentence what is wrong; its kind says whose turn it is to act."""
    del request
    status = 400 if isinstance(error, BadRequestError) else 503 if isinstance(error, TransientError) else 500
    return JSONResponse({"error": str(error)}, status)


@app.get("/speech")
async def speech(speaker: ChosenSpeaker, text: str) -> Response:
    """A WAV file, by the speaker's own thread: the loop stays free, and a request that is cancelled stops."""
    return Response(await speaker.ato_wav(text, deadline=DEADLINE), media_type="audio/wav")


@app.get("/speech-sync")
def speech_in_thread(speaker: ChosenSpeaker, text: str) -> Response:
    """The same from a plain function, which FastAPI runs in a thread of its own."""
    return Response(speaker.to_wav(text, deadline=DEADLINE), media_type="audio/wav")


@app.get("/stream")
async def stream(speaker: ChosenSpeaker, text: str) -> StreamingResponse:
    """Raw 16-bit mono samples, sentence by sentence; when the client goes away, the next sentence is not spoken."""
    chunks = speaker.astream(text, deadline=DEADLINE)
    first = await anext(chunks)  # an error here still has a status of its own

    async def samples() -> AsyncIterator[bytes]:
        yield first.pcm16.tobytes()
        async for chunk in chunks:
            yield chunk.pcm16.tobytes()

    return StreamingResponse(samples(), media_type=f"audio/L16;rate={speaker.sample_rate};channels=1")
