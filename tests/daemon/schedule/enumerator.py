"""The slow way to list occurrences, written apart from the planner: a walk through time, minute by minute.

A rule speaks of what the local clock shows. The walk reads the clock at every minute of UTC and never asks for the
moment of a local time. Times of rules and offsets of zones must be whole minutes: those of zones are since 1975.
"""

from bisect import bisect_left
from datetime import UTC, datetime, timedelta

MINUTE = timedelta(minutes=1)


def slow_occurrences(times, holds, zone, after, end):
    """The moments in (after, end] at which a rule is due.

    Every time of every local date that the clock shows at some minute is due at the first minute whose clock shows
    that time or a later one.
    """
    moment = after.astimezone(UTC).replace(second=0, microsecond=0) - timedelta(hours=50)
    moments, latest, dates = [], [], set()
    while moment <= end:
        wall = moment.astimezone(zone).replace(tzinfo=None)
        moments.append(moment)
        latest.append(max(wall, latest[-1]) if latest else wall)
        dates.add(wall.date())
        moment += MINUTE
    found = set()
    for day in dates:
        for at in times if holds(day) else ():
            index = bisect_left(latest, datetime.combine(day, at))
            if 0 < index < len(moments):
                found.add(moments[index])
    return sorted(moment for moment in found if after < moment <= end)
