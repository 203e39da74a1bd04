"""The interface of what a database does besides the work of users: an optional part of an engine.

An engine that has it offers a module `chores` in its package, with

- `empty(url)`, which makes the database under test anew, without any table; and
- `scans(url)`, an endless iterator over scans: each step aggregates over one of the large tables,
  read from end to end, in turn, and gives the bytes of the table.

Errors are those of connections to the engine's servers. An aggressor asks for them in `added_bytes`
already, so that an engine without them is refused before the run.
"""

from collections.abc import Iterator
from typing import Protocol, cast

from stithy.errors import UserError
from stithy.registry import part
from stithy.secrets import Secret


class Chores(Protocol):
    """A seam: the module of an engine."""

    def empty(self, url: Secret) -> None:
        """Make the database anew."""

    def scans(self, url: Secret) -> Iterator[int]:
        """One large table after the other, for ever."""


def chores_of(engine: str) -> Chores:
    """Those of an engine. Raises UserError for one that has none."""
    try:
        return cast(Chores, part("engine", engine, "chores"))
    except ModuleNotFoundError as error:
        raise UserError(
            f"the engine {engine} can neither load nor scan a database beside its users",
            where="scenario.noisy-neighbour.aggressor",
            remedy="choose another aggressor",
        ) from error
