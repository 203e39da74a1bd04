"""The interface of a database by URL that Stithy did not make: an optional part of an engine.

An engine that has it says `BY_URL = True` in its `__init__`, and offers a module `remote` in its
package: `remote(url, password)` connects and returns a `Remote`; `locate(url)` says where a URL
leads, connects nothing, and raises UserError for one that cannot be followed. The mark is a table
of the database: while it is there, all that its user makes in this database is the run's that it
names. Errors are those of connections.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, cast

from stithy.database.engine import Instance
from stithy.engines import engine_of
from stithy.registry import part
from stithy.secrets import Secret

UNSEEN = "the database is reached by URL: its server is not one that Stithy started"
"""Why nothing is known of the server's processor, memory, devices and log."""


@dataclass(frozen=True)
class Mark:
    """Whose a database is: the run, and the process that was at it last (`hosts.processes`).

    `candidate` is how the run names it.
    """

    run_id: str
    owner: Mapping[str, str]
    candidate: str = ""


class Remote(Instance, Protocol):
    """A seam: a database of somebody's server. Each one remembers when that was started."""

    def check(self, *, keeps_inside: bool = False, sessions: int = 0) -> None:
        """Raise PreconditionError for a server or user of no use, and if it holds anything.

        What it holds under a mark is no matter. `keeps_inside`: `database.native` is to be used.
        `sessions`: the most that users will have at once.
        """
        ...

    def mark(self) -> Mark | None:
        """Whose it is."""
        ...

    def claim(self, mark: Mark) -> None:
        """Mark it, in place of an older mark, and remove what that stood for."""
        ...

    def empty(self) -> None:
        """Remove all that was made under the mark, but the mark. Raises if anything else is left.

        It is called for a database with a mark only.
        """
        ...

    def restore(self, name: str) -> None:
        """Make it what `database.native` kept under a name that begins with `kept_of` the run.

        As `restore` there, as far as the rights of its user allow.
        """
        ...

    def give_back(self, run_id: str) -> None:
        """Leave the database empty and without the mark of this run. Idempotent."""
        ...

    def size_bytes(self) -> int:
        """How much storage it takes by the server's own books."""
        ...

    def round_trip_s(self) -> float:
        """The median time of a question that needs no work, seconds."""
        ...

    def describe_server(self) -> str:
        """Version of the server, and whether connections are encrypted."""
        ...


def remote_of(url: Secret, password: Secret | None = None) -> Remote:
    """The database of a URL, connected. Raises UserError for a URL of no engine."""
    return cast(Remote, part("engine", engine_of(url), "remote").remote(url, password))


def locate(url: Secret) -> str:
    """Where a URL leads, in words. Raises UserError for a URL that cannot be followed."""
    return cast(str, part("engine", engine_of(url), "remote").locate(url))


def kept_of(run_id: str) -> str:
    """How the names begin under which a run keeps databases on a server that others use, too."""
    return f"stithy{run_id}"


class NotStarted:
    """What an `Instance` has of its process and files; nobody may ask for those of another's."""

    @property
    def pid(self) -> int:
        """Of another machine."""
        raise NotImplementedError

    def kept_url(self) -> str:
        """Nothing of it is kept."""
        raise NotImplementedError

    def shared_memory(self) -> Mapping[str, str]:
        """None that Stithy would have to remove."""
        return {}

    def round_trip_s(self) -> float:
        """As `Remote`."""
        raise NotImplementedError

    def last_words(self) -> str:
        """Its log is elsewhere."""
        return "its log is not here to be read"

    def stop(self, *, at_once: bool = False) -> None:
        """It is not Stithy's to be stopped."""
        del at_once
