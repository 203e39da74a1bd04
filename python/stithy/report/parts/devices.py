"""What a device did in each second of a window, and which devices are under which role."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import polars as pl

from stithy.analysis.evidence import Window
from stithy.report import metrics
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


def strip_shows(strips: Mapping[str, Strip], present: Collection[str]) -> list[Show]:
    """The columns of these strips in a table."""
    return [Show(each, strips[each].name, strips[each].kind) for each in present]


MOVED = "bytes"
"""Bytes per second that a device read and wrote together."""

_BYTES = tuple(metrics.OPERATIONS[each][2] or "" for each in ("read", "write"))


def busiest_device(
    context: Context, window: Window, wanted: Collection[str], among: Collection[str] | None = None
) -> Mapping[str, Mapping[int, float]]:
    """By metric and second, of the device that moves most: what is wanted, and `MOVED`.

    `among`: the names of the devices that are asked, None for all.
    """
    samples = context.samples_by_second(metrics.BLOCK, (*wanted, *_BYTES), {window.id})
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


def devices_by_role(facts: CandidateFacts) -> dict[str, frozenset[str]]:
    """The kernel names of the devices under the data and each role that has its own."""
    roles: dict[str, set[str]] = {}
    for drive in facts.drives:
        roles.setdefault(drive.role, set()).add(drive.device.rpartition("/")[2])
    for role in facts.roles:
        roles.setdefault(role.role, set()).update(each.rpartition("/")[2] for each in role.devices)
    roles.setdefault("data", set()).update(each.rpartition("/")[2] for each in facts.devices)
    return {role: frozenset(names) for role, names in roles.items() if names}
