"""What a connection listens to, over connections and changes, and what the broker refuses of it."""

import threading
from types import SimpleNamespace

from daemon.mqtt.subscriptions import Subscriptions

NO, YES = SimpleNamespace(is_failure=True), SimpleNamespace(is_failure=False)


class Client:
    """Numbers the questions; may be answered before ``subscribe`` returns, as paho's thread can."""

    def __init__(self, on_ask=lambda _: None):
        self.asked = []
        self.unsubscribed = []
        self._on_ask = on_ask

    def subscribe(self, topics):
        self.asked.append(topics)
        self._on_ask(len(self.asked))
        return 0, len(self.asked)

    def unsubscribe(self, topics):
        self.unsubscribed.append(topics)


def test_a_change_is_asked_for_at_once_and_on_every_later_connection():
    found, client = Subscriptions(["own/#"], ["beat"]), Client()
    found.renew(client)
    found.change(client, more=["home/a", "home/b", "own/#"], less=[])
    found.change(client, more=[], less=["home/a", "unknown", "beat"])
    assert client.asked == [[("own/#", 1), ("beat", 0)], [("home/a", 1), ("home/b", 1)]]
    assert client.unsubscribed == [["home/a"]]
    later = Client()
    found.renew(later)
    assert later.asked == [[("own/#", 1), ("beat", 0), ("home/b", 1)]]


def test_a_change_while_there_is_no_connection_waits_for_the_next():
    found, client = Subscriptions(["own/#"], []), Client()
    found.change(None, more=["home/a"], less=["own/#"])
    found.renew(client)
    assert client.asked == [[("home/a", 1)]]


def test_each_answer_is_laid_beside_its_own_question():
    found, client = Subscriptions(["a", "b"], []), Client()
    found.renew(client)
    found.change(client, more=["c", "d"], less=[])
    assert found.refused(2, [YES, NO]) == ["d"]
    assert found.refused(1, [NO, YES]) == ["a"]
    assert found.refused(7, [NO]) == []  # of a connection that is gone


def test_an_answer_that_comes_before_its_number_is_known_waits_for_it():
    refused = []
    threads = []

    def answer(number):
        threads.append(threading.Thread(target=lambda: refused.append(found.refused(number, [NO]))))
        threads[-1].start()

    found = Subscriptions(["a"], [])
    found.renew(Client(on_ask=answer))
    threads[0].join(5)
    assert refused == [["a"]]
