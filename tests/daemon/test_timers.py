"""One contract for the real timers and the fake ones."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from daemon.schedule.timers import APSchedulerTimers
from tests.fakes.clock import FakeClock, FakeTimers


@pytest.fixture(params=["real", "fake"])
def scenario(request):
    """Runs a function with timers, a clock and a way to let half a second pass."""

    def run(body):
        async def real():
            timers = APSchedulerTimers()
            timers.start()
            body(timers, lambda: datetime.now(UTC))
            await asyncio.sleep(0.5)
            timers.stop()
            await asyncio.sleep(0.05)

        def fake():
            clock = FakeClock(datetime.now(UTC))
            timers = FakeTimers(clock)
            timers.start()
            body(timers, clock.now)
            timers.run_until(clock.now() + timedelta(seconds=0.5))
            timers.stop()

        asyncio.run(real()) if request.param == "real" else fake()

    return run


def test_moments_come_in_order_and_past_ones_at_once(scenario):
    called = []

    def body(timers, now):
        timers.at("later", now() + timedelta(seconds=0.3), lambda: called.append("later"))
        timers.at("soon", now() + timedelta(seconds=0.1), lambda: called.append("soon"))
        timers.at("past", now() - timedelta(days=400), lambda: called.append("past"))
        timers.at("far", now() + timedelta(days=1), lambda: called.append("far"))

    scenario(body)
    assert called == ["past", "soon", "later"]


def test_a_key_that_is_set_again_is_moved_and_one_that_is_cancelled_is_gone(scenario):
    called = []

    def body(timers, now):
        timers.at("a", now() + timedelta(seconds=0.1), lambda: called.append("old"))
        timers.at("a", now() + timedelta(seconds=0.2), lambda: called.append("new"))
        timers.at("b", now() + timedelta(seconds=0.1), lambda: called.append("b"))
        timers.cancel("b")
        timers.cancel("never set")
        timers.check()

    scenario(body)
    assert called == ["new"]


def test_the_real_timers_are_punctual():
    late = []

    async def body():
        timers = APSchedulerTimers()
        timers.start()
        for n in range(5):
            moment = datetime.now(UTC) + timedelta(seconds=0.1 + n / 20)
            timers.at(f"n{n}", moment, lambda m=moment: late.append((datetime.now(UTC) - m).total_seconds()))
        await asyncio.sleep(0.6)
        timers.stop()
        await asyncio.sleep(0.05)

    asyncio.run(body())
    assert len(late) == 5
    assert min(late) >= 0
