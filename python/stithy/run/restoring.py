"""The interface of a restore method in a run: what is kept, and how a database gets back to it.

What it costs and which studies may have it is said by the module of the same name in
`stithy.plan.restores`. This one has `NAME` and the functions of `Method`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from stithy.plan.steps import Dataset
from stithy.registry import plugins
from stithy.run.context import Context
from stithy.storage.copy import Contents


@dataclass(frozen=True)
class Restored:
    """What lies in the database's directories now, of all tenants; how long proving it took.

    `files` None: they are elsewhere.
    """

    verify_s: float
    files: int | None
    size_bytes: int


class Method(Protocol):
    """A seam: the module of a restore method."""

    def keep(self, context: Context, dataset: Dataset, master: Path) -> Contents:
        """Write what restores need into `master`, an empty directory, and make it durable.

        The loaded database is on the volume of the master candidate; no server runs. The contents
        prove later that what was kept is unchanged.
        """
        ...

    def said(self, contents: Contents) -> str:
        """What was kept, in words."""
        ...

    def put_back(
        self, context: Context, candidate: str, dataset: Dataset, tenants: int
    ) -> Restored:
        """Give a candidate the database that was loaded, proven, and stop its server.

        Raises InfrastructureError where it differs.
        """
        ...


def method_of(context: Context) -> Method:
    """That of a run's study."""
    return cast(Method, plugins("restoring")[context.file.study.database.restore])
