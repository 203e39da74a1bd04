"""Nobody beside the tenants, who are each other's neighbours."""

from typing import Any, Literal

from pydantic import Field

from stithy.scenarios.noisy_neighbour.aggressor import Aggressor, DifferentTenants
from stithy.storage.provider import Role
from stithy.study.model import Study


class NoAggressorSpec(DifferentTenants):
    """How many tenants share a candidate."""

    aggressor: Literal["none"] = Field(
        description="Nobody: tenants work together and are each other's neighbours.",
        examples=["none"],
    )


class NoAggressor(Aggressor):
    """Nobody: tenants are measured together only."""

    name = "none"
    keys = NoAggressorSpec
    has_dataset = False

    def list_levels(self, keys: Any) -> tuple[int, ...]:
        return ()

    def describe(self, level: int) -> str:
        return "none"

    def count_added_bytes(self, keys: Any, held: int, study: Study) -> dict[Role, int]:
        return {}


PLUGINS = (NoAggressor(),)
