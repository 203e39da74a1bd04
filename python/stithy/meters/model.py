"""Watts that the profiles of emulated drives state, by how long reads and writes keep each busy.

Each drive counts its energy itself (docs/reference/drive-profiles.md); a statement, no measurement.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from stithy.collectors.collector import Scope
from stithy.errors import StithyError
from stithy.meters.meter import LiveMeter, Meter, MeterKeys, Unreadable

if TYPE_CHECKING:
    from stithy.drives.control import Control


class ModelKeys(MeterKeys):
    """Watts that drive profiles state."""

    model: Literal["drives"] = Field(
        description="The emulated drives of the candidate, whose profiles have `[power]`.",
        examples=["drives"],
    )


class DriveEnergy:
    """The drives of a candidate, each by its own energy and its own clock."""

    def __init__(self, drives: Mapping[str, Path]) -> None:
        """`drives`: their control sockets by name."""
        from stithy.drives.control import Control

        self._controls = {name: Control(path) for name, path in drives.items()}
        self._last: dict[str, tuple[float, float]] = {}

    def read_w(self) -> float | None:
        """Sum up the mean watts of all drives since the last reading."""
        last, self._last = self._last, {}
        self._last = {name: _read_energy(name, of) for name, of in self._controls.items()}
        grown = [(now_j - last[name][0], now_s - last[name][1])
                 for name, (now_j, now_s) in self._last.items() if name in last]  # fmt: skip
        if len(grown) < len(self._controls) or any(elapsed_s <= 0 for _, elapsed_s in grown):
            return None
        # What is left below a microwatt is of the arithmetic.
        return round(sum(energy_j / elapsed_s for energy_j, elapsed_s in grown), 6)


def _read_energy(name: str, control: "Control") -> tuple[float, float]:
    try:
        counted = control.read_counters(name)
    except StithyError as error:
        raise Unreadable(f"the drive {name}: {error.text}") from error
    if counted.energy_j is None:
        raise Unreadable(f"the profile of the drive {name} states no watts")
    return counted.energy_j, counted.duration_s


class DriveModel(Meter):
    """The power of emulated drives, by their profiles."""

    name = "model"
    keys = ModelKeys
    sees = "the emulated drives, by the watts that their profiles state"
    misses = (
        "anything but the drives, nor what their write caches do later; one request at a time "
        "counts as much as many"
    )
    resolution = "as stated"
    is_stated = True

    def open(self, keys: Any, scope: Scope) -> LiveMeter:
        """Find the drives."""
        del keys
        if not scope.drives:
            raise Unreadable("no drive of this candidate is emulated")
        return DriveEnergy(scope.drives)


PLUGINS = (DriveModel(),)
