"""A neighbour that backs databases of its own up, and restores them, in cycles."""

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from stithy.activities.backup.keys import (
    Compression,
    Kind,
    MethodName,
    Processes,
    describe_default,
    fill_method,
)
from stithy.engines.backup import FULL, BackupOptions
from stithy.engines.engine import get_engine
from stithy.scenarios.noisy_neighbour.aggressor import Aggressor, Levels, OwnDatabase, Pause
from stithy.storage.provider import Role
from stithy.study.model import Study
from stithy.units import ShownBytesOrNone

NAME = "backup"

EVERY_S, CYCLES = 100.0, 10
"""As in the published test. Source: Kingston, DC1500M on vSAN, tests 5c and 5d."""
INSTANCES_MOST = 16


class BackupAggressorSpec(OwnDatabase):
    """How many tenants share a candidate, and how databases beside them are backed up."""

    FIXED: ClassVar = frozenset({"instances"})

    aggressor: Literal["backup"] = Field(
        description=(
            "What the neighbour does: `backup` backs databases of its own up and restores them, in "
            "cycles, while the tenants work."
        ),
        examples=["backup"],
    )
    instances: Levels[Annotated[int, Field(ge=1, le=INSTANCES_MOST)]] = Field(
        default=(1,),
        json_schema_extra={"default": [1]},
        description=(
            "How many databases the aggressor backs up at the same time, each with its own server; "
            "several numbers are several points. Each is measured in rounds with the tenants alone."
        ),
        examples=[[1, 2]],
    )
    every_s: Pause = Field(
        alias="every",
        default=EVERY_S,
        json_schema_extra={"default": "100 s"},
        description=(
            "Time from the beginning of one cycle to that of the next; the first begins with the "
            "measurement. A cycle that takes longer delays the next one. With `0 s` each follows "
            "the one before at once, so that faster storage has a busier neighbour."
        ),
        examples=["100 s"],
    )  # fmt: skip
    cycles: Annotated[int, Field(ge=1, le=10_000)] = Field(
        default=CYCLES,
        description=(
            "The most cycles of each database in a window. None begins after the measurement."
        ),
        examples=[10],
    )
    method: MethodName = Field(
        default="",
        json_schema_extra={"default": describe_default(of_servers=True)},
        description="The method of backup, as in the scenario `backup`.",
        examples=["dump"],
    )
    kind: Kind = Field(
        default=FULL,
        description=(
            "Whether a backup holds everything, or what changed since an earlier one, as in the "
            "scenario `backup`. Nobody changes these databases, so an incremental or differential "
            "backup is small; its restore is not."
        ),
        examples=["incremental"],
    )
    processes: Processes = Field(
        default=1,
        description="Number of processes or threads of a backup, as in the scenario `backup`.",
        examples=[2],
    )
    compression: Compression = Field(
        default="none", description="How a backup is compressed.", examples=["zstd"]
    )
    bytes_per_s: ShownBytesOrNone = Field(
        alias="bandwidth",
        default=None,
        json_schema_extra={"default": "as fast as it can"},
        description="Bytes per second at which a backup reads its database at most.",
        examples=["32 MiB"],
    )

    @classmethod
    def fill_defaults(cls, keys: Mapping[str, object], engine: str) -> Mapping[str, object]:
        return fill_method(keys, engine)

    def count_servers_beside(self) -> int:
        return max(self.instances)

    @property
    def options(self) -> BackupOptions:
        """As a method takes them."""
        return BackupOptions(self.processes, self.compression, self.bytes_per_s, self.kind)


class Backup(Aggressor):
    """A neighbour that backs databases of its own up, and restores them, in cycles."""

    name = NAME
    keys = BackupAggressorSpec

    def list_levels(self, spec: BackupAggressorSpec) -> tuple[int, ...]:
        return spec.instances

    def describe(self, level: int) -> str:
        return f"{level} database{'s' if level > 1 else ''} backed up and restored in cycles"

    def count_added_bytes(
        self, spec: BackupAggressorSpec, held: int, study: Study
    ) -> Mapping[Role, int]:
        """Each database, its backups, and what is restored of one.

        Nobody works on them: what their backups log by themselves has room in `held`.
        """
        method, cycles = get_engine(study.database.engine).get_backup(spec.method), spec.cycles
        if spec.every_s:
            cycles = min(cycles, math.ceil(study.load.duration_s / spec.every_s))
        servers = spec.count_servers_beside()
        kept = servers * method.count_room_bytes(held, 0, spec.options, cycles)
        databases = 2 * servers * held
        if spec.volume == "backup":
            return {"backup": databases + kept}
        return {"data": databases, "backup": kept}

    def list_backups(self, spec: BackupAggressorSpec) -> list[tuple[str, BackupOptions]]:
        return [(spec.method, spec.options)]


PLUGINS = (Backup(),)
