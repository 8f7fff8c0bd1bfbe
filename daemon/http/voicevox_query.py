"""VOICEVOX's interface: texts become accent phrases and queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response

from daemon.http.context import Context, CoreVersion, InContext, StyleId
from daemon.http.voicevox_models import (
    AccentPhraseModel,
    AudioQuery,
    KanaProblem,
    Phrases,
    Preset,
    Scales,
    models_of,
)
from engine import Speaker
from engine.text import AccentPhrase, parse_kana, write_kana

router = APIRouter(tags=["VOICEVOX: queries"])

TextQuery = Annotated[str, Query(alias="text", description="what is to be read", examples=["洗濯が終わりました。"])]
English = Annotated[bool, Query(description="passed over: English is always read")]
_KANA_PROBLEM: dict[int | str, dict[str, Any]] = {
    400: {"model": KanaProblem, "description": "the kana break the notation"}
}


@router.post("/audio_query")
async def audio_query(
    context: InContext,
    text: TextQuery,
    speaker: StyleId,
    enable_katakana_english: English = True,
    core_version: CoreVersion = None,
) -> AudioQuery:
    """How a text would be spoken: readings, accents, and the speaker's own settings."""
    del enable_katakana_english, core_version
    own, _ = context.speaker_of(speaker)
    return await _query(context, text, own, _scales(own))


@router.post("/audio_query_from_preset")
async def audio_query_from_preset(
    context: InContext,
    text: TextQuery,
    preset_id: Annotated[int, Query(ge=0, le=2**31 - 1)],
    enable_katakana_english: English = True,
    core_version: CoreVersion = None,
) -> AudioQuery:
    """As `/audio_query`, with the settings of a preset."""
    del enable_katakana_english, core_version
    preset = context.presets.get(preset_id)
    own, _ = context.speaker_of(preset.style_id)
    return await _query(context, text, own, preset)


@router.post("/accent_phrases", responses=_KANA_PROBLEM)
async def accent_phrases(
    context: InContext,
    text: TextQuery,
    speaker: StyleId,
    is_kana: Annotated[bool, Query(description="the text is kana in the notation of `kana`")] = False,
    enable_katakana_english: English = True,
    core_version: CoreVersion = None,
) -> list[AccentPhraseModel]:
    """How a text is read and accented; or kana with accents, such as `コ'ンヤワ/ア'メデ_ス`."""
    del enable_katakana_english, core_version
    context.speaker_of(speaker)
    text = await context.checked_text(text)
    read: Callable[[str], tuple[AccentPhrase, ...]] = parse_kana if is_kana else context.backend.tts.text.accent_phrases
    return await context.work.read(lambda: models_of(read(text)))


@router.post("/mora_data")
@router.post("/mora_length")
@router.post("/mora_pitch")
async def mora_data(
    context: InContext, phrases: Phrases, speaker: StyleId, core_version: CoreVersion = None
) -> list[AccentPhraseModel]:
    """Accent phrases with lengths and pitches anew, as the embedded voice would say them; pauses stay."""
    del core_version
    context.speaker_of(speaker)
    return await context.work.read(lambda: models_of(tuple(phrase.phrase() for phrase in phrases)))


@router.post("/validate_kana", responses=_KANA_PROBLEM)
async def validate_kana(context: InContext, text: TextQuery) -> bool:
    """Whether kana keep the notation; what is wrong is told with status 400."""
    parse_kana(await context.checked_text(text))
    return True


async def _query(context: Context, text: str, speaker: Speaker, scales: Scales) -> AudioQuery:
    text = await context.checked_text(text)

    def read() -> AudioQuery:
        phrases = context.backend.tts.text.accent_phrases(text)
        own = scales.model_dump(include=set(Scales.model_fields))
        return AudioQuery(
            **own,
            accent_phrases=models_of(phrases),
            outputSamplingRate=speaker.sample_rate,
            kana=write_kana(phrases),
            text=text,
        )

    return await context.work.read(read)


def _scales(speaker: Speaker) -> Scales:
    """A speaker's own settings."""
    own = speaker.defaults
    return Scales(
        speedScale=own.number("speed"),
        pitchScale=round(own.number("pitch") / 12, 4),
        intonationScale=own.number("intonation"),
        volumeScale=own.number("volume"),
    )


presets = APIRouter(tags=["VOICEVOX: presets"])


@presets.get("/presets")
async def get_presets(context: InContext) -> list[Preset]:
    """All presets."""
    return context.presets.all


@presets.post("/add_preset")
async def add_preset(context: InContext, preset: Preset) -> int:
    """Keep a preset; the answer is its number, another where that is taken."""
    return context.presets.add(preset)


@presets.post("/update_preset")
async def update_preset(context: InContext, preset: Preset) -> int:
    """Replace the preset of that number."""
    context.presets.update(preset)
    return preset.id


@presets.post("/delete_preset", status_code=204, response_class=Response)
async def delete_preset(context: InContext, id: Annotated[int, Query(ge=0, le=2**31 - 1)]) -> None:  # noqa: A002
    """Forget a preset."""
    context.presets.delete(id)
