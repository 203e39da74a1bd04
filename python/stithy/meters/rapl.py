"""The CPU's own energy counters (RAPL) by the kernel's powercap: packages, and DRAM where counted.

Zones are known by their names, since their numbers change. `core` and `uncore` are parts of their
package; `psys` and the twin `intel-rapl-mmio` would count it twice.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator

from stithy.collectors.collector import Scope
from stithy.meters.meter import (
    EnergyCounter,
    LiveGauge,
    LiveMeter,
    Meter,
    MeterKeys,
    Unreadable,
    read_text,
)
from stithy.needs import Readable
from stithy.units import make_rule_error

FOLDER = "/sys/class/powercap"
KINDS = ("intel-rapl", "amd-rapl")
UJ_PER_J = 1e6
EVERY_MOST_S = 10
"""Own: half of the time in which 3 kW fill a range of 65 kJ, the smallest that is usual."""
WITHIN = (
    ("core", "package"), ("uncore", "package"), ("core", "psys"), ("uncore", "psys"),
    ("package", "psys"), ("dram", "psys"),
)  # fmt: skip
"""Zones that are a part of another."""
NO_ZONES = "the kernel offers no RAPL zones; virtual machines have none"
RULE = "a virtual machine has none; elsewhere as root: chmod a+r intel-rapl:*/energy_uj there"


class RaplKeys(MeterKeys):
    """The energy counters of the CPUs."""

    rapl: Annotated[tuple[str, ...], Field(min_length=1, strict=False)] = Field(
        description="Beginnings of names of zones whose watts are added.",
        examples=[["package", "dram"]],
    )

    @field_validator("every_s")
    @classmethod
    def _check_every(cls, every_s: float) -> float:
        if every_s > EVERY_MOST_S:
            raise make_rule_error("too seldom", "at most 10 s: the counter may turn unseen")
        return every_s

    @field_validator("rapl")
    @classmethod
    def _check_parts(cls, named: tuple[str, ...]) -> tuple[str, ...]:
        for part, whole in WITHIN:
            both = [{z for z in (part, whole) if z.startswith(n) or n.startswith(z)} for n in named]
            if len(set().union(*both)) > 1:
                raise make_rule_error("zones counted twice", f"{part} is a part of {whole}")
        return named


def sum_zones(zones: Sequence[LiveMeter]) -> float | None:
    """Read all zones; None where one was read for the first time."""
    watts = [zone.read_w() for zone in zones]
    known = [each for each in watts if each is not None]
    return sum(known) if len(known) == len(watts) else None


class Rapl(Meter):
    """RAPL by powercap."""

    name = "rapl"
    keys = RaplKeys
    sees = "CPU packages and memory as far as the CPU counts it"
    misses = "drives, controllers, fans, network, and losses of the power supply"
    resolution = "1 W or finer"
    of_server = True
    needs = (Readable(path=f"{FOLDER}/intel-rapl:0/energy_uj", why="watts of CPUs", remedy=RULE),)

    def open(self, keys: Any, scope: Scope) -> LiveMeter:
        """Find the zones by their names."""
        folder = scope.sys / "class/powercap"
        paths = (each for kind in KINDS for each in sorted(folder.glob(f"{kind}:*")))
        names = {path: read_text(path / "name") for path in paths}
        if not names:
            raise Unreadable(NO_ZONES)
        zones = [path for path, name in names.items() if name.startswith(keys.rapl)]
        if not zones:
            raise Unreadable(f"no zone is called so; there are {', '.join(names.values())}")
        return LiveGauge(partial(sum_zones, [_make_counter(path, scope) for path in zones]))


def _make_counter(zone: Path, scope: Scope) -> EnergyCounter:
    range_j = _read_j(zone / "max_energy_range_uj")
    return EnergyCounter(lambda: _read_j(zone / "energy_uj"), scope.clock, range_j)


def _read_j(path: Path) -> float:
    return int(read_text(path)) / UJ_PER_J


PLUGINS = (Rapl(),)
