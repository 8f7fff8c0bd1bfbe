"""Asagoe's own interface: alarms and the schedule."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Body, HTTPException
from fastapi.responses import Response
from pydantic import BaseModel, Field

from daemon.alarms.alarm import Alarm
from daemon.http.backend import Backend
from daemon.http.context import InContext
from daemon.http.own import Asked, Done, Id, Line, Name, example, problems
from daemon.http.voicevox_models import Text

router = APIRouter(tags=["Asagoe: alarms and schedule"])

_DEFINITION = {"at": "06:45", "days": ["mon-fri"], "text": "おはようございます。", "volume": 60, "fade_in": "30s"}
_REFUSED = problems(401, 403, 404, 422)

Times = list[Annotated[str, Field(max_length=40)]]
Days = list[Line]


class LeftOut(BaseModel):
    """A moment at which something does not happen."""

    at: str
    reason: str


class Entry(BaseModel):
    """What an entry of the schedule is, and what comes of it."""

    id: str
    name: str = ""
    enabled: bool
    next: str | None = Field(description="when it is due next: local time with its offset, ISO 8601")
    left_out: LeftOut | None = Field(default=None, description="what is left out before that, and why")
    at: list[str] = Field(description="times of day, or by the sun; empty for a cron rule")
    days: list[str] = Field(description="as they were written; empty for every day")
    cron: str | None = None
    text: str | None = Field(default=None, description="what is said; of an alarm of the configuration a template")
    briefing: str | None = Field(default=None, description="that is told instead, or of an alarm after it")
    speaker: str | None = None
    style: str | None = None
    volume: int | None = None


class AlarmModel(Entry):
    """What an alarm is, and what comes of it."""

    state: str = Field(description="off, armed, ringing or snoozed")
    until: str | None = Field(default=None, description="when it rings again, where it is snoozed")
    made_here: bool = Field(description="made at run time: it can be changed and removed")
    once: bool = Field(description="for one occurrence")
    sound: str | None = None
    fade_in: float = Field(description="seconds")
    snooze: float = Field(description="seconds, where nobody says otherwise")


class AlarmChange(Asked):
    """Keys of an alarm that get other values. Of one of the configuration, only `at` can be changed."""

    model_config = example({"at": ["07:00"], "days": ["sat", "sun"], "volume": 45})

    at: Times | None = Field(default=None, min_length=1, max_length=24)
    days: Days | None = Field(default=None, max_length=40, description="empty for every day")
    text: Text | None = Field(default=None, min_length=1, max_length=1000)
    name: Annotated[Text, Field(max_length=80)] | None = None
    volume: int | None = Field(default=None, ge=1, le=100)
    speaker: Name | None = None
    style: Name | None = None
    sound: Annotated[Text, Field(max_length=64)] | None = None
    once: bool | None = None


class Enabled(Asked):
    """On or off."""

    model_config = example({"enabled": False})
    enabled: bool


class Skip(Asked):
    """Whether the next occurrence is left out."""

    model_config = example({"skip": True})
    skip: bool = True


class TimesOfDay(Asked):
    """Other times of day."""

    model_config = example({"time": ["06:30"]})
    time: Times = Field(min_length=1, max_length=24)


class SnoozeLength(Asked):
    """For how long."""

    model_config = example({"length": "5m"})
    length: Annotated[Text, Field(max_length=20)] | None = Field(
        default=None, description="10 s to 3 h: a duration, or minutes; default: the alarm's own"
    )


Definition = Annotated[
    dict[Text, Any],
    Body(
        max_length=40,
        description="the keys of an alarm in the configuration, and `in` (a duration from now) or `once`",
        openapi_examples={"workdays": {"value": _DEFINITION}, "timer": {"value": {"in": "10m", "text": "時間です。"}}},
    ),
]


@router.get("/api/alarms", responses=problems(401, 403))
async def alarms(context: InContext) -> list[AlarmModel]:
    """All alarms."""
    return await context.backend.on_loop(lambda: _alarms(context.backend))


@router.post("/api/alarms", status_code=HTTPStatus.CREATED, responses=problems(401, 403, 422))
async def make_alarm(context: InContext, definition: Definition) -> AlarmModel:
    """Make an alarm under an id of its own."""
    return await _make(context.backend, f"alarm-{secrets.token_hex(4)}", definition)


@router.get("/api/alarms/{alarm_id}", responses=_REFUSED)
async def alarm(context: InContext, alarm_id: Id) -> AlarmModel:
    """One alarm."""
    return await context.backend.on_loop(lambda: _alarm(context.backend, alarm_id))


@router.put("/api/alarms/{alarm_id}", responses=problems(401, 403, 422))
async def put_alarm(context: InContext, alarm_id: Id, definition: Definition) -> AlarmModel:
    """Make an alarm, or another one in its place; not of the configuration."""
    return await _make(context.backend, alarm_id, definition)


@router.patch("/api/alarms/{alarm_id}", responses=_REFUSED)
async def change_alarm(context: InContext, alarm_id: Id, change: AlarmChange) -> AlarmModel:
    """Give some keys other values; null gives a key its default back."""
    keys = {name: getattr(change, name) for name in change.model_fields_set}
    if keys.get("days") == []:
        keys["days"] = None

    def work() -> AlarmModel:
        _alarm(context.backend, alarm_id)
        context.backend.agenda.change(alarm_id, keys)
        return _alarm(context.backend, alarm_id)

    return await context.backend.on_loop(work)


@router.delete("/api/alarms/{alarm_id}", status_code=204, response_class=Response, responses=_REFUSED)
async def remove_alarm(context: InContext, alarm_id: Id) -> None:
    """Remove an alarm that was made at run time."""
    await _do(context.backend, "alarm", alarm_id, "", "")


@router.put("/api/alarms/{alarm_id}/enabled", responses=_REFUSED)
async def enable_alarm(context: InContext, alarm_id: Id, body: Enabled) -> AlarmModel:
    """Switch it on or off."""
    await _do(context.backend, "alarm", alarm_id, "/enabled", "ON" if body.enabled else "OFF")
    return await alarm(context, alarm_id)


@router.put("/api/alarms/{alarm_id}/skip", responses=_REFUSED)
async def skip_alarm(context: InContext, alarm_id: Id, body: Skip) -> AlarmModel:
    """Leave out its next occurrence, or leave out none after all."""
    await _do(context.backend, "alarm", alarm_id, "/skip", "ON" if body.skip else "OFF")
    return await alarm(context, alarm_id)


@router.put("/api/alarms/{alarm_id}/time", responses=_REFUSED)
async def set_alarm_time(context: InContext, alarm_id: Id, body: TimesOfDay) -> AlarmModel:
    """Give it other times of day, also one of the configuration."""
    await _do(context.backend, "alarm", alarm_id, "/time", ",".join(body.time))
    return await alarm(context, alarm_id)


@router.post("/api/alarms/{alarm_id}/snooze", responses=_REFUSED)
async def snooze_alarm(context: InContext, alarm_id: Id, body: SnoozeLength | None = None) -> Done:
    """Put it off; it must be ringing or snoozed."""
    await _do(context.backend, "alarm", alarm_id, "/snooze", (body and body.length) or "")
    return Done(ids=[alarm_id])


@router.post("/api/alarms/{alarm_id}/dismiss", responses=_REFUSED)
async def dismiss_alarm(context: InContext, alarm_id: Id) -> Done:
    """End it, ringing or snoozed; or leave it out where it is due within three hours."""
    await _do(context.backend, "alarm", alarm_id, "/dismiss", "")
    return Done(ids=[alarm_id])


@router.post("/api/alarms/{alarm_id}/ring", responses=_REFUSED)
async def ring_alarm(context: InContext, alarm_id: Id) -> Done:
    """Ring it now; its next occurrence stays."""

    def work() -> None:
        _alarm(context.backend, alarm_id)
        context.backend.commands.carry_out("do/ring", alarm_id)

    await context.backend.on_loop(work)
    return Done(ids=[alarm_id])


@router.get("/api/schedule", responses=problems(401, 403))
async def schedule(context: InContext) -> list[Entry]:
    """All entries of the schedule."""
    return await context.backend.on_loop(lambda: _schedule(context.backend))


@router.put("/api/schedule/{entry_id}/enabled", responses=_REFUSED)
async def enable_entry(context: InContext, entry_id: Id, body: Enabled) -> Entry:
    """Switch it on or off."""
    return await _entry_after(context.backend, entry_id, "/enabled", "ON" if body.enabled else "OFF")


@router.put("/api/schedule/{entry_id}/skip", responses=_REFUSED)
async def skip_entry(context: InContext, entry_id: Id, body: Skip) -> Entry:
    """Leave out its next occurrence, or leave out none after all."""
    return await _entry_after(context.backend, entry_id, "/skip", "ON" if body.skip else "OFF")


@router.put("/api/schedule/{entry_id}/time", responses=_REFUSED)
async def set_entry_time(context: InContext, entry_id: Id, body: TimesOfDay) -> Entry:
    """Give it other times of day."""
    return await _entry_after(context.backend, entry_id, "/time", ",".join(body.time))


@router.post("/api/schedule/{entry_id}/run", responses=_REFUSED)
async def run_entry(context: InContext, entry_id: Id) -> Done:
    """Say it now."""

    def work() -> object:
        _entry(context.backend, entry_id)
        return context.backend.commands.carry_out("do/run", entry_id)

    return Done.of(await context.backend.on_loop(work))


# Details; all of it on the service's loop.


async def _make(backend: Backend, alarm_id: str, definition: Mapping[str, Any]) -> AlarmModel:
    text = json.dumps(definition)

    def work() -> AlarmModel:
        backend.commands.carry_out(f"set/alarm/{_part(alarm_id)}", text)
        return _alarm(backend, alarm_id)

    return await backend.on_loop(work)


async def _do(backend: Backend, kind: str, entry_id: str, action: str, text: str) -> None:
    def work() -> None:
        (_alarm if kind == "alarm" else _entry)(backend, entry_id)
        backend.commands.carry_out(f"set/{kind}/{_part(entry_id)}{action}", text)

    await backend.on_loop(work)


async def _entry_after(backend: Backend, entry_id: str, action: str, text: str) -> Entry:
    await _do(backend, "schedule", entry_id, action, text)
    return await backend.on_loop(lambda: _entry(backend, entry_id))


def _part(entry_id: str) -> str:
    """An id as a part of a command's name."""
    if "/" in entry_id:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, "an id has no slash")
    return entry_id


def _alarms(backend: Backend) -> list[AlarmModel]:
    state = backend.snapshot()
    return [_shown(backend, name, item, state) for name, item in state["alarms"].items()]


def _shown(backend: Backend, name: str, item: Mapping[str, Any], state: Mapping[str, Any]) -> AlarmModel:
    own = backend.agenda.alarms[name]
    return AlarmModel(
        **_common(backend, name, item),
        name=own.name,
        state=item["state"],
        until=state["snoozed"].get(name),
        made_here=own.made_here,
        once=own.once,
        text=own.text,
        briefing=own.then,
        speaker=own.speaker,
        style=own.options.get("style"),
        volume=own.volume,
        sound=own.sound,
        fade_in=own.fade_in.total_seconds(),
        snooze=own.snooze.length.total_seconds(),
    )


def _alarm(backend: Backend, alarm_id: str) -> AlarmModel:
    if alarm_id not in backend.agenda.alarms:
        raise HTTPException(HTTPStatus.NOT_FOUND, "there is no alarm of that id; GET /api/alarms lists them")
    state = backend.snapshot()
    return _shown(backend, alarm_id, state["alarms"][alarm_id], state)


def _schedule(backend: Backend) -> list[Entry]:
    return [_said(backend, name, item) for name, item in backend.snapshot()["schedule"].items()]


def _entry(backend: Backend, entry_id: str) -> Entry:
    item = backend.snapshot()["schedule"].get(entry_id)
    if item is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, "there is no entry of that id; GET /api/schedule lists them")
    return _said(backend, entry_id, item)


def _said(backend: Backend, name: str, item: Mapping[str, Any]) -> Entry:
    own = backend.agenda.items[name]
    assert not isinstance(own, Alarm)  # noqa: S101
    return Entry(
        **_common(backend, name, item),
        text=own.say,
        briefing=own.briefing,
        speaker=own.speaker,
        style=own.style,
        volume=own.volume,
    )


def _common(backend: Backend, name: str, item: Mapping[str, Any]) -> dict[str, Any]:
    written = backend.agenda.written(name)
    days = written.get("days") or []
    return {
        "id": name,
        "enabled": item["enabled"],
        "next": item["next"],
        "left_out": item["left_out"],
        "at": list(backend.agenda.times(name)),
        "days": [days] if isinstance(days, str) else days,
        "cron": written.get("cron"),
    }
