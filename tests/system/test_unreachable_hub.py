"""A voice that cannot be fetched: the service starts, speaks with another, and says so."""

import time

from tests.system.house import House, free_port


def test_a_hub_that_does_not_answer_delays_nothing(tmp_path):
    speakers = {"f1": {"source": "hf://nobody/nothing"}, "mei": {"source": "openjtalk:mei"}}
    house = House(tmp_path, {"speakers": speakers, "audio": {"device": "null"}}, sound=False)
    house.service.environment = {"HF_ENDPOINT": f"http://127.0.0.1:{free_port()}"}
    began = time.monotonic()
    with house:
        assert time.monotonic() - began < 15
        (event,) = house.ended(house.announce("こんにちは。"))
        assert (event["event_type"], event["speaker"]) == ("finished", "embedded")
        assert house.event("started", event["id"])["instead_of"] == "f1"
        assert house.ended(house.announce("こんにちは。", speaker="mei"))[0]["speaker"] == "mei"
        assert house.listener.state()["speakers"] == {"f1": "unavailable", "mei": "ready"}
        assert "f1" in house.listener.state()["unavailable"]
