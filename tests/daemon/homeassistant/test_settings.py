"""``mqtt.discovery`` in the configuration."""

import pytest

from daemon.config import ConfigError, parse_config


@pytest.mark.parametrize(
    ("mqtt", "told"),
    [
        ("{}", False),
        ("{broker: embedded}", False),
        ("{broker: none}", False),
        ("{url: 'mqtt://hub'}", True),
        ("{url: 'mqtt://hub', discovery: {enabled: false}}", False),
        ("{broker: embedded, discovery: {enabled: true}}", True),
    ],
)
def test_it_is_on_where_a_broker_is_named_or_it_is_asked_for(mqtt, told):
    assert parse_config(f"mqtt: {mqtt}").mqtt.discovers is told


def test_kinds_that_came_late_are_apart_unless_it_is_said_otherwise():
    assert parse_config("").mqtt.discovery.optional_platforms == ["time", "datetime"]
    assert parse_config("mqtt: {discovery: {optional_platforms: []}}").mqtt.discovery.optional_platforms == []


@pytest.mark.parametrize(
    "wrong",
    ["prefix: 'a/#'", "birth_topic: '/x'", "locale: fr", "optional_platforms: [media_player]", "birth_payload: ''"],
)
def test_what_cannot_be_is_an_error(wrong):
    with pytest.raises(ConfigError, match=r"mqtt\.discovery\." + wrong.partition(":")[0]):
        parse_config(f"mqtt: {{discovery: {{{wrong}}}}}")
