"""The interface of an engine's own restore: an optional part of an engine.

An engine that has it says in `NATIVE_RESTORE` of its `__init__` how it restores, as a sentence of
the reference page goes on after its name, and offers a module `native` in its package, with

- `empty(url)`, which makes the database under test anew, without any table;
- `keep(url, name)`, which keeps the loaded database under test under a name, and may take it away;
- `restore(url, name, log_bytes)`, which makes the database under test what was kept, whatever it
  is, and leaves the server as `Instance.finish_loading` does: nothing for maintenance to do, log
  files to be overwritten, and all that is dirty written. Each time it leaves the same.

The server has the settings of loading, and no user is connected. All that is asked is asked by URL,
so that it may be a server of which Stithy has no files. Errors are those of connections to it.
"""

from typing import Protocol, cast

from stithy.registry import part
from stithy.secrets import Secret


class Native(Protocol):
    """A seam: the module of an engine."""

    def empty(self, url: Secret) -> None:
        """Make the database anew."""

    def keep(self, url: Secret, name: str) -> None:
        """Keep what was loaded; `name` has lower-case letters and digits only."""

    def restore(self, url: Secret, name: str, log_bytes: int) -> None:
        """Make the database what was kept."""


def native_of(engine: str) -> Native:
    """That of an engine which says that it has it."""
    return cast(Native, part("engine", engine, "native"))
