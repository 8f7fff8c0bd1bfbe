from datetime import UTC, datetime
from types import SimpleNamespace

from daemon.events import Event
from daemon.health import Health
from tests.fakes.clock import FakeClock


def test_a_report_says_how_things_are_and_what_went_wrong_last():
    clock = FakeClock(datetime(2026, 12, 1, tzinfo=UTC))
    health = Health(
        clock,
        speakers=lambda: {
            "mei": SimpleNamespace(family="openjtalk", memory=2_500_000, is_loaded=True),
            "f2": SimpleNamespace(family="style_bert_vits2", memory=0, is_loaded=False),
        },
        problems=lambda: {"f1": "the hub does not answer"},
        audio=lambda: {"sink": "default", "audible": True, "problem": None},
        counters=lambda: {"finished": 3},
        compute=lambda: {"device": "cuda:0", "problem": None},
        failing=lambda: {"f2": "no memory left", "gone": "it was removed"},
    )
    clock.advance(90)
    assert health.report()["last_error"] is None
    health.on_event(Event("finished", "a"))
    health.on_event(Event("failed", "b", "no such style"))
    report = health.report()
    assert report["uptime_s"] == 90
    assert report["speakers"] == {
        "mei": {"state": "ready", "family": "openjtalk", "memory_mb": 2.5},
        "f2": {"state": "resting", "family": "style_bert_vits2", "memory_mb": 0.0, "failed": "no memory left"},
        "f1": {"state": "unavailable", "reason": "the hub does not answer"},
    }
    assert report["last_error"] == {"at": "2026-12-01T00:01:30+00:00", "id": "b", "reason": "no such style"}
    assert report["memory_mb"] > 10
    assert report["compute"] == {"device": "cuda:0", "problem": None}
    assert report["counters"] == {"finished": 3}
