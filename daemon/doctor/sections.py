"""All checks of the doctor, in the order in which they are run."""

from __future__ import annotations

from daemon.doctor import broker, machine, service, sound, voices
from daemon.doctor.findings import Section

SECTIONS = (
    Section("configuration", service.check_configuration),
    Section("service", service.check_service),
    Section("sound", sound.check_sound, timeout=20.0),
    Section("voices", voices.check_voices, timeout=60.0),
    Section("broker", broker.check_broker, timeout=40.0),
    Section("clock", machine.check_clock),
    Section("memory", machine.check_memory),
    Section("disk", machine.check_disk),
    Section("folders", machine.check_folders),
)
