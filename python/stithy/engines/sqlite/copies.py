"""What is done with files of SQLite by a process of its own: `python -c SOURCE VERB …`.

It imports nothing of Stithy, because it runs by its text, as the user of servers.
"""

import os
import sqlite3
import sys
import time
from collections.abc import Callable

PAGES = 256
"""Own: so many are copied before it looks how far ahead it is of its bandwidth."""


def back_up(source: str, target: str, bytes_per_s: str) -> None:
    """Copy one state of all pages, with 0 as fast as it can.

    The transaction keeps that state: a copy would begin anew whenever the driver writes. Users who
    write with a rollback journal wait for its end.
    """
    database, rate = sqlite3.connect(source, isolation_level=None), int(bytes_per_s)
    [(size,)] = database.execute("PRAGMA page_size")
    database.execute("BEGIN")
    database.execute("SELECT 1 FROM sqlite_schema").fetchone()
    began_s = time.monotonic()

    def pace(_: int, remaining: int, total: int) -> None:
        ahead_s = (total - remaining) * size / rate - (time.monotonic() - began_s)
        time.sleep(max(0.0, ahead_s))

    copy = sqlite3.connect(target)
    database.backup(copy, pages=PAGES if rate else -1, progress=pace if rate else None)
    copy.close()
    sync(target)


def vacuum(source: str, target: str) -> None:
    """Write a compacted copy."""
    sqlite3.connect(source).execute("VACUUM INTO ?", (target,))
    sync(target)


def check(path: str) -> None:
    """Raise IntegrityError with what is wrong with a file."""
    database = sqlite3.connect(path)
    broken = [text for (text,) in database.execute("PRAGMA integrity_check") if text != "ok"]
    broken += [f"foreign key of {row[0]}" for row in database.execute("PRAGMA foreign_key_check")]
    database.close()
    if broken:
        raise sqlite3.IntegrityError(f"the copy is damaged: {'; '.join(broken[:10])}")


def sync(path: str) -> None:
    """Make a file and its name durable."""
    for place in (path, os.path.dirname(path)):
        descriptor = os.open(place, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


VERBS: dict[str, Callable[..., None]] = {"back-up": back_up, "vacuum": vacuum, "check": check}

if __name__ == "__main__":
    sys.tracebacklimit = 0  # who started it quotes the last lines
    VERBS[sys.argv[1]](*sys.argv[2:])
