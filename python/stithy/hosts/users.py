"""Users of this machine: as whom a database server runs.

Database servers refuse to run as root; when Stithy runs as root they get a user without rights.
"""

import os
import pwd
from dataclasses import dataclass

from stithy.errors import PreconditionError

UNPRIVILEGED = ("postgres", "nobody")
"""Users that a server may run as, best first: `postgres` comes with the distribution's packages."""


@dataclass(frozen=True)
class ServerUser:
    """A user of the password database."""

    name: str
    uid: int
    gid: int


def find_user(name: str) -> ServerUser:
    """The user of this name; PreconditionError where there is none."""
    try:
        entry = pwd.getpwnam(name)
    except KeyError as error:
        raise PreconditionError(
            "there is no such user", where=f"user {name}", remedy="create it, or name another"
        ) from error
    return ServerUser(entry.pw_name, entry.pw_uid, entry.pw_gid)


def server_user() -> ServerUser | None:
    """As whom servers run: None means as the caller, who is not root."""
    if os.geteuid() != 0:
        return None
    for name in UNPRIVILEGED:
        try:
            return find_user(name)
        except PreconditionError:
            continue
    raise PreconditionError(
        "a database server does not run as root, and there is no user without rights",
        where=f"users {' and '.join(UNPRIVILEGED)}",
        remedy="run Stithy as an ordinary user, or create one: useradd --system postgres",
    )
