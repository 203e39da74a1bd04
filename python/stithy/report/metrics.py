"""Names of the collectors' metrics that figures draw, and devices by the second and by role."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import polars as pl

from stithy.analysis.evidence import Window
from stithy.report.context import Context
from stithy.report.tables import Show
from stithy.results.manifest import CandidateFacts


@dataclass(frozen=True)
class Strip:
    """A quantity over time: its title, what a table shows it as; `scale` to the drawing."""

    title: str
    kind: str
    scale: float = 1.0
    log: bool = False

    @property
    def name(self) -> str:
        """The title without the unit of the drawing."""
        return self.title.partition(" (")[0]


def list_strip_shows(strips: Mapping[str, Strip], present: Collection[str]) -> list[Show]:
    """The columns of these strips in a table."""
    return [Show(each, strips[each].name, strips[each].kind) for each in present]


MOVED = "bytes"
"""Bytes per second that a device read and wrote together."""


def find_busiest_device(
    context: Context, window: Window, wanted: Collection[str], among: Collection[str] | None = None
) -> Mapping[str, Mapping[int, float]]:
    """By metric and second, of the device that moves most: what is wanted, and `MOVED`.

    `among`: the names of the devices that are asked, None for all.
    """
    samples = context.read_by_second(BLOCK, (*wanted, *_BYTES), {window.id})
    if among is not None:
        samples = samples.filter(pl.col("subject").is_in(list(among)))
    none: dict[str, dict[int, float]] = {each: {} for each in (*wanted, MOVED)}
    by_subject: dict[str, dict[str, dict[int, float]]] = {}
    for row in samples.iter_rows(named=True):
        of = by_subject.setdefault(row["subject"], {name: {} for name in none})
        name, second = row["metric"], row["second"]
        if name in _BYTES:
            of[MOVED][second] = of[MOVED].get(second, 0.0) + row["value"]
        else:
            of[name][second] = row["value"]
    return max(by_subject.values(), key=lambda of: sum(of[MOVED].values()), default=none)


def list_devices_by_role(facts: CandidateFacts) -> dict[str, frozenset[str]]:
    """The kernel names of the devices under the data and each role that has its own."""
    roles: dict[str, set[str]] = {}
    for drive in facts.drives:
        roles.setdefault(drive.role, set()).add(drive.device.rpartition("/")[2])
    for role in facts.roles:
        roles.setdefault(role.role, set()).update(each.rpartition("/")[2] for each in role.devices)
    roles.setdefault("data", set()).update(device.rpartition("/")[2] for device in facts.devices)
    return {role: frozenset(names) for role, names in roles.items() if names}


CPU = "cpu"
CPU_STATES = {
    "user": ("user_share", "nice_share"),
    "system": ("system_share",),
    "other": ("irq_share", "steal_share"),
    "iowait": ("iowait_share",),
    "idle": ("idle_share",),
}

BLOCK = "block"
OPERATIONS = {
    "read": ("reads_per_s", "read_latency_s", "read_bytes_per_s"),
    "write": ("writes_per_s", "write_latency_s", "write_bytes_per_s"),
    "flush": ("flushes_per_s", "flush_latency_s", None),
}
QUEUE = "queue_length"

PRESSURE = "pressure"
PRESSURE_SOME = "some_share"
RESOURCES = {"cpu": "CPU", "io": "storage", "memory": "memory"}

CGROUP = "cgroup"
CGROUP_USED = "used_bytes"
CGROUP_CACHE = "page_cache_bytes"

DATABASE = "database"
LOG_BYTES = "log_bytes_per_s"
LOG_FILES = "log_files_to_archive"
LOG_SYNCS = "log_syncs_per_s"
BLOCKS_READ = "blocks_read_per_s"
BLOCKS_HIT = "blocks_hit_per_s"
WAITING = "waiting_sessions"
LAST_CHECKPOINT = "last_checkpoint_at_s"

_BYTES = tuple(OPERATIONS[each][2] or "" for each in ("read", "write"))

SECONDS_PER_MINUTE = 60


def read_tpm(context: Context, window: Window) -> dict[int, float]:
    """Read transactions per minute of each second of a window, its drain apart."""
    seconds = context.run.seconds
    mine = seconds.filter((pl.col("window_id") == window.id) & (pl.col("phase") != "drain"))
    return {
        row["second"]: float(row["committed"] + row["rolled_back"]) * SECONDS_PER_MINUTE
        for row in mine.iter_rows(named=True)
    }
