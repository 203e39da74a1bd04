"""The seam of aggressors: what the neighbour of the tenants does, and how much of it."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import AfterValidator, Field

from stithy.engines.backup import BackupOptions
from stithy.point import Value
from stithy.registry import Family, Plugin, plugins
from stithy.storage.provider import Role
from stithy.study.model import Study
from stithy.study.problems import Violation, refuse
from stithy.study.scenario import ScenarioKeys
from stithy.study.vary import OneValue
from stithy.units import (
    ShownBytesOrNone,
    ShownPercentOrNone,
    ShownSeconds,
    format_duration,
    limit_quantity,
)

USUAL = "block-io"
"""What the neighbour does in a study that does not say it."""

TENANTS_MOST = 64
LEVELS_MOST = 10

Pause = Annotated[ShownSeconds, limit_quantity(0, 86_400, format_duration)]


def _read_levels(levels: tuple[int, ...]) -> tuple[int, ...]:
    refuse(
        Violation("a value given twice", "keep one of them", each, (i,))
        for i, each in enumerate(levels)
        if each in levels[:i]
    )
    return tuple(sorted(levels))


_Level = TypeVar("_Level")
Levels = Annotated[
    tuple[_Level, ...], Field(min_length=1, max_length=LEVELS_MOST), AfterValidator(_read_levels)
]
"""The intensities of an aggressor; several are several points."""


class Common(ScenarioKeys):
    """How many tenants share a candidate, and what the aggressor beside them does."""

    IMPLIED: ClassVar[frozenset[str]] = frozenset({"volume", "limit", "rest", "cpu_share"})

    tenants: Annotated[int, Field(ge=1, le=TENANTS_MOST)] = Field(
        default=2,
        description=(
            "Instances of the database on each candidate. Each has its own copy of the dataset, "
            "its own server with `database.memory`, and all users of `load`. All begin together."
        ),
        examples=[12],
    )
    aggressor: str
    volume: Literal["data", "backup"] = Field(
        default="data",
        description=(
            "Where the aggressor works: on the volume of the databases, or on that of the role "
            "`backup`. With separate drives the second is the control that must find nothing."
        ),
        examples=["backup"],
    )

    rest_s: Pause = Field(
        alias="rest",
        default=0,
        json_schema_extra={"default": "0 s"},
        description=(
            "How long the aggressor rests at the beginning and at the end of the measurement, at "
            "most a third of it, so that the tenants are seen to feel it and to recover. Ratios of "
            "percentiles and throughput are of the whole measurement, with its rests."
        ),
        examples=["5 s"],
    )  # fmt: skip

    cpu_percent: Annotated[
        ShownPercentOrNone, limit_quantity(1, 100, lambda share: f"{share:.0f}%")
    ] = Field(
        alias="cpu_share",
        default=None,
        json_schema_extra={"default": "none"},
        description=(
            "The most CPU time of each server, of a tenant and of the neighbour, as a share of "
            "the CPUs that servers have: as a virtual machine has so many virtual CPUs. "
            "Without it a neighbour with databases takes CPU time from the tenants, too. The "
            "kernel enforces it by a control group (`cpu`); `stithy doctor` shows whether it "
            "can."
        ),
        examples=["30%"],
    )

    def limit_rest_s(self, duration_s: float) -> float:
        """How long it rests at each end of a measurement of this length."""
        return min(self.rest_s, duration_s / 3)

    def count_instances(self) -> int:
        return self.tenants

    def limit_cpus(self) -> int | None:
        return self.cpu_percent


class DifferentTenants(Common):
    """Tenants may differ: nobody beside them has copies of one dataset."""

    IMPLIED: ClassVar[frozenset[str]] = Common.IMPLIED | {"differ"}

    differ: Mapping[str, Annotated[tuple[OneValue, ...], Field(max_length=TENANTS_MOST)]] = Field(
        default={},
        json_schema_extra={"default": "they are alike"},
        description=(
            "In what tenants differ: `database.memory` or the size of the workload, with a value "
            "for each tenant in turn. Each size is loaded once, and has a master copy of its own."
        ),
        examples=[{"database.memory": ["128 MiB", "256 MiB"]}],
    )

    def list_differing(self) -> Mapping[str, Sequence[Value]]:
        return self.differ


class OwnDatabase(Common):
    """The aggressor works on databases of its own, each with its server."""

    every_s: Pause = Field(
        alias="every",
        default=0,
        json_schema_extra={"default": "0 s"},
        description=(
            "Time from the beginning of one cycle to that of the next. A cycle that takes longer "
            "delays the next one. With `0 s` each follows the one before at once, so that faster "
            "storage has a busier neighbour."
        ),
        examples=["100 s"],
    )  # fmt: skip
    limit: ShownBytesOrNone = Field(
        default=None,
        json_schema_extra={"default": "none"},
        description=(
            "Guard: the most bytes per second that the aggressor's servers and programs read, and "
            "as many that they write, on each device of its volume. Several databases have equal "
            "parts of it. The kernel enforces it by a control group (`blkio` or `io`) for each; "
            "`stithy doctor` shows whether it can."
        ),
        examples=["20 MiB"],
    )

    def count_servers_beside(self) -> int:
        return 1


class Aggressor(Plugin):
    """One kind of neighbour.

    What it does in a window is the activity `neighbour-<name>`, a `NeighbourActivity`.
    """

    family = Family("scenarios.noisy_neighbour.aggressors")
    keys: ClassVar[type[Common]]

    has_dataset: bool = True
    """Whether it has copies of the tenants' dataset, so that it is laid out after that."""

    def list_levels(self, keys: Any) -> Sequence[int]:
        """List its intensities, rising: each is a point, beside that of the tenants alone."""
        raise NotImplementedError

    def describe(self, level: int) -> str:
        """Describe a neighbour of this intensity, as in `a neighbour of 2 databases`."""
        raise NotImplementedError

    def count_added_bytes(self, keys: Any, held: int, study: Study) -> Mapping[Role, int]:
        """Count what it holds on a candidate's volumes, by role.

        `held`: what a database with its log at its largest takes.
        """
        raise NotImplementedError

    def list_backups(self, keys: Any) -> list[tuple[str, BackupOptions]]:
        """List the methods of backup that it uses, with their options."""
        return []


def list_aggressors() -> dict[str, Aggressor]:
    """All aggressors, the usual one first."""
    known = plugins(Aggressor)
    return {USUAL: known[USUAL], **known}


def find_aggressor(keys: Common) -> Aggressor:
    """Find what the neighbour of a study does."""
    return list_aggressors()[keys.aggressor]
