"""The interface of a restore method: how a database gets back to its loaded state before a window.

A plug-in imports nothing heavy: a study is read by it. What a run needs it imports in `keep` and
`put_back`. What its steps cost is in `stithy.plan.scenario`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from stithy.registry import Family, Plugin, plugins

if TYPE_CHECKING:
    from stithy.engines.engine import Engine
    from stithy.plan.steps import Dataset
    from stithy.run.context import Context
    from stithy.storage.copy import Contents

DEFAULT_RESTORE = "files"

Work = Literal["copy", "load", "read"]
"""All files or pages are copied, the database is loaded, or all of its rows are read."""


@dataclass(frozen=True)
class Restored:
    """What lies in the database's directories now, of all instances; how long proving it took.

    `files` None: they are elsewhere.
    """

    verify_s: float
    files: int | None
    size_bytes: int


class RestoreMethod(Plugin):
    """One value of the key `database.restore`."""

    family: ClassVar = Family("restores", interface=frozenset({"method"}))

    summary: str
    """What it does, as a sentence goes on that begins with its name."""

    keep_step: str
    restore_step: str
    """What its steps do, for a plan."""

    start_state: str
    """What every window starts from, as a sentence of the report."""

    proof: str
    """What each restore has shown, for the report."""

    resume_note: str
    """What a resumed run has found, with a place for `{of}` which dataset."""

    resumed_state: str
    """What the database of a resumed run was, for its report."""

    keeps_files: bool = False
    """Whether it has a master copy of the database's files beside the results."""

    keeps_inside: bool = False
    """Whether it keeps the loaded database within the server under test or beside its files."""

    keep_work: Sequence[Work]
    restore_work: Sequence[Work]
    """What takes the time of its steps."""

    first_work: Sequence[Work]
    """The same of a restore where the candidate has not had the dataset before."""

    def explain_refusal(self, engine: "Engine") -> str | None:
        """Say why the engine cannot have it; None where it can."""
        return None

    def needs_files(self, engine: "Engine") -> bool:
        """Whether the files of the engine's servers must be within reach."""
        return self.keeps_files or (self.keeps_inside and engine.native_copy is not None)

    def keep(self, context: "Context", dataset: "Dataset", master: Path) -> "Contents":
        """Write what restores need into `master`, an empty directory, and make it durable.

        The loaded database is on the volume of the master candidate; no server runs. The contents
        prove later that what was kept is unchanged.
        """
        raise NotImplementedError

    def describe(self, contents: "Contents") -> str:
        """Say what was kept, in words."""
        raise NotImplementedError

    def put_back(self, context: "Context", candidate: str, every: "Sequence[Dataset]") -> Restored:
        """Give a candidate the database that was loaded, proven, and stop its server.

        `every`: that of each instance, in turn; all the same without `keeps_files`. Raises
        InfrastructureError where it differs.
        """
        raise NotImplementedError


def get_restore(name: str) -> RestoreMethod:
    """Give the method of this name, which is there."""
    return plugins(RestoreMethod)[name]
