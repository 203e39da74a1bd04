"""The run's private directory outside of all candidates: sockets, and files that live for a moment.

It is short, because a socket's path has at most 107 bytes, and lies in memory or on the system's
disk, never on a volume under test.
"""

import os
import secrets
from pathlib import Path

from stithy.errors import PreconditionError
from stithy.hosts.users import ServerUser
from stithy.storage.provider import Record

PLACES = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))
PREFIX = "stithy-"


def make_scratch(record: Record, user: ServerUser | None) -> Path:
    """A fresh directory of the server's user alone; recorded before it is made."""
    for place in PLACES:
        if os.access(place, os.W_OK | os.X_OK):
            path = place / f"{PREFIX}{secrets.token_hex(4)}"
            record("scratch", {"path": str(path)})
            path.mkdir(mode=0o700)
            if user:
                os.chown(path, user.uid, user.gid)
            return path
    raise PreconditionError(
        "no directory for sockets can be made",
        where=", ".join(str(place) for place in PLACES),
        remedy="make one of them writable for this user",
    )
