"""A neighbour that reads the large tables of a database of its own from end to end."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from stithy.engines.engine import chores_of
from stithy.plan.scenarios.noisy_neighbour.aggressor import Levels, OwnDatabase
from stithy.storage.provider import Role
from stithy.study.model import Study

NAME = "analytic-scan"
HAS_DATASET = True

CONNECTIONS_MOST = 64


class Spec(OwnDatabase):
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

    @property
    def connections_beside(self) -> int:
        """Those that scan."""
        return max(self.connections)


def levels(spec: Spec) -> tuple[int, ...]:
    """Connections that scan."""
    return spec.connections


def said(level: int) -> str:
    """The number of connections."""
    return f"{level} scanning connection{'s' if level > 1 else ''}"


def added_bytes(spec: Spec, held: int, study: Study) -> Mapping[Role, int]:
    """Its database."""
    chores_of(study.database.engine)  # refused here, before anything is measured
    return {spec.volume: held}
