"""What must survive a restart and a power cut, in one SQLite file."""

from daemon.store.database import Database
from daemon.store.reading import read_records
from daemon.store.records import Records

__all__ = ["Database", "Records", "read_records"]
