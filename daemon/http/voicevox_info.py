"""VOICEVOX's interface: what there is, and the memory that it takes."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import Response
from pydantic import BaseModel

from daemon.http.context import CoreVersion, InContext, StyleId
from daemon.http.styles import speaker_uuid
from daemon.http.voicevox_models import Manifest, SpeakerInfo, SpeakerModel, StyleInfo, StyleModel, SupportedDevices
from engine import EngineError, __version__

router = APIRouter(tags=["VOICEVOX: speakers"])

SpeakerUuid = Annotated[str, Query(max_length=64)]
ResourceFormat = Annotated[Literal["base64", "url"], Query(description="passed over: there are no pictures")]
_MANIFEST_VERSION = "0.13.1"
_ENGINE_UUID = "3f0c5d8e-5b63-4e0c-8a35-6d7b0d1f9a42"


class Released(BaseModel):
    """Speakers whose voices were freed; they are loaded again when they are needed."""

    released: list[str]


@router.get("/version")
async def version() -> str:
    """The version of Asagoe."""
    return __version__


@router.get("/core_versions")
async def core_versions() -> list[str]:
    """The one core that there is."""
    return [__version__]


@router.get("/speakers")
async def speakers(context: InContext, core_version: CoreVersion = None) -> list[SpeakerModel]:
    """The speakers that are ready, with the numbers of their styles; these stay the same."""
    del core_version
    styles = context.styles
    return [
        SpeakerModel(
            name=name,
            speaker_uuid=speaker_uuid(name),
            styles=[StyleModel(name=style.name, id=style.id) for style in styles if style.speaker == name],
            version=__version__,
        )
        for name in context.backend.tts.speakers
    ]


@router.get("/speaker_info")
async def speaker_info(
    context: InContext,
    speaker_uuid: SpeakerUuid,
    resource_format: ResourceFormat = "base64",
    core_version: CoreVersion = None,
) -> SpeakerInfo:
    """What there is to know of a speaker; pictures there are none."""
    del resource_format, core_version
    known = await speakers(context)
    speaker = next((speaker for speaker in known if speaker.speaker_uuid == speaker_uuid), None)
    if speaker is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, "no speaker has that UUID; GET /speakers lists them")
    family = context.backend.tts.speakers[speaker.name].family
    return SpeakerInfo(
        policy=f"{speaker.name}: a voice of the family {family}, under its own licence; see docs/licences.md.",
        portrait="",
        style_infos=[StyleInfo(id=style.id, icon="", voice_samples=[]) for style in speaker.styles],
    )


@router.get("/singers")
async def singers(core_version: CoreVersion = None) -> list[SpeakerModel]:
    """Nobody here sings."""
    del core_version
    return []


@router.get("/singer_info")
async def singer_info(
    speaker_uuid: SpeakerUuid, resource_format: ResourceFormat = "base64", core_version: CoreVersion = None
) -> SpeakerInfo:
    """Nobody here sings."""
    del speaker_uuid, resource_format, core_version
    raise HTTPException(HTTPStatus.NOT_FOUND, "nobody here sings")


@router.post("/initialize_speaker", status_code=204, response_class=Response)
async def initialize_speaker(
    context: InContext,
    speaker: StyleId,
    skip_reinit: Annotated[bool, Query(description="passed over: what is loaded stays")] = False,
    core_version: CoreVersion = None,
) -> None:
    """Load the voice of a style, if it was freed."""
    del skip_reinit, core_version
    own, _ = context.speaker_of(speaker)
    await asyncio.to_thread(own.wake)


@router.get("/is_initialized_speaker")
async def is_initialized_speaker(context: InContext, speaker: StyleId, core_version: CoreVersion = None) -> bool:
    """Whether the voice of a style is in memory."""
    del core_version
    return context.speaker_of(speaker)[0].is_loaded


@router.post("/cleanup_speaker")
async def cleanup_speaker(context: InContext, speaker: StyleId) -> Released:
    """Free the voice of a style, after the sentence that it is at; its next sentence loads it again."""
    own, _ = context.speaker_of(speaker)
    return await asyncio.to_thread(_release, context, [own.name])


@router.post("/cleanup_all_speakers")
async def cleanup_all_speakers(context: InContext) -> Released:
    """Free all voices; each is loaded again when it is needed."""
    return await asyncio.to_thread(_release, context, list(context.backend.tts.speakers))


def _release(context: InContext, names: list[str]) -> Released:
    released = []
    for name in names:
        try:
            if context.backend.tts.release(name):
                released.append(name)
        except EngineError:  # unloaded meanwhile: all the better
            continue
    return Released(released=released)


@router.get("/supported_devices")
async def supported_devices(context: InContext, core_version: CoreVersion = None) -> SupportedDevices:
    """What the service computes on."""
    del core_version
    return SupportedDevices(cpu=True, cuda=context.backend.tts.device.startswith("cuda"), dml=False)


@router.get("/engine_manifest")
async def engine_manifest(context: InContext) -> Manifest:
    """What this engine is, and which fields of a query it honours."""
    rates = [speaker.sample_rate for speaker in context.backend.tts.speakers.values()]
    return Manifest(
        manifest_version=_MANIFEST_VERSION,
        name="Asagoe",
        brand_name="Asagoe",
        uuid=_ENGINE_UUID,
        url="",
        icon="",
        default_sampling_rate=max(rates, default=48_000),
        frame_rate=200.0,
        terms_of_service="Apache-2.0. Voices and dictionaries have licences of their own; see docs/licences.md.",
        update_infos=[],
        dependency_licenses=[],
        supported_features={
            "adjust_mora_pitch": False,
            "adjust_phoneme_length": False,
            "adjust_speed_scale": True,
            "adjust_pitch_scale": True,
            "adjust_intonation_scale": any("intonation" in s.options for s in context.backend.tts.speakers.values()),
            "adjust_volume_scale": True,
            "adjust_pause_length": True,
            "interrogative_upspeak": any(s.family == "style_bert_vits2" for s in context.backend.tts.speakers.values()),
            "synthesis_morphing": False,
            "sing": False,
            "manage_library": False,
            "return_resource_url": False,
        },
    )
