"""Home Assistant's own schemas, run on discovery messages: ``python oracle.py WHEEL < messages.json > complaints.json``.

The wheel is not installed: of its modules those that hold schemas and constants are read from the file, all others are
replaced by stand-ins, for a Home Assistant needs a newer Python and half a gigabyte. Its releases since the summer of 2026
validate by ``probatio``, whose names for what is used here are those of voluptuous.
"""

from __future__ import annotations

import builtins
import importlib.abc
import importlib.machinery
import json
import re
import sys
import types
import typing
import zipfile

import jinja2
import voluptuous as vol

PLATFORMS = [
    "binary_sensor",
    "button",
    "datetime",
    "event",
    "notify",
    "number",
    "select",
    "sensor",
    "siren",
    "switch",
    "time",
    "update",
]
REAL = re.compile(
    r"homeassistant\.const"
    r"|homeassistant\.components\.mqtt\.(schemas|const|config|util|abbreviations|" + "|".join(PLATFORMS) + ")"
    r"|homeassistant\.components\.\w+\.const|homeassistant\.generated\.entity_platforms"
)
TOPIC = re.compile(r"[a-z_]+/(?:[a-zA-Z0-9_-]+/)?[a-zA-Z0-9_-]+/config")


class Anything(type):
    """A class that can be whatever a module does with it while it is imported."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return stand_in(name)

    def __or__(cls, other):
        return cls

    __ror__ = __or__

    def __add__(cls, other):
        return other

    def __getitem__(cls, item):
        return cls

    def __iter__(cls):
        return iter(())

    def __call__(cls, *arguments, **options):
        # As a decorator it leaves what it decorates; else there is one more stand-in.
        if len(arguments) == 1 and callable(arguments[0]) and not options:
            return arguments[0]
        return stand_in(cls.__name__)


def stand_in(name):
    return Anything(name, (), {})


class Module(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        constants = sys.modules.get(f"{self.__name__}.const")
        if constants is not None and hasattr(constants, name):
            value = getattr(constants, name)
        elif name == "DEVICE_CLASSES_SCHEMA":  # older ones have it where no constants are
            value = text
        else:
            value = stand_in(name)
        setattr(self, name, value)
        return value


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, wheel):
        self.archive = zipfile.ZipFile(wheel)
        self.names = set(self.archive.namelist())

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] != "homeassistant" and name not in STAND_INS:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=not self.source(name))

    def source(self, name):
        file = name.replace(".", "/") + ".py"
        return file if REAL.fullmatch(name) and file in self.names else None

    def create_module(self, spec):
        return None if self.source(spec.name) else Module(spec.name)

    def exec_module(self, module):
        file = self.source(module.__name__)
        if file:
            module.__file__ = file
            exec(compile(self.archive.read(file).decode(), file, "exec"), module.__dict__)
        else:
            module.__path__ = []
            constants = f"{module.__name__}.const"
            if self.source(constants) and module.__name__ != "homeassistant":
                __import__(constants)


STAND_INS = {"paho", "paho.mqtt", "paho.mqtt.client", "propcache", "propcache.api", "attr", "aiohttp", "awesomeversion"}


def text(value):
    if value is None or isinstance(value, list | dict):
        raise vol.Invalid("value should be a string")
    return str(value)


def flag(value):
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in {"1", "true", "yes", "on", "enable"}:
        return True
    if isinstance(value, str) and value.lower() in {"0", "false", "no", "off", "disable"}:
        return False
    raise vol.Invalid(f"invalid boolean value {value}")


ENVIRONMENT = jinja2.Environment(autoescape=False)
ENVIRONMENT.filters["to_json"] = lambda value: json.dumps(value, ensure_ascii=False)


def template(value):
    if not isinstance(value, str):
        raise vol.Invalid("template value should be a string")
    try:
        ENVIRONMENT.parse(value)
        ENVIRONMENT.from_string(value)
    except jinja2.TemplateError as error:
        raise vol.Invalid(f"invalid template ({error})") from error
    return value


def icon(value):
    if not re.fullmatch(r"[a-z]+:[a-z0-9-]+", str(value)):
        raise vol.Invalid('Icons should be specified in the form "prefix:name"')
    return value


def url(value):
    if not re.fullmatch(r"(https?|homeassistant)://\S+", str(value)):
        raise vol.Invalid("invalid url")
    return value


def ensure_list(value):
    return [] if value is None else value if isinstance(value, list) else [value]


def prepare():
    typing.override = getattr(typing, "override", lambda function: function)
    typing.TypeIs = getattr(typing, "TypeIs", typing.TypeGuard)
    shim = types.ModuleType("probatio")
    shim.__dict__.update({name: value for name, value in vars(vol).items() if not name.startswith("__")})
    shim.EnsureList = lambda: ensure_list
    shim.NonEmpty = lambda: vol.Length(min=1)
    shim.Secret = lambda value=str: value
    shim.TaggedUnion = lambda *_, **__: stand_in("TaggedUnion")
    sys.modules["probatio"] = shim
    import homeassistant.helpers.config_validation as cv
    import homeassistant.helpers.entity as entity

    cv.string, cv.boolean, cv.template, cv.icon = text, flag, template, icon
    cv.url = cv.configuration_url = url
    cv.ensure_list = ensure_list
    cv.positive_int = vol.All(vol.Coerce(int), vol.Range(min=0))
    cv.positive_float = vol.All(vol.Coerce(float), vol.Range(min=0))
    cv.positive_time_period_dict = vol.Schema({str: int})
    cv.positive_time_period = vol.Any(int, float, dict)
    cv.removed = cv.deprecated = lambda *_, **__: lambda value: value
    cv.PLATFORM_SCHEMA = cv.PLATFORM_SCHEMA_BASE = vol.Schema({})
    entity.ENTITY_CATEGORIES_SCHEMA = vol.In(("config", "diagnostic"))


def complaints(messages):
    """What Home Assistant would say about messages: a list of ``(topic, component, sentence)``."""
    import importlib

    base = "homeassistant.components.mqtt"
    schemas = importlib.import_module(f"{base}.schemas")
    found = []
    for message in messages:
        topic, payload = message["topic"], message["payload"]
        short = topic.split("/", 1)[1]
        if not TOPIC.fullmatch(short):
            found.append((topic, None, "illegal discovery topic"))
        kind = short.split("/")[0]
        if kind == "device":
            try:
                checked = schemas.DEVICE_DISCOVERY_SCHEMA(payload)
                getattr(schemas, "validate_device_discovery_components", lambda value: value)(checked)
            except vol.Invalid as error:
                found.append((topic, None, str(error)))
                continue
            shared = {key: payload[key] for key in schemas.SHARED_OPTIONS if key in payload}
            components = {
                name: (item["platform"], shared | {key: value for key, value in item.items() if key != "platform"})
                for name, item in payload["components"].items()
            }
            removed = {name for name, item in payload["components"].items() if list(item) == ["platform"]}
            more = {"device": payload["device"], "origin": payload["origin"]}
        else:
            components, removed, more = {short: (kind, payload)}, set(), {}
        for name, (platform, keys) in components.items():
            if name in removed:
                continue
            if platform not in schemas.SUPPORTED_COMPONENTS:
                found.append((topic, name, f"there is no platform {platform}"))
                continue
            module = importlib.import_module(f"{base}.{platform}")
            try:
                checked = module.DISCOVERY_SCHEMA(keys | more)
            except vol.Invalid as error:
                found.append((topic, name, str(error)))
            else:
                unknown = set(keys) - set(checked)
                found += [(topic, name, f"unknown key {key}") for key in sorted(unknown)]
    return found


def main():
    sys.meta_path.insert(0, Finder(sys.argv[1]))
    prepare()
    json.dump(complaints(json.load(sys.stdin)), sys.stdout)


if __name__ == "__main__":
    builtins.reveal_type = lambda value: value
    main()
