"""Several sinks as one: the first that can be opened takes the sound, and it is told when that changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence

from daemon.errors import SinkError, SinkMissingError
from daemon.sinks.base import Block, Sink
from daemon.sinks.watch import Watch

RETRIES = (0.2, 0.5, 1.0)
"""Seconds before each further attempt to open a device that is busy."""
RETRY_AGAIN_AFTER = 30.0
"""A device that failed all attempts is given a single one until this many seconds later."""

Report = Callable[[str, bool, str | None], None]


def hangs(name: str) -> str:
    """What is said of a sink that hangs."""
    return f"the sound device {name!r} hangs"


class SinkChain:
    """Owns the sinks. For one thread, the player's.

    Args:
        sinks: tried in this order whenever one is opened.
        on_change: called when another sink is in use, or a sink fails: with its name, whether it can be heard, and
            what is wrong with the sinks before it (None when nothing is).
        hanging: names of sinks in which another thread still hangs; they are left out.
    """

    def __init__(self, sinks: Sequence[Sink], on_change: Report, hanging: Collection[str] = ()) -> None:
        self._sinks = tuple(sinks)
        self._on_change = on_change
        self._hanging = hanging
        self._reported: tuple[str, bool, str | None] | None = None
        self._failed_at: dict[str, float] = {}
        self.watch = Watch()
        self.current: Sink | None = None
        self.problem: str | None = None

    def __len__(self) -> int:
        return len(self._sinks)

    def after_hang(self, hung: Sink) -> SinkChain:
        """The chain that another thread goes on with: with a new sink in the place of the one that hangs."""
        sinks = [sink.renewed() if sink is hung else sink for sink in self._sinks]
        chain = SinkChain(sinks, self._on_change, self._hanging)
        chain._reported, chain._failed_at = self._reported, dict(self._failed_at)
        return chain

    @property
    def sample_rate(self) -> int:
        """In Hz, of the sink in use or the one that will be tried first."""
        return (self.current or self._sinks[0]).sample_rate

    def open(self, title: str, *, impatient: Callable[[], bool], continuous_only: bool = False) -> Sink | None:
        """Open the first sink that lets itself be opened.

        Args:
            title: of the sound.
            impatient: asked before each wait; true ends the attempts.
            continuous_only: leave out those that make something of every sound, such as files.

        Returns:
            The sink, or None; then ``problem`` says why.
        """
        problems: list[str] = []
        for sink in self._sinks:
            if continuous_only and not sink.continuous:
                continue
            problem = self._try(sink, title, impatient)
            if problem is None:
                self.current = sink
                self._report(sink.name, sink.audible, "; ".join(problems) or None)
                return sink
            problems.append(problem)
        if problems:
            spare = next((sink for sink in self._sinks if continuous_only and not sink.continuous), None)
            self._report(spare.name if spare else "none", False, "; ".join(problems))
        return None

    def replace(self, sinks: Sequence[Sink]) -> None:
        """Use other sinks from now on; the one in use is closed."""
        self._sinks = tuple(sinks)  # first: where closing hangs, another thread goes on with these
        self.problem = self._reported = None
        self.close()

    def write(self, block: Block) -> None:
        """Write to the sink in use.

        Raises:
            SinkError: it does not take the block.
        """
        sink = self.current
        assert sink is not None  # noqa: S101
        with self.watch.calling(sink, sink.latency + len(block) / sink.sample_rate):
            sink.write(block)

    def give_up(self, sink: Sink) -> None:
        """Close a sink that failed while it was written to; the next attempts to open it are short."""
        self._failed_at.setdefault(sink.name, time.monotonic())
        self.close()

    def close(self) -> None:
        """Close the sink in use."""
        sink, self.current = self.current, None
        if sink is not None:
            with self.watch.calling(sink, sink.latency):
                sink.close()

    def _try(self, sink: Sink, title: str, impatient: Callable[[], bool]) -> str | None:
        """Open a sink, several times where it may help; returns what went wrong in the end."""
        if sink.name in self._hanging:
            return hangs(sink.name)
        failed = self._failed_at.get(sink.name)
        again = failed is None or time.monotonic() - failed > RETRY_AGAIN_AFTER
        problem = ""
        for pause in (0.0, *(RETRIES if again and sink.continuous else ())):
            if pause and impatient():
                break
            if pause:
                time.sleep(pause)
            try:
                with self.watch.calling(sink):
                    sink.open(title)
            except SinkMissingError as error:
                problem = str(error)
                break  # waiting does not make one appear
            except SinkError as error:
                problem = str(error)
            else:
                self._failed_at.pop(sink.name, None)
                return None
        self._failed_at[sink.name] = time.monotonic()
        return problem

    def _report(self, name: str, audible: bool, problem: str | None) -> None:
        self.problem = problem
        report = (name, audible, problem)
        if report != self._reported:
            self._reported = report
            self._on_change(*report)
