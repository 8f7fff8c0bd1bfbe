"""Planning is done on the event loop of a small computer, so it may not take long."""

import time
from datetime import UTC, datetime, timedelta

from daemon.config import parse_config
from daemon.schedule.entries import entries_of
from daemon.schedule.plan import Exceptions, next_planned

DAYS = [
    "workdays",
    "mon-fri",
    "第2・第4土曜",
    "holidays",
    "12-24",
    "祝前日",
    "not holidays",
    "last fri",
    "2026-12-24",
    "daily",
]


def test_the_next_of_a_hundred_rules_is_planned_in_milliseconds():
    entries = "".join(f"  - {{at: ['{n % 24}:00', 'sunset-{n}m'], days: {DAYS[n % 10]}, say: x}}\n" for n in range(90))
    entries += "".join(f"  - {{cron: '{n} 7 * * {n % 7}', say: x}}\n" for n in range(10))
    config = parse_config(f"timezone: Europe/Berlin\nplace: {{latitude: 52, longitude: 13}}\nschedule:\n{entries}")
    world = config.calendar
    rules = [entry.rule for entry, _ in entries_of(config).values()]
    times = []
    for week in range(12):
        after = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(weeks=week)
        start = time.process_time()
        found = [next_planned(rule, Exceptions(), after, world) for rule in rules]
        times.append(time.process_time() - start)
        assert None not in found
    print(f"100 rules: median {sorted(times)[6] * 1000:.1f} ms, first {times[0] * 1000:.1f} ms")
    assert sorted(times)[6] < 0.1  # about 15 ms on a desktop computer
