"""The file of the user's words, changed in one step: whoever reads it sees the old one or the new one."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from engine import Dictionary, load_dictionary


def edit_dictionary(
    path: Path,
    change: Callable[[str], str],
    *,
    create: bool = False,
    on_owner_lost: Callable[[Path], None] = lambda _: None,
) -> Dictionary:
    """Change the text of the file.

    Args:
        path: of the file; where it is a link, the file that it leads to.
        change: from the old text to the new one; what it raises leaves the file as it is.
        create: a file that is missing is an empty one.
        on_owner_lost: told when the file now belongs to another user than before.

    Returns:
        The words before the change.

    Raises:
        DictionaryError: the file or the change is wrong; nothing was written.
        OSError: the file cannot be written.
    """
    path = path.resolve()  # a link stays a link
    with _alone_in(path.parent):
        missing = create and not path.exists()
        before = Dictionary() if missing else load_dictionary(path)
        text = "" if missing else path.read_bytes().decode("utf-8-sig")
        ending = "\r\n" if "\r\n" in text else "\n"
        _write(path, change(text.replace("\r\n", "\n")).replace("\n", ending), on_owner_lost)
    return before


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """One editor at a time, so that no word is lost; the lock ends with the process."""
    if not folder.is_dir():  # reading will say what is missing
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _write(path: Path, text: str, on_owner_lost: Callable[[Path], None]) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with open(descriptor, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123 - a descriptor, not a path
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, temporary)
            _keep_owner(path, temporary, on_owner_lost)
        else:
            temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _keep_owner(path: Path, temporary: Path, on_owner_lost: Callable[[Path], None]) -> None:
    status = path.stat()
    try:
        os.chown(temporary, status.st_uid, status.st_gid)
    except PermissionError:
        on_owner_lost(path)
