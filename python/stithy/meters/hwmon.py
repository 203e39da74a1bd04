"""Power sensors of the kernel's hwmon: the ACPI power meter, power supplies, some boards."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

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
from stithy.needs import Judgement, Machine, Need

FOLDER = "/sys/class/hwmon"
MICRO = 1e-6


class HwmonKeys(MeterKeys):
    """A power sensor of the kernel."""

    hwmon: str = Field(min_length=1, description="The name of the chip.", examples=["power_meter"])
    sensor: str = Field(
        default="power1",
        pattern=r"^(power|energy)\d+$",
        description="Its sensor: watts (`power1`), or a counter of energy (`energy1`).",
        examples=["power1"],
    )


@dataclass(frozen=True, kw_only=True)
class HwmonNeed(Need):
    """A sensor of power or energy."""

    def judge(self, machine: Machine) -> Judgement:
        """Whether any chip has one."""
        chips = {
            machine.text(f"{FOLDER}/{chip}/name") or chip
            for chip in machine.names(FOLDER)
            if any(name.startswith(("power1_", "energy1_"))
                   for name in machine.names(f"{FOLDER}/{chip}"))
        }  # fmt: skip
        if not chips:
            found = "no chip of hwmon has a sensor of power"
            return Judgement("power sensor", "missing", found, "measure at the outlet")
        return Judgement("power sensor", "there", ", ".join(sorted(chips)))


class Hwmon(Meter):
    """A power sensor by hwmon."""

    name = "hwmon"
    keys = HwmonKeys
    sees = "what the sensor measures, with an ACPI power meter the whole server"
    misses = "storage with a power supply of its own"
    resolution = "as its firmware averages, up to many seconds"
    of_server = True
    needs = (HwmonNeed(why="watts by a sensor of the machine"),)

    def open(self, keys: Any, scope: Scope) -> LiveMeter:
        """Find the chip by its name."""
        chips = sorted((scope.sys / "class/hwmon").glob("hwmon*"))
        named = [chip for chip in chips if read_text(chip / "name") == keys.hwmon]
        if len(named) == 1:
            return _open_sensor(named[0], keys.sensor, scope)
        number = "no chip of hwmon is" if not named else f"{len(named)} chips of hwmon are"
        raise Unreadable(f"{number} called {keys.hwmon}")


def _open_sensor(chip: Path, sensor: str, scope: Scope) -> LiveMeter:
    names = [f"{sensor}_input"] if sensor.startswith("energy") else [
        f"{sensor}_average", f"{sensor}_input"
    ]  # fmt: skip
    file = next((chip / name for name in names if (chip / name).exists()), None)
    if file is None:
        raise Unreadable(f"{chip.name} has no {' or '.join(names)}")

    def read() -> float:
        return int(read_text(file)) * MICRO

    return EnergyCounter(read, scope.clock) if sensor.startswith("energy") else LiveGauge(read)


PLUGINS = (Hwmon(),)
