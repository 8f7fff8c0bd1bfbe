"""A proxy before the broker, with the faults that networks have."""

from __future__ import annotations

import contextlib
import random
import select
import socket
import threading
import time

_QUANTUM = 0.02


class Proxy:
    """Passes on what comes, both ways, unless it is told to do worse.

    Attributes:
        deaf: nothing is passed on and nothing is closed (a half-open connection).
        mute: nothing of the client reaches the broker, but all of the broker reaches the client.
        hang_ups: so many new connections are closed at once, as a proxy does whose broker restarts.
        delay: seconds that every piece of data waits.
    """

    def __init__(self, target: int):
        self.deaf = False
        self.mute = False
        self.hang_ups = 0
        self.delay = 0.0
        self.connections = 0
        self._target = target
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._lock = threading.Lock()
        self._closed = False
        self._spawn(self._accept)

    # Faults.

    def cut(self, hang_ups: int = 0):
        """Break all connections."""
        self.hang_ups = hang_ups
        for pair in list(self._pairs):
            for sock in pair:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    def half_close(self):
        """Close one direction: the broker's end hears no more from the client."""
        for _, server in list(self._pairs):
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_WR)

    def random_faults(self, seconds: float, seed: int, calm: float = 1.5) -> list[str]:
        """Faults of all kinds for so long, then none; returns what was done."""
        dice, done = random.Random(seed), []
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(dice.uniform(0.2, 2 * calm))
            fault = dice.choice(("cut", "hang up", "stall", "stall and cut", "delay", "half-close"))
            done.append(fault)
            if fault == "cut":
                self.cut()
            elif fault == "hang up":
                self.cut(hang_ups=dice.randint(1, 2))
            elif fault == "half-close":
                self.half_close()
            elif fault == "delay":
                self.delay = dice.uniform(0.05, 0.6)
                time.sleep(dice.uniform(0.5, 2.0))
                self.delay = 0.0
            else:
                self.deaf = True
                time.sleep(dice.choice((0.3, 1.0, 2.5)))
                if fault == "stall and cut":
                    self.cut()
                self.deaf = False
        self.hang_ups = 0
        return done

    def close(self):
        self._closed = True
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self.deaf = False
        self.cut()

    # Threads. Their name tells the check for threads that are left behind that they end by themselves.

    def _spawn(self, target, *arguments):
        threading.Thread(target=target, args=arguments, daemon=True, name="ThreadPoolExecutor-proxy").start()

    def _accept(self):
        while not self._closed:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            try:
                if self.hang_ups > 0:
                    self.hang_ups -= 1
                    raise ConnectionRefusedError
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                client.close()
                continue
            self.connections += 1
            pair = (client, server)
            self._pairs.append(pair)
            self._spawn(self._pump, client, server, pair)
            self._spawn(self._pump, server, client, pair)

    def _pump(self, source, target, pair):
        with contextlib.suppress(OSError, ValueError):
            while self._pass_on(source, target, of_client=source is pair[0]):
                pass
        for sock in pair:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        with self._lock:
            if pair in self._pairs:
                self._pairs.remove(pair)
            else:  # the other direction has ended before
                for sock in pair:
                    sock.close()

    def _pass_on(self, source, target, *, of_client) -> bool:
        """What has come, if something has; says whether more can come."""
        if not select.select([source], [], [], 0.5)[0]:
            return True
        self._wait_while_deaf()
        data = source.recv(65536)
        if not (self.mute and of_client):
            time.sleep(self.delay)
            self._wait_while_deaf()
            target.sendall(data)
        return bool(data)

    def _wait_while_deaf(self):
        while self.deaf:  # what comes meanwhile waits, as on a network that stalls
            time.sleep(_QUANTUM)
