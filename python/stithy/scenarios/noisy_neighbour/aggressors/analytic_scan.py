"""A neighbour that reads the large tables of a database of its own from end to end."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from stithy.engines.engine import get_engine
from stithy.scenarios.noisy_neighbour.aggressor import Aggressor, Levels, OwnDatabase
from stithy.storage.provider import Role
from stithy.study.model import Study

NAME = "analytic-scan"

CONNECTIONS_MOST = 64


class AnalyticScanSpec(OwnDatabase):
    """How many tenants share a candidate, and who scans a database beside them."""

    FIXED: ClassVar = frozenset({"connections"})

    aggressor: Literal["analytic-scan"] = Field(
        description=(
            "What the neighbour does: `analytic-scan` aggregates over the large tables of a "
            "database of its own, each read from end to end, one after the other."
        ),
        examples=["analytic-scan"],
    )
    connections: Levels[Annotated[int, Field(ge=1, le=CONNECTIONS_MOST)]] = Field(
        default=(1,),
        json_schema_extra={"default": [1]},
        description=(
            "How many connections scan at the same time; several numbers are several points. Each "
            "is measured in rounds with the tenants alone. Tables that fit into "
            "`database.memory` are read from storage once only."
        ),
        examples=[[1, 4]],
    )

    def count_connections(self) -> int:
        return max(self.connections)


class AnalyticScan(Aggressor):
    """A neighbour that reads the large tables of a database of its own from end to end."""

    name = NAME
    keys = AnalyticScanSpec

    def list_levels(self, spec: AnalyticScanSpec) -> tuple[int, ...]:
        return spec.connections

    def describe(self, level: int) -> str:
        return f"{level} scanning connection{'s' if level > 1 else ''}"

    def count_added_bytes(
        self, spec: AnalyticScanSpec, held: int, study: Study
    ) -> Mapping[Role, int]:
        get_engine(study.database.engine).get_chores()  # refused here, before anything is measured
        return {spec.volume: held}


PLUGINS = (AnalyticScan(),)
