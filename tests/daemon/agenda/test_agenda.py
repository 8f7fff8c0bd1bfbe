"""The plan with everything that people change about it, on a fake clock, over restarts."""

import json
import time as clock
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from daemon.agenda.agenda import Agenda
from daemon.agenda.commands import AgendaCommands, parse_vacation
from daemon.alarms.made import made_alarm, normalised
from daemon.commands import Commands
from daemon.config import parse_config
from daemon.errors import RequestError
from daemon.schedule.calendar import Calendar
from daemon.schedule.plan import Vacation
from daemon.schedule.planner import next_occurrence
from daemon.schedule.scheduler import Reactions, Scheduler
from daemon.store import Database, Records
from tests.fakes.clock import FakeClock, FakeTimers

TOKYO = ZoneInfo("Asia/Tokyo")
CONFIG = """
timezone: Asia/Tokyo
alarms:
  wake-up: {at: "6:45", days: workdays, name: 平日}
  weekend: {at: "9:00", days: weekends, ignore_vacation: true}
schedule:
  - {id: bath, at: "20:00", say: "お風呂の時間です。"}
"""


class FakeKeeper:
    def __init__(self):
        self.rings, self.asked = {}, []

    def __getattr__(self, name):
        return lambda *a: self.asked.append((name, *a))


class Desk:
    """Agenda and scheduler on a fake clock; what is due is written down."""

    def __init__(self, path=None, now=datetime(2026, 12, 1, 5, 0, tzinfo=TOKYO), config=CONFIG):
        self.clock = FakeClock(now)
        self.timers = FakeTimers(self.clock)
        self.database = Database(path)
        self.database.open()
        self.records = Records(self.database)
        self.records.load()
        self.rung = []
        self.missed = []
        self.keeper = FakeKeeper()
        self.agenda = Agenda(clock=self.clock, records=self.records, on_plan=self.plan)
        self.config = parse_config(config)
        self.scheduler = Scheduler(
            clock=self.clock,
            timers=self.timers,
            calendar=self.config.calendar,
            history=self.records,
            alive=self.records.alive,
            reactions=Reactions(
                prepare=lambda _: None,
                wake=lambda: None,
                due=self.due,
                missed=lambda m: self.missed.append(m.occurrence.entry.id),
            ),
        )
        self.agenda.configure(self.config)
        self.commands = Commands()
        AgendaCommands(self.agenda, self.keeper).add_to(self.commands)

    def plan(self, entries, calendar):
        self.scheduler.replace(entries, calendar)

    def due(self, occurrence):
        item = self.agenda.items[occurrence.entry.id]
        self.rung.append((occurrence.entry.id, self.local(occurrence.due)))
        if hasattr(item, "once"):
            self.agenda.done(item)

    def local(self, moment):
        return f"{moment.astimezone(self.config.zone):%m-%d %H:%M}"

    def until(self, *when):
        self.timers.run_until(datetime(*when, tzinfo=self.config.zone))

    def ask(self, name, text=""):
        self.commands.carry_out(name, text if isinstance(text, str) else json.dumps(text))

    def again(self, path, config=CONFIG):
        """A restart: what is kept is read, nothing else."""
        self.records.still_alive(self.clock.now())
        self.database.close()
        return Desk(path, self.clock.now(), config)

    def moments(self, name):
        return [moment for entry, moment in self.rung if entry == name]


def test_alarms_and_entries_are_one_plan():
    desk = Desk()
    desk.until(2026, 12, 6, 10)
    assert desk.moments("wake-up") == ["12-01 06:45", "12-02 06:45", "12-03 06:45", "12-04 06:45"]
    assert desk.moments("weekend") == ["12-05 09:00", "12-06 09:00"]
    assert len(desk.moments("bath")) == 5


def test_skipping_leaves_out_one_and_can_be_undone():
    desk = Desk()
    desk.ask("do/skip_next")
    assert desk.agenda.next_alarm().due.astimezone(TOKYO).day == 2
    coming = next(item for item in desk.agenda.coming() if item.id == "wake-up")
    assert (desk.local(coming.left_out.due), coming.left_out.reason) == ("12-01 06:45", "skipped once")
    desk.ask("set/alarm/wake-up/skip", "OFF")
    assert desk.agenda.next_alarm().due.astimezone(TOKYO).day == 1
    desk.ask("set/alarm/wake-up/skip", "ON")
    desk.until(2026, 12, 3, 10)
    assert desk.moments("wake-up") == ["12-02 06:45", "12-03 06:45"]
    assert desk.missed == []


def test_switching_off_and_on():
    desk = Desk()
    desk.ask("set/alarm/wake-up", "OFF")
    desk.ask("set/schedule/bath", "OFF")
    desk.until(2026, 12, 2, 23)
    assert desk.rung == []
    desk.ask("set/alarm/wake-up/enabled", "ON")
    desk.ask("set/schedule/bath/enabled", "ON")
    desk.until(2026, 12, 3, 23)
    assert desk.rung == [("wake-up", "12-03 06:45"), ("bath", "12-03 20:00")]


def test_a_vacation_silences_alarms_but_those_that_ignore_it():
    desk = Desk()
    desk.ask("set/vacation", "2026-12-02..2026-12-07")
    assert desk.agenda.vacation == Vacation(date(2026, 12, 2), date(2026, 12, 7))
    desk.until(2026, 12, 8, 10)
    assert desk.moments("wake-up") == ["12-01 06:45", "12-08 06:45"]
    assert desk.moments("weekend") == ["12-05 09:00", "12-06 09:00"]
    assert desk.missed == []
    assert desk.agenda.vacation is None  # it is over


def test_a_vacation_without_an_end_is_planned_at_once():
    desk = Desk()
    began = clock.monotonic()
    desk.ask("set/vacation", "ON")
    coming = {item.id: item for item in desk.agenda.coming()}
    assert clock.monotonic() - began < 1.0  # a day after the other to the year 9999 would take half a minute
    assert coming["wake-up"].due is None
    assert (desk.local(coming["wake-up"].left_out.due), coming["wake-up"].left_out.reason) == (
        "12-01 06:45",
        "vacation until 9999-12-31",
    )
    assert desk.local(coming["weekend"].due) == "12-05 09:00"
    desk.ask("set/vacation", "OFF")
    assert desk.local(desk.agenda.next_alarm().due) == "12-01 06:45"


@pytest.mark.parametrize("at", ["0:00", "0:00:01", "12:00", "23:59:59"])
def test_the_first_moment_after_a_vacation_is_not_lost(at):
    desk = Desk(config=f'timezone: Asia/Tokyo\nalarms: {{early: {{at: "{at}"}}}}')
    desk.ask("set/vacation", "2026-12-01..2027-12-30")
    assert desk.agenda.next_alarm().due == datetime.combine(
        date(2027, 12, 31), time(*map(int, at.split(":"))), tzinfo=TOKYO
    )


def test_changed_times_hold_until_the_configuration_changes_them(tmp_path):
    path = tmp_path / "asagoe.db"
    desk = Desk(path)
    desk.ask("set/alarm/wake-up/time", "6:30, 7:00")
    desk.until(2026, 12, 1, 8)
    assert desk.moments("wake-up") == ["12-01 06:30", "12-01 07:00"]
    desk = desk.again(path)
    desk.until(2026, 12, 2, 8)
    assert desk.moments("wake-up") == ["12-02 06:30", "12-02 07:00"]
    desk = desk.again(path, CONFIG.replace("6:45", "5:15"))
    desk.until(2026, 12, 3, 8)
    assert desk.moments("wake-up") == ["12-03 05:15"]
    desk.database.close()


def test_changes_survive_a_restart_and_a_changed_file(tmp_path):
    path = tmp_path / "asagoe.db"
    desk = Desk(path)
    desk.ask("set/alarm/wake-up", "OFF")
    desk.ask("set/alarm/weekend/skip", "ON")
    desk.ask("set/vacation", {"from": "2026-12-24", "until": "2026-12-25"})
    desk.ask("set/alarm/nap", {"at": "14:00", "text": "起きて。"})
    desk = desk.again(path, CONFIG + "# edited\n")
    assert desk.agenda.vacation == Vacation(date(2026, 12, 24), date(2026, 12, 25))
    desk.until(2026, 12, 6, 22)
    assert desk.moments("wake-up") == []
    assert desk.moments("weekend") == ["12-06 09:00"]
    assert len(desk.moments("nap")) == 6
    desk.database.close()


def test_a_restart_neither_repeats_nor_forgets(tmp_path):
    path = tmp_path / "asagoe.db"
    desk = Desk(path)
    desk.until(2026, 12, 1, 6, 45, 10)
    assert desk.moments("wake-up") == ["12-01 06:45"]
    desk = desk.again(path)
    desk.until(2026, 12, 1, 7)
    assert desk.rung == []
    desk.records.still_alive(desk.clock.now())
    desk.database.close()
    late = Desk(path, datetime(2026, 12, 2, 6, 50, tzinfo=TOKYO))  # the power was off over night
    assert late.rung == [("wake-up", "12-02 06:45")]
    assert late.missed == ["bath"]
    late.database.close()


class TestMadeAtRunTime:
    def test_a_repeating_one(self):
        desk = Desk()
        desk.ask("set/alarm/gym", {"at": "19:00", "days": ["tue", "thu"], "volume": 40, "snooze": "5m"})
        alarm = desk.agenda.alarms["gym"]
        assert (alarm.volume, alarm.snooze.length, alarm.made_here) == (40, timedelta(minutes=5), True)
        desk.until(2026, 12, 4)
        assert desk.moments("gym") == ["12-01 19:00", "12-03 19:00"]

    @pytest.mark.parametrize(
        "definition",
        [{"at": "2026-12-01T06:30"}, {"at": "6:30", "once": True}, {"in": "1h30m"}, {"at": "2026-11-30T21:30:00Z"}],
    )
    def test_one_for_one_occurrence_is_gone_after_it(self, definition):
        desk = Desk()
        desk.ask("set/alarm/once", definition)
        desk.until(2026, 12, 4)
        assert desk.moments("once") == ["12-01 06:30"]
        assert "once" not in desk.agenda.alarms
        assert dict(desk.records.all("alarms")) == {}

    @pytest.mark.parametrize(
        ("definition", "due"),
        [
            ({"in": "2h"}, "02:30:00+01:00"),
            ({"in": "1h"}, "02:30:00+02:00"),
            ({"at": "2026-10-25T02:30+01:00"}, "02:30:00+01:00"),
            ({"at": "2026-10-25T02:30"}, "02:30:00+02:00"),
        ],
    )
    def test_in_the_hour_that_autumn_repeats_it_is_due_at_its_exact_moment(self, definition, due):
        calendar = Calendar(ZoneInfo("Europe/Berlin"))
        now = datetime(2026, 10, 25, 1, 30, tzinfo=calendar.zone)
        kept = json.loads(json.dumps(normalised(definition, now, calendar)))  # as it comes back after a restart
        alarm = made_alarm("nap", kept, calendar, now)
        moment = next_occurrence(alarm.rule, now, calendar)
        assert alarm.once
        assert moment.astimezone(calendar.zone).isoformat() == f"2026-10-25T{due}"

    def test_a_moment_that_spring_leaves_out_is_the_end_of_the_gap(self):
        calendar = Calendar(ZoneInfo("Europe/Berlin"))
        now = datetime(2026, 3, 28, tzinfo=UTC)
        alarm = made_alarm("nap", normalised({"at": "2026-03-29T02:30"}, now, calendar), calendar, now)
        assert next_occurrence(alarm.rule, now, calendar) == datetime(2026, 3, 29, 1, tzinfo=UTC)

    def test_what_is_changed_about_it_leaves_its_exact_moment(self):
        desk = Desk()
        desk.ask("set/alarm/once", {"at": "2026-12-01T06:30"})
        assert "moment_utc" not in desk.agenda.written("once")
        desk.agenda.change("once", {"volume": 30})
        alarm = desk.agenda.alarms["once"]
        assert (alarm.volume, alarm.once) == (30, True)
        assert alarm.rule.moment == datetime(2026, 11, 30, 21, 30, tzinfo=UTC)
        desk.agenda.change("once", {"at": "07:10"})
        assert desk.agenda.alarms["once"].rule.moment is None
        desk.until(2026, 12, 4)
        assert desk.moments("once") == ["12-01 07:10"]

    def test_another_time_takes_the_place_of_its_exact_moment(self):
        desk = Desk()
        desk.ask("set/alarm/once", {"at": "2026-12-01T06:30"})
        desk.ask("set/alarm/once/time", "07:10")
        desk.until(2026, 12, 4)
        assert desk.moments("once") == ["12-01 07:10"]

    def test_a_timer_is_never_too_early(self):
        desk = Desk(None, datetime(2026, 12, 1, 6, 0, 0, 400_000, tzinfo=TOKYO))
        desk.ask("set/alarm/egg", {"in": "100ms"})
        desk.ask("set/alarm/tea", {"in": "3s"})
        rules = {name: alarm.rule.times for name, alarm in desk.agenda.alarms.items() if alarm.made_here}
        assert rules == {"egg": (time(6, 0, 1),), "tea": (time(6, 0, 4),)}

    def test_it_is_replaced_and_removed(self):
        desk = Desk()
        desk.ask("set/alarm/nap", {"at": "14:00"})
        desk.ask("set/alarm/nap", {"at": "15:00"})
        desk.until(2026, 12, 2)
        desk.ask("set/alarm/nap", "")
        desk.until(2026, 12, 4)
        assert desk.moments("nap") == ["12-01 15:00"]

    def test_one_that_was_due_while_the_power_was_off_rings_late(self, tmp_path):
        path = tmp_path / "asagoe.db"
        desk = Desk(path)
        desk.ask("set/alarm/once", {"at": "2026-12-01T06:30"})
        desk.records.still_alive(desk.clock.now())
        desk.database.close()
        late = Desk(path, datetime(2026, 12, 1, 6, 40, tzinfo=TOKYO))
        assert late.rung == [("once", "12-01 06:30")]
        late.database.close()

    def test_its_text_is_no_template(self):
        desk = Desk()
        desk.ask("set/alarm/nap", {"at": "14:00", "text": "{{ now | time }} {% 50%"})
        assert desk.agenda.alarms["nap"].is_template is False
        desk.ask("set/alarm/nap", {"at": "14:00"})
        assert desk.agenda.alarms["nap"].is_template is True  # the words are our own

    @pytest.mark.parametrize(
        ("name", "text", "reason"),
        [
            ("nap", {"at": "6:00", "moment_utc": 0}, "unknown key 'moment_utc'"),
            ("nap", {"at": "25:00"}, "at: a time such as 7:30"),
            ("nap", {"at": "2026-11-30T06:00"}, "2026-11-30 06:00 is past"),
            ("nap", {"at": "2026-13-01T06:00"}, "at: a moment such as 2026-12-01T06:30 is expected"),
            ("nap", {"at": "9999-12-31T23:59"}, "a year from 1970 to 2999 is expected, got 9999"),
            ("nap", {"at": "0001-01-01T00:00"}, "a year from 1970 to 2999 is expected, got 1"),
            ("nap", {"at": "6:00", "days": "9999-12-31"}, "never be due"),
            ("nap", {"at": [f"6:{m:02}" for m in range(60)] * 2}, "at: at most 100 times are expected, got 120"),
            ("nap", {"at": "6:00", "pre_alarm": ["1m"] * 21}, "pre_alarm: at most 20 durations are expected, got 21"),
            ("nap", {"in": "soon"}, "in: a duration such as"),
            ("nap", {"in": "1h", "at": "6:00"}, "in stands alone"),
            ("nap", {}, "give either at"),
            ("nap", {"at": "6:00", "volumes": 3}, "unknown key 'volumes'; known are .*volume.*in, once"),
            ("nap", {"at": "6:00", "volume": 0}, "volume"),
            ("nap", {"at": "6:00", "snooze": "9h"}, "snooze.*from 10s to 3h"),
            ("nap", {"at": "6:00", "days": "2025-01-01"}, "never due"),
            ("nap", {"at": "6:00", "text": ""}, "text: text of 1 to 1000 characters"),
            ("nap", {"at": "6:00", "text": 3}, "text: text of 1 to 1000 characters"),
            ("nap", {"at": "6:00", "once": "x"}, "once: true or false"),
            ("nap", {"at": "sunrise"}, "the sun needs a place"),
            ("nap", "[1]", "ON, OFF or a JSON object"),
            ("nap", '{"at": "6:00", "at": "7:00"}', "given twice"),
            ("wake-up", {"at": "6:00"}, "'wake-up' is in the configuration"),
            ("bath", {"at": "6:00"}, "'bath' is in the configuration"),
            ("nap", {"at": "6:00", "sound": "nope"}, "sound: there is no 'nope'; there are .*rising"),
            ("nap", {"at": "6:00", "sound": "/etc/hostname"}, "sound: there is no '/etc/hostname'"),
            ("nap", {"at": "6:00", "speaker": "nobody"}, "speaker: there is no 'nobody'; there are "),
            ("nap", {"at": "6:00", "then": {"briefing": "none"}}, "then: there is no 'none'"),
            ("siren", {"at": "6:00"}, "'siren' is the name of the bell"),
            ("a b", {"at": "6:00"}, "an id of letters"),
            ("nobody", "", "the alarm 'nobody' is not there"),
            ("wake-up", "", "switch it off instead"),
            ("nobody", "ON", "there is no alarm or schedule entry 'nobody'; there are wake-up, weekend, bath"),
        ],
    )
    def test_what_is_wrong_is_said_and_changes_nothing(self, name, text, reason):
        desk = Desk()
        before = dict(desk.agenda.items)
        with pytest.raises(RequestError, match=reason):
            desk.ask(f"set/alarm/{name}", text)
        assert dict(desk.agenda.items) == before
        assert dict(desk.records.all("alarms")) == {}

    def test_there_is_an_end_to_their_number(self):
        desk = Desk()
        for number in range(200):
            desk.agenda.make(f"a{number}", {"at": "6:00"})
        with pytest.raises(RequestError, match="remove one first"):
            desk.agenda.make("one-more", {"at": "6:00"})
        desk.agenda.make("a7", {"at": "7:00"})  # in its place


class TestAnswers:
    def test_snooze_takes_nothing_a_length_or_an_alarm(self):
        desk = Desk()
        desk.keeper.rings = {"wake-up": None}
        for text in ("", "PRESS", "5", "90s", "wake-up"):
            desk.ask("do/snooze", text)
        desk.ask("set/alarm/wake-up/snooze", "10m")
        minutes = timedelta(minutes=1)
        assert desk.keeper.asked == [
            ("snooze", None, None),
            ("snooze", None, None),
            ("snooze", None, 5 * minutes),
            ("snooze", None, 1.5 * minutes),
            ("snooze", "wake-up"),
            ("snooze", "wake-up", 10 * minutes),
        ]

    def test_what_is_due_soon_is_dismissed_early(self):
        desk = Desk()
        desk.ask("do/dismiss", "wake-up")
        assert desk.keeper.asked[0][0] == "dismissed_early"
        desk.until(2026, 12, 1, 8)
        assert desk.rung == []
        with pytest.raises(RequestError, match="neither rings nor is due within 3 hours"):
            desk.ask("do/dismiss", "wake-up")

    def test_ring_now(self):
        desk = Desk()
        desk.ask("do/ring")
        desk.ask("do/ring", "wake-up")
        assert [asked[0] for asked in desk.keeper.asked] == ["ring_bell", "ring_now"]
        with pytest.raises(RequestError, match="there is no alarm 'x'; there are wake-up, weekend"):
            desk.ask("do/ring", "x")


@pytest.mark.parametrize(
    ("text", "vacation"),
    [
        ("OFF", None),
        ("", None),
        ("ON", Vacation(date(2026, 12, 1), date.max)),
        ("2026-12-28..2027-01-03", Vacation(date(2026, 12, 28), date(2027, 1, 3))),
        ("2026-12-28", Vacation(date(2026, 12, 28), date(2026, 12, 28))),
        ('{"until": "2026-12-03"}', Vacation(date(2026, 12, 1), date(2026, 12, 3))),
    ],
)
def test_vacations(text, vacation):
    assert parse_vacation(text, date(2026, 12, 1)) == vacation


@pytest.mark.parametrize(
    "text", ["soon", "2026-12-28..", "2026-12-28..2026-12-27", '{"to": "2026-12-03"}', '{"from": 3}']
)
def test_no_vacations(text):
    if text == "2026-12-28..":
        assert parse_vacation(text, date(2026, 12, 1)) == Vacation(date(2026, 12, 28), date(2026, 12, 28))
        return
    with pytest.raises(RequestError, match="vacation"):
        parse_vacation(text, date(2026, 12, 1))


def test_times_of_a_cron_entry_cannot_be_changed():
    desk = Desk(config=CONFIG.replace('at: "20:00"', 'cron: "0 20 * * *"'))
    with pytest.raises(RequestError, match="due by cron"):
        desk.agenda.set_times("bath", [time(1)])


YEAR = """
timezone: %s
holidays: {country: JP}
alarms:
  early: {at: "2:30"}
  wake-up: {at: "6:45", days: workdays}
  weekend: {at: ["9:00", "9:20"], days: [sat, sun, holidays], ignore_vacation: true}
"""


@pytest.mark.parametrize(
    ("zone", "gap", "fold"),
    [
        ("Asia/Tokyo", None, None),
        ("Europe/Berlin", "03-29 03:00", "10-25 02:30"),
        ("America/New_York", "03-08 03:00", "11-01 02:30"),
        ("Australia/Lord_Howe", "10-04 02:30", "04-05 02:30"),
    ],
)
def test_a_year_rings_exactly_as_it_should(tmp_path, zone, gap, fold):
    """Every ring of 2026, with a vacation and a restart every month, against a list made by walking over the days."""
    info = ZoneInfo(zone)
    path = tmp_path / "asagoe.db"
    holidays = {
        (1, 1), (1, 12), (2, 11), (2, 23), (3, 20), (4, 29), (5, 3), (5, 4), (5, 5), (5, 6), (7, 20), (8, 11),
        (9, 21), (9, 22), (9, 23), (10, 12), (11, 3), (11, 23),
    }  # fmt: skip
    desk = Desk(path, datetime(2026, 1, 1, tzinfo=info), YEAR % zone)
    desk.ask("set/vacation", "2026-08-10..2026-08-16")
    rung = []
    for month in range(2, 14):
        desk.until(2026 + month // 13, (month - 1) % 12 + 1, 1)
        rung += desk.rung
        assert desk.missed == []
        desk = desk.again(path, YEAR % zone)
    desk.database.close()
    expected = []
    day = date(2026, 1, 1)
    while day.year == 2026:
        vacation = date(2026, 8, 10) <= day <= date(2026, 8, 16)
        free = day.weekday() >= 5 or (day.month, day.day) in holidays
        if not vacation:
            expected.append(("early", gap if gap and gap.startswith(f"{day:%m-%d}") else f"{day:%m-%d} 02:30"))
        if not vacation and not free:
            expected.append(("wake-up", f"{day:%m-%d} 06:45"))
        if free:
            expected += [("weekend", f"{day:%m-%d} 09:00"), ("weekend", f"{day:%m-%d} 09:20")]
        day += timedelta(days=1)
    assert rung == expected
    assert fold is None or rung.count(("early", fold)) == 1
    assert len(rung) == len(set(rung))


def test_moments_are_kept_in_utc():
    desk = Desk()
    desk.ask("do/skip_next")
    kept = desk.records.all("changes")["wake-up"]["skipped"]
    assert kept == [round(datetime(2026, 11, 30, 21, 45, tzinfo=UTC).timestamp())]


class TestChanges:
    def test_keys_of_an_alarm_that_was_made_here(self):
        desk = Desk()
        desk.ask("set/alarm/tea", {"at": "15:00", "days": "mon-fri", "text": "お茶です。", "volume": 50})
        desk.agenda.change("tea", {"at": ["16:00"], "volume": 30})
        alarm = desk.agenda.alarms["tea"]
        assert (alarm.volume, alarm.text, desk.agenda.times("tea")) == (30, "お茶です。", ("16:00:00",))
        assert desk.agenda.written("tea")["days"] == "mon-fri"
        desk.until(2026, 12, 1, 17)
        assert desk.moments("tea") == ["12-01 16:00"]

    def test_none_gives_the_default_back(self):
        desk = Desk()
        desk.ask("set/alarm/tea", {"at": "15:00", "days": "mon", "volume": 50})
        desk.agenda.change("tea", {"days": None, "volume": None})
        assert desk.agenda.alarms["tea"].volume == 60
        assert "days" not in desk.agenda.written("tea")

    def test_times_that_were_set_before_are_not_lost_and_it_stays_off(self):
        desk = Desk()
        desk.ask("set/alarm/tea", {"at": "15:00"})
        desk.ask("set/alarm/tea/time", "16:30")
        desk.ask("set/alarm/tea", "OFF")
        desk.agenda.change("tea", {"text": "お茶です。"})
        assert desk.agenda.times("tea") == ("16:30:00",)
        assert not next(item for item in desk.agenda.coming() if item.id == "tea").enabled

    def test_of_one_of_the_configuration_only_the_times(self):
        desk = Desk()
        desk.agenda.change("wake-up", {"at": ["7:15", "7:00"]})
        assert desk.agenda.times("wake-up") == ("07:00:00", "07:15:00")
        assert desk.agenda.written("wake-up") == {"at": ["06:45:00"], "days": ["workdays"], "name": "平日"}
        with pytest.raises(RequestError, match="only its time can be changed here"):
            desk.agenda.change("wake-up", {"text": "起きて"})

    @pytest.mark.parametrize(
        ("keys", "reason"),
        [({"at": ["25:00"]}, "a time such as 7:30"), ({"volume": 0}, "volume"), ({"colour": "red"}, "unknown key")],
    )
    def test_what_cannot_be_changes_nothing(self, keys, reason):
        desk = Desk()
        desk.ask("set/alarm/tea", {"at": "15:00"})
        with pytest.raises(RequestError, match=reason):
            desk.agenda.change("tea", keys)
        assert desk.agenda.written("tea") == {"at": "15:00"}

    def test_an_alarm_that_there_is_not(self):
        with pytest.raises(RequestError, match="there is no alarm 'bath'"):
            Desk().agenda.change("bath", {"at": ["7:00"]})
