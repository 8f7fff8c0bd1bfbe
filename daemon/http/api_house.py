"""Asagoe's own interface: what holds for the whole node, commands by name, briefings, the doctor."""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, Field

from daemon.http.context import InContext
from daemon.http.own import Asked, Done, example, problems
from daemon.http.voicevox_models import Text

router = APIRouter(tags=["Asagoe: house"])

_REFUSED = problems(401, 403, 404, 422)
BriefingName = Annotated[str, Field(max_length=64)]
_ISO_DATE = r"^\d{4}-\d\d-\d\d$"


class Vacation(Asked):
    """Local dates on which nothing rings that does not ignore it."""

    model_config = example({"from": "2026-12-28", "until": "2027-01-03"})
    first: str | None = Field(default=None, alias="from", pattern=_ISO_DATE, description="default: today")
    last: str | None = Field(default=None, alias="until", pattern=_ISO_DATE, description="default: without an end")


class Settings(BaseModel):
    """What holds for the whole node."""

    volume: int
    mute: bool
    quiet: bool = Field(description="whether it is quiet now")
    quiet_mode: str = Field(description="on, off or auto: by the clock")
    quiet_until: str | None
    deferred: int = Field(description="announcements that wait for the end of the quiet hours")
    vacation: dict[str, str] | None


class Change(Asked):
    """What is to be another; what is left out stays."""

    model_config = example({"volume": 40, "quiet_mode": "auto", "vacation": None})
    volume: int | None = Field(default=None, ge=0, le=100)
    mute: bool | None = None
    quiet_mode: Literal["on", "off", "auto"] | None = None
    vacation: Vacation | None = Field(default=None, description="null ends it")


class Command(Asked):
    """A command of the table that MQTT has too, such as `do/stop`, `do/skip` or `set/volume`."""

    model_config = example({"command": "do/stop"})
    command: Annotated[Text, Field(max_length=200)]
    value: Annotated[Text, Field(max_length=4000)] = ""


class SectionModel(BaseModel):
    """A section of a briefing."""

    section: str
    kind: str


class BriefingModel(BaseModel):
    """A briefing."""

    name: str
    sections: list[SectionModel]


class Part(SectionModel):
    """What becomes of a section, and why."""

    text: str | None = Field(description="what is said; null where it is left out")
    source: str | None = Field(description="the hosts that were asked")
    age: float | None = Field(description="seconds of the data")
    seconds: float = Field(description="that the source took")
    left_out_because: str | None
    instead_because: str | None = Field(description="why the last good value stands in")


class Preview(BaseModel):
    """A briefing as it would be told now."""

    name: str
    due: str
    text: str
    sections: list[Part]


class Finding(BaseModel):
    """What the doctor found."""

    check: str
    level: Literal["ok", "warn", "fail"]
    finding: str
    remedy: str | None


@router.get("/api/settings", responses=problems(401, 403))
async def settings(context: InContext) -> Settings:
    """Volume, mute, quiet hours and vacation."""
    state = await context.backend.on_loop(context.backend.snapshot)
    return Settings.model_validate({name: state[name] for name in Settings.model_fields})


@router.patch("/api/settings", responses=problems(401, 403, 422))
async def change_settings(context: InContext, change: Change) -> Settings:
    """Change some of them: all that are given, or, where one is refused, none."""
    given = change.model_fields_set
    wanted: list[tuple[str, str]] = []
    if "vacation" in given:  # the only one that can be refused
        dates = change.vacation and change.vacation.model_dump(by_alias=True, exclude_none=True)
        wanted.append(("set/vacation", json.dumps(dates) if dates else "OFF" if dates is None else "ON"))
    if change.volume is not None:
        wanted.append(("set/volume", str(change.volume)))
    if change.mute is not None:
        wanted.append(("set/mute", "ON" if change.mute else "OFF"))
    if change.quiet_mode is not None:
        wanted.append(("set/quiet", change.quiet_mode))

    def work() -> None:
        for name, text in wanted:
            context.backend.commands.carry_out(name, text)

    await context.backend.on_loop(work)
    return await settings(context)


@router.post("/api/commands", responses=problems(401, 403, 422))
async def carry_out(context: InContext, body: Command) -> Done:
    """Carry out a command by name."""
    return Done.of(await context.backend.command(body.command, body.value))


@router.get("/api/briefings", responses=problems(401, 403))
async def briefings(context: InContext) -> list[BriefingModel]:
    """The briefings of the configuration."""
    found = await context.backend.on_loop(lambda: context.backend.briefer.sections)
    return [
        BriefingModel(name=name, sections=[SectionModel(section=own, kind=kind) for own, kind in sections])
        for name, sections in found.items()
    ]


@router.get("/api/briefings/{name}", responses=_REFUSED)
async def preview(context: InContext, name: BriefingName) -> Preview:
    """What a briefing would say now, with the reason for each section; its sources are asked. One at a time."""
    await _known(context, name)
    async with context.previewing:
        composed = await context.backend.wait_on_loop(context.backend.briefer.preview(name))
    return Preview(
        name=composed.name,
        due=composed.due.isoformat(timespec="seconds"),
        text=composed.text,
        sections=[Part.model_validate(part.as_json()) for part in composed.parts],
    )


@router.post("/api/briefings/{name}/play", responses=_REFUSED)
async def play(context: InContext, name: BriefingName) -> Done:
    """Tell it in the room, now."""
    await _known(context, name)
    return Done.of(await context.backend.command("do/run", name))


@router.post("/api/briefings/pause", responses=problems(401, 403, 422))
async def pause(context: InContext) -> Done:
    """Hold the briefing that is being told."""
    return Done.of(await context.backend.command("do/pause"))


@router.post("/api/briefings/resume", responses=problems(401, 403, 422))
async def resume(context: InContext) -> Done:
    """Go on with what was paused."""
    return Done.of(await context.backend.command("do/resume"))


@router.post("/api/briefings/next_section", responses=problems(401, 403, 422))
async def next_section(context: InContext) -> Done:
    """Go on with the next section of the briefing that is being told."""
    return Done.of(await context.backend.command("do/next_section"))


@router.get("/api/doctor", responses=problems(401, 403))
async def doctor(context: InContext) -> list[Finding]:
    """Examine everything, without a sound; may take a minute. One at a time."""
    async with context.examining:
        found: list[dict[str, Any]] = list(await asyncio.to_thread(context.backend.doctor))
    return [Finding.model_validate(finding) for finding in found]


async def _known(context: InContext, name: str) -> None:
    if name not in await context.backend.on_loop(lambda: context.backend.briefer.names):
        raise HTTPException(HTTPStatus.NOT_FOUND, "there is no briefing of that name; GET /api/briefings lists them")
