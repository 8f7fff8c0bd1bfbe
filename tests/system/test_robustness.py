"""What goes wrong in a house: the broker dies, messages are broken, the sound server goes away, the process is told to stop."""

import json
import signal
import time

import numpy as np
import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from tests.system.house import House, Listener, Service, free_port, sender, sounds, wait_for
from tests.system.proxy import Proxy

NULL = {"audio": {"device": "null", "volume": 100}}


def test_a_killed_broker_comes_back_and_so_does_the_service(house):
    first = house.announce("最初の文です。")
    house.ended(first)
    house.mosquitto.kill()
    wait_for(lambda: "broke: " in house.service.log, 10, "the loss to be noticed")
    time.sleep(1)
    house.mosquitto.start()
    before = len(house.listener.of("availability"))
    wait_for(lambda: "online" in house.listener.of("availability")[before:], 30, "the service to be back")
    start = house.pulse.position
    second = house.announce("戻りました。")
    (event,) = house.ended(second)
    assert event["event_type"] == "finished"
    time.sleep(0.4)
    assert sounds(house.pulse.recording(start))
    assert house.listener.state()["node"] == "kitchen"


def test_while_the_broker_is_away_the_service_speaks_by_schedule(make_house):
    house = make_house({"schedule": [{"id": "tick", "cron": "* * * * *", "say": "定時です。"}]})
    house.mosquitto.kill()
    start = house.pulse.position
    wait_for(lambda: "outcome=finished" in house.service.log, 75, "the minute")
    time.sleep(0.4)
    assert sounds(house.pulse.recording(start))


def test_the_will_says_offline_when_the_process_is_killed_and_stopped_when_it_stops(make_house):
    house = make_house(NULL, sound=False)
    house.service.kill()
    wait_for(lambda: house.listener.of("availability")[-1] == "offline", 15, "the will")
    house.service.start()
    wait_for(lambda: house.listener.of("availability")[-1] == "online", 15, "online")
    assert house.service.stop() == 0
    wait_for(lambda: house.listener.of("availability")[-1] == "stopped", 5, "stopped")


def test_a_message_that_was_sent_while_the_service_was_away_is_said_and_an_expired_one_is_not(make_house):
    house = make_house(NULL, sound=False)
    house.service.kill()
    with sender(house.mosquitto.port) as client:
        for name, expiry in (("short", 1), ("long", 60)):
            properties = Properties(PacketTypes.PUBLISH)
            properties.MessageExpiryInterval = expiry
            body = json.dumps({"id": name, "text": "留守中の文です。"})
            client.publish(f"{house.base}/announce", body, 1, properties=properties).wait_for_publish(5)
    time.sleep(2)
    house.service.start()
    assert house.ended("long")[0]["event_type"] == "finished"
    assert house.story("short") == []


def test_retained_announcements_are_not_said_at_every_reconnect(make_house):
    house = make_house(NULL, sound=False)
    house.publish("announce", {"id": "kept", "text": "残ります。"}, retain=True)
    house.ended("kept")  # it was sent just now: the broker delivers it as a live message
    house.service.stop()
    house.service.start()
    time.sleep(1.5)
    assert house.story("kept") == ["accepted", "queued", "started", "finished"]
    assert "ignored a retained message" in house.service.log
    house.publish("announce", b"", retain=True)


def test_an_id_that_is_delivered_twice_is_said_once(make_house):
    house = make_house(NULL, sound=False)
    for _ in range(3):
        house.publish("announce", {"id": "same", "text": "一回だけ。"})
    house.ended("same")
    time.sleep(0.5)
    assert house.story("same") == ["accepted", "queued", "started", "finished"]


@pytest.mark.parametrize("moment", ["starting", "idle", "speaking", "synthesizing", "broker away"])
def test_sigterm_ends_it_within_five_seconds_at_any_moment(make_house, moment):
    house = make_house(sound=moment == "speaking", config=None if moment == "speaking" else NULL)
    if moment == "starting":
        house.service.stop()
        house.service.start(ready=False)
        time.sleep(0.6)
    elif moment == "speaking":
        name = house.announce("とても長い文なので、途中で止めることができます。" * 5)
        house.event("started", name)
    elif moment == "synthesizing":
        for _ in range(20):
            house.announce("とても長い文を作り続けます。" * 50)
    elif moment == "broker away":
        house.mosquitto.kill()
        time.sleep(0.5)
    asked = time.monotonic()
    house.service.signal(signal.SIGTERM)
    code = house.service.process.wait(10)
    assert time.monotonic() - asked < 5
    assert code == 0 if moment != "starting" else code in (0, -signal.SIGTERM)


def test_a_bad_configuration_is_exit_code_78_with_one_line_an_error(tmp_path):
    service = Service(tmp_path, {"nodes": "x", "audio": {"volume": 300}})
    service.start(ready=False)
    assert service.process.wait(20) == 78
    assert "asagoe.yaml:" in service.log
    assert "unknown key; did you mean node?" in service.log
    assert "Traceback" not in service.log


def test_a_reload_takes_over_a_good_file_and_keeps_the_old_one_for_a_bad_file(make_house):
    house = make_house(NULL, sound=False)
    assert house.listener.state()["next"] is None
    house.service.config["schedule"] = [{"id": "bath", "at": "20:00", "say": "お風呂です。"}]
    house.service.config["speakers"] = {
        "mei": {"source": "openjtalk:mei"},
        "slow": {"source": "openjtalk:mei", "speed": 0.8},
    }
    house.service.write_config()
    house.service.signal(signal.SIGHUP)
    wait_for(lambda: (house.listener.state()["next"] or {}).get("id") == "bath", 10, "the new schedule")
    assert house.ended(house.announce("新しい声です。", speaker="slow"))[0]["speaker"] == "slow"
    house.service.path.write_text("schedule: [{at: 25:00, say: x}]")
    house.service.signal(signal.SIGHUP)
    wait_for(lambda: "is not reloaded" in house.service.log, 10, "the refusal")
    assert "asagoe.yaml:1: schedule[0].at: a time such as 7:30" in house.service.log
    assert house.ended(house.announce("まだ動いています。", speaker="slow"))[0]["event_type"] == "finished"
    assert house.listener.state()["next"]["id"] == "bath"


def test_a_topic_of_a_briefing_that_a_reload_brings_is_heard_without_a_restart(make_house):
    house = make_house(NULL, sound=False)
    for name, value in (("living", "21"), ("bath", "24")):
        house.listener.client.publish(f"home/{name}", value, qos=1, retain=True).wait_for_publish(5)
    for name, value in (("living", "21"), ("bath", "24")):
        section = {"kind": "mqtt", "topics": {"t": {"topic": f"home/{name}", "name": "部屋", "unit": "度"}}}
        house.service.config["briefings"] = {"morning": {"sections": [section]}}
        house.service.write_config()
        before = house.service.log.count("reloaded")
        house.service.signal(signal.SIGHUP)
        wait_for(lambda before=before: house.service.log.count("reloaded") > before, 10, "the reload")
        time.sleep(0.3)  # the broker sends what it has kept
        house.publish("do/run", "morning")
        told = wait_for(
            lambda value=value: [e for e in house.listener.events if f"{value}度" in e.get("text", "")],
            10,
            lambda: house.service.log[-2000:],
        )
        house.ended(told[0]["id"])
    assert "takes effect at the next start" not in house.service.log


def test_the_state_names_what_is_paused_until_it_goes_on(make_house):
    section = {"kind": "text", "text": "長い話をします。" * 6}
    house = make_house(NULL | {"briefings": {"morning": {"sections": [section]}}}, sound=False)
    assert house.listener.state()["paused"] is None
    house.publish("do/run", "morning")
    told = wait_for(lambda: [e for e in house.listener.events if e["event_type"] == "started"], 10, "the briefing")
    house.publish("do/pause", "")
    wait_for(lambda: house.listener.state()["paused"] == told[0]["id"], 5, "the pause")
    house.publish("do/resume", "")
    wait_for(lambda: house.listener.state()["paused"] is None, 5, "its end")
    assert house.ended(told[0]["id"])[0]["event_type"] == "finished"


def test_the_sound_server_dies_and_comes_back_without_a_restart(house):
    house.ended(house.announce("最初の文です。"))
    house.pulse.stop()
    without = house.announce("音の装置がありません。")
    (event,) = house.ended(without, timeout=40)
    assert event["event_type"] in ("finished", "failed")
    assert event.get("audible") is not True
    wait_for(lambda: not house.listener.state()["audio"]["audible"], 10, "the problem to be published")
    house.pulse.start()
    start = house.pulse.position
    (event,) = house.ended(house.announce("音が戻りました。"), timeout=40)
    assert (event["event_type"], event["audible"]) == ("finished", True)
    time.sleep(0.4)
    assert sounds(house.pulse.recording(start))


def test_the_sound_server_dies_in_the_middle_of_a_sentence_and_the_next_one_is_heard(house):
    name = house.announce("とても長い文を話している間に、音の装置が止まります。" * 3)
    house.event("started", name)
    time.sleep(0.5)
    house.pulse.stop()
    house.ended(name, timeout=60)
    house.pulse.start()
    start = house.pulse.position
    assert house.ended(house.announce("音が戻りました。"), timeout=40)[0]["audible"] is True
    time.sleep(0.4)
    assert sounds(house.pulse.recording(start))


def test_without_a_sound_device_announcements_become_files(make_house):
    house = make_house(sound=False, config={"audio": {"device": "default", "volume": 100}})
    (event,) = house.ended(house.announce("洗濯が終わりました。"))
    assert (event["event_type"], event["audible"]) == ("finished", False)
    (path,) = (house.folder / "state" / "announcements").glob("*.wav")
    from engine import Audio

    audio = Audio.load(path)
    assert audio.duration == pytest.approx(1.42, abs=0.1)
    assert np.abs(audio.samples).max() > 0.2
    lines = [line for line in house.service.log.splitlines() if "warning service: there is no sound device" in line]
    assert len(lines) == 1


def test_a_thousand_announcements_with_a_hundred_broken_ones_between(make_house):
    broken = [
        b"\xff\xfe",
        b'{"text":',
        b"{}",
        b'{"text":5}',
        b'{"text":"x","volume":1000}',
        b'{"text":"x","colour":1}',
        b'{"text":{"a":1}}',
        b"x" * 20_000,
        b'{"text":"\\ud800"}',
        b'{"text":"' + b"[" * 9000 + b'"',
    ]
    house = make_house(
        {"audio": {"device": f"file:{free_port()}", "recordings": 5}, "announcements": {"max_queue": 2000}}, sound=False
    )
    house.ended(*[house.announce(f"準備の{n}。") for n in range(5)])  # every thread has had work once
    time.sleep(1)
    threads, descriptors = house.service.threads(), house.service.descriptors()
    names = []
    client = house.listener.client
    for number in range(1000):
        if number % 10 == 5:
            client.publish(f"{house.base}/announce", broken[number // 10 % len(broken)], 1)
        names.append(f"n{number}")
        client.publish(f"{house.base}/announce", json.dumps({"id": names[-1], "text": f"{number % 7}番。"}), 1)
    events = house.ended(*names, timeout=110)
    assert {e["event_type"] for e in events} == {"finished"}
    finished = [e["id"] for e in house.listener.events if e["event_type"] == "finished" and e["id"] in set(names)]
    assert finished == names  # every one, once, in order
    assert sum(e["event_type"] == "failed" for e in house.listener.events) == 100
    assert house.ended(house.announce("最後。"))[0]["event_type"] == "finished"
    assert house.service.threads() <= threads
    assert house.service.descriptors() <= descriptors + 1


def test_two_services_of_one_node_are_told_apart(make_house):
    house = make_house(NULL, sound=False)
    second = Service(house.folder, house.service.config, house.service.environment)
    second.start(ready=False)
    assert second.process.wait(20) == 1
    assert "already runs as node 'kitchen'" in second.log
    assert house.ended(house.announce("まだ動いています。"))[0]["event_type"] == "finished"


def test_the_embedded_broker_serves_a_house_that_has_none(tmp_path):
    port = free_port()
    service = Service(tmp_path, {"node": "solo", "mqtt": {"port": port}, **NULL})
    service.start()
    listener = Listener(port, "asagoe/solo")
    try:
        wait_for(lambda: listener.of("availability"), 10, "the broker")
        listener.client.publish("asagoe/solo/announce", "こんにちは。", 1).wait_for_publish(5)
        wait_for(lambda: any(e["event_type"] == "finished" for e in listener.events), 15, "the end")
    finally:
        listener.stop()
        assert service.stop() == 0


def test_where_the_port_of_the_embedded_broker_is_taken_the_broker_that_answers_there_is_used(make_house, tmp_path):
    house = make_house(NULL, sound=False)
    folder = tmp_path / "second"
    folder.mkdir()
    service = Service(folder, {"node": "second", "mqtt": {"port": house.mosquitto.port}, **NULL})
    service.start()
    assert f"set mqtt.url: mqtt://127.0.0.1:{house.mosquitto.port}" in service.log
    other = Listener(house.mosquitto.port, "asagoe/second")
    try:
        wait_for(lambda: "online" in other.of("availability"), 10, "the second node")
    finally:
        other.stop()
        assert service.stop() == 0


def test_a_half_open_connection_is_noticed_and_replaced(tmp_path):
    house = House(tmp_path, NULL, sound=False)
    proxy = Proxy(house.mosquitto.port)
    house.service.config["mqtt"]["url"] = f"mqtt://127.0.0.1:{proxy.port}"
    try:
        with house:
            proxy.deaf = True
            wait_for(lambda: "broke: " in house.service.log, 25, "the silence to be noticed")
            proxy.deaf = False
            count = len(house.listener.of("availability"))
            wait_for(lambda: "online" in house.listener.of("availability")[count:], 30, lambda: house.service.log)
            assert house.ended(house.announce("つながりました。"))[0]["event_type"] == "finished"
    finally:
        proxy.close()


def test_health_is_published_and_names_the_last_error(make_house):
    house = make_house(NULL, sound=False)
    wait_for(lambda: house.listener.of("health"), 10, "health")
    health = json.loads(house.listener.of("health")[-1])
    assert health["speakers"]["mei"]["state"] == "ready"
    assert 30 < health["memory_mb"] < 400
    assert health["last_error"] is None


def test_a_restart_neither_loses_nor_repeats_what_was_accepted(make_house):
    """A stop in the middle of a text, then a kill: everything that was accepted is said to its end, once."""
    house = make_house({"announcements": {"defaults": {"chime": "none"}}})
    done = house.announce("済みました。")
    house.ended(done)
    current = house.announce("一つ目の文です。" + "次の文です。" * 8)
    waiting = [house.announce(f"{n}番目のお知らせです。") for n in range(3)]
    house.event("started", current)
    time.sleep(2.5)
    assert house.service.stop() == 0
    house.service.start()
    resumed = wait_for(
        lambda: next((e for e in house.listener.events if e["id"] == current and e["event_type"] == "started"), None),
        10,
    )
    assert resumed
    house.service.kill()
    house.service.start()
    ended = house.ended(current, *waiting, timeout=60)
    assert [e["event_type"] for e in ended] == ["finished"] * 4
    stories = [
        [kind for kind in house.story(name) if kind in ("accepted", "finished")] for name in (done, current, *waiting)
    ]
    assert stories == [["accepted", "finished"]] * 5
