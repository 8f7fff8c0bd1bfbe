"""The service with a voice that a file can break: ``python -m tests.system.faulty FILE run …``.

When FILE holds ``raise`` the engine raises at each sentence, when it holds ``hang`` a sentence never ends.
"""

import sys
import time
from pathlib import Path

from daemon.cli import main
from engine import EngineDefectError, Speaker


def break_engine(switch: Path) -> None:
    synthesize = Speaker.synthesize

    def faulty(self, segment, *args, **kwargs):
        while (fault := switch.read_text() if switch.exists() else "") == "hang":
            time.sleep(0.1)
        if fault == "raise":
            raise EngineDefectError("the engine is broken")
        return synthesize(self, segment, *args, **kwargs)

    Speaker.synthesize = faulty


if __name__ == "__main__":
    break_engine(Path(sys.argv.pop(1)))
    main()
