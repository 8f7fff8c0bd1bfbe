"""A real Home Assistant core that is told what to do line by line: ``python driver.py CONFIG_FOLDER BROKER_PORT``.

Runs where ``homeassistant`` is installed. Each line of standard input is a JSON object with ``do``; each answer is a line
of standard output that begins with ``>``.
"""

import asyncio
import json
import logging
import sys

from homeassistant import bootstrap
from homeassistant.helpers import device_registry, entity_registry
from homeassistant.runner import RuntimeConfig


def answer(value):
    print(">" + json.dumps(value, ensure_ascii=False, default=str), flush=True)


class Complaints(logging.Handler):
    """What Home Assistant logs as a warning or worse about MQTT."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines = []

    def emit(self, record):
        if "mqtt" in record.name or "template" in record.name:
            self.lines.append(f"{record.levelname} {record.name}: {record.getMessage()}"[:600])


class Orders:
    """What it can be told to do."""

    def __init__(self, hass, complaints):
        self.hass = hass
        self._complaints = complaints

    async def entities(self, _):
        registry = entity_registry.async_get(self.hass)
        return {
            entry.entity_id: self._entity(entry) for entry in registry.entities.values() if entry.platform == "mqtt"
        }

    def _entity(self, entry):
        state = self.hass.states.get(entry.entity_id)
        return {
            "unique_id": entry.unique_id,
            "name": entry.name or entry.original_name,
            "disabled": entry.disabled_by is not None,
            "state": getattr(state, "state", None),
            "attributes": dict(getattr(state, "attributes", {})),
        }

    async def devices(self, _):
        return [device.name for device in device_registry.async_get(self.hass).devices.values()]

    async def complaints(self, _):
        return self._complaints.lines

    async def call(self, order):
        try:
            await self.hass.services.async_call(order["domain"], order["service"], order["data"], blocking=True)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return "done"


async def connect(hass, port):
    """Set up the MQTT integration, as a person would by its form."""
    if hass.config_entries.async_entries("mqtt"):
        return
    flows = hass.config_entries.flow
    flow = await flows.async_init("mqtt", context={"source": "user"})
    if flow["type"] == "menu":
        flow = await flows.async_configure(flow["flow_id"], {"next_step_id": "broker"})
    flow = await flows.async_configure(flow["flow_id"], {"broker": "127.0.0.1", "port": port})
    if flow["type"] != "create_entry":
        raise SystemExit(f"the MQTT integration could not be set up: {flow}")


async def main(folder, port):
    complaints = Complaints()
    hass = await bootstrap.async_setup_hass(
        RuntimeConfig(config_dir=folder, skip_pip=False, log_rotate_days=1, verbose=False, log_no_color=True)
    )
    logging.getLogger().addHandler(complaints)
    await hass.async_start()
    await connect(hass, port)
    orders = Orders(hass, complaints)
    answer("ready")
    while line := await asyncio.to_thread(sys.stdin.readline):
        order = json.loads(line)
        if order["do"] == "stop":
            break
        answer(await getattr(orders, order["do"])(order))
    await hass.async_stop(force=True)
    answer("stopped")


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
