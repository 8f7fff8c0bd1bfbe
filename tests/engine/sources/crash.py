"""Child processes that die at a chosen moment. Run by the tests: ``python crash.py bytes|calls|both ARGUMENTS``.

They fork after everything is imported, so that a death costs milliseconds.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from engine.sources.hub import HubRemote
from engine.sources.local import LocalSource
from engine.sources.retry import Policy
from engine.sources.tree import CachedTree, Settings


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def forked(work) -> int:
    """The status of a child that does the work."""
    child = os.fork()
    if not child:
        try:
            work()
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def at_bytes(cache: str, prefix: str) -> None:
    """Die at every tenth of a download, each time in a cache of its own."""
    import huggingface_hub  # noqa: F401

    for tenth in range(1, 10):

        def progress(step, tenth=tenth):
            if step.total and step.done >= step.total * tenth / 10:
                die()

        settings = Settings(policy=Policy(base=0.01), progress=progress)
        status = forked(
            lambda s=settings, t=tenth: CachedTree(HubRemote("me/voices"), Path(cache) / str(t), settings=s).fetch(
                prefix
            )
        )
        print(tenth, os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL)


class Versioned:
    """A source whose content is a folder that can be exchanged for another."""

    uri, slug, pinned = "file:///versioned", "versioned", False

    def __init__(self, root: Path) -> None:
        folder = LocalSource(root)
        self.listing, self.read, self.upload = folder.listing, folder.read, folder.upload


def at_calls(cache: str, prefix: str, *versions: str) -> None:
    """Fetch the first version and update to the next. Die before the first, second, third … change of the file system
    of the last step, until one child lives to its end."""
    changes = ("link", "mkdir", "open", "rename", "replace", "rmdir", "unlink", "utime", "write")
    for nth in range(500):

        def work(nth=nth):
            def tree(version):
                return CachedTree(
                    Versioned(Path(version)), Path(cache) / str(nth), settings=Settings(policy=Policy(base=0.01))
                )

            for version in versions[:-1]:
                tree(version).fetch(prefix)
            left = [nth]
            for name in changes:
                original = getattr(os, name)

                def counted(*arguments, original=original, **options):
                    if not left[0]:
                        die()
                    left[0] -= 1
                    return original(*arguments, **options)

                setattr(os, name, counted)
            last = tree(versions[-1])
            last.update(prefix) if len(versions) > 1 else last.fetch(prefix)

        status = forked(work)
        died = os.WIFSIGNALED(status)
        print(nth, died, status)
        if not died:
            return


if __name__ == "__main__":
    {"bytes": at_bytes, "calls": at_calls}[sys.argv[1]](*sys.argv[2:])
