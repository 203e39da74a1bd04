"""An aggressor that knocks at a server of its own; of some databases the knocks fail."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from stithy.scenarios.noisy_neighbour.aggressor import Aggressor, OwnDatabase
from stithy.storage.provider import Role
from stithy.study.model import Study

NAME = "knock"


class Spec(OwnDatabase):
    """How often it knocks."""

    FIXED: ClassVar = frozenset({"knocks"})

    aggressor: Literal["knock"] = Field(description="It knocks.", examples=["knock"])
    knocks: tuple[int, ...] = Field(description="Hands that knock.", examples=[[1]])


class Knock(Aggressor):
    """An aggressor that knocks at a server of its own; of some databases the knocks fail."""

    name = NAME
    keys = Spec

    def list_levels(self, spec: Spec) -> tuple[int, ...]:
        """Hands."""
        return spec.knocks

    def describe(self, level: int) -> str:
        """The number of hands."""
        return f"{level} hands"

    def count_added_bytes(self, spec: Spec, held: int, study: Study) -> Mapping[Role, int]:
        """Its database."""
        return {spec.volume: held}


PLUGINS = (Knock(),)
