"""A neighbour that loads the tenants' dataset into a database of its own, again and again."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from stithy.engines.engine import get_engine
from stithy.scenarios.noisy_neighbour.aggressor import Aggressor, Levels, OwnDatabase
from stithy.storage.provider import Role
from stithy.study.model import Study

NAME = "bulk-load"

WORKERS_MOST = 64


class BulkLoadSpec(OwnDatabase):
    """How many tenants share a candidate, and how a database beside them is loaded."""

    FIXED: ClassVar = frozenset({"workers"})

    aggressor: Literal["bulk-load"] = Field(
        description=(
            "What the neighbour does: `bulk-load` loads the dataset of the tenants into an empty "
            "database of its own, again and again."
        ),
        examples=["bulk-load"],
    )
    workers: Levels[Annotated[int, Field(ge=1, le=WORKERS_MOST)]] = Field(
        default=(1,),
        json_schema_extra={"default": [1]},
        description=(
            "How many connections load at the same time; several numbers are several points. Each "
            "is measured in rounds with the tenants alone. Of a small dataset few can be at work."
        ),
        examples=[[1, 4]],
    )

    def count_connections(self) -> int:
        return max(self.workers)


class BulkLoad(Aggressor):
    """A neighbour that loads the tenants' dataset into a database of its own, again and again."""

    name = NAME
    keys = BulkLoadSpec

    def list_levels(self, spec: BulkLoadSpec) -> tuple[int, ...]:
        return spec.workers

    def describe(self, level: int) -> str:
        return f"{level} loading connection{'s' if level > 1 else ''}"

    def count_added_bytes(self, spec: BulkLoadSpec, held: int, study: Study) -> Mapping[Role, int]:
        """Its database, twice for a moment: the old one is removed when the new one is there."""
        get_engine(study.database.engine).get_chores()  # refused here, before anything is measured
        return {spec.volume: 2 * held}


PLUGINS = (BulkLoad(),)
