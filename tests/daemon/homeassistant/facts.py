"""A node that has everything."""

from dataclasses import replace

from daemon.homeassistant.facts import AlarmFact, Facts, Named
from daemon.homeassistant.payloads import device

FULL = Facts(
    node="kitchen",
    base="asagoe/kitchen",
    locale="ja",
    version="1.2.3",
    model="Raspberry Pi 4 Model B Rev 1.4",
    alarms=(AlarmFact("wake-up", "平日の起床", True), AlarmFact("nap", "nap", False)),
    entries=(Named("bath", "bath"), Named("schedule-2", "schedule-2")),
    briefings=("morning", "evening"),
    speakers=("mei", "f1"),
    styles=("Neutral", "Happy", "Sad"),
    chimes=("none", "ding", "rising"),
    devices=("default", "HDMI: 0"),
    tones=("bell", "ding", "rising"),
)
APART = ("time", "datetime")


def told(facts=FULL, prefix="homeassistant", apart=APART):
    return device(facts, prefix=prefix, apart=apart)


def with_locale(locale):
    return replace(FULL, locale=locale)
