"""Faults of emulated drives: slow, hung, failing, gone.

What one drive of an array loses the others give: where the array has redundancy, and restores it.
"""

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from stithy.registry import plugins
from stithy.scenarios.failure.fault import FaultKeys, FaultKind, Target
from stithy.storage.layer import LayerKind
from stithy.storage.providers.drive import DriveKeys
from stithy.study.problems import limit_quantity
from stithy.units import FinePercent, ShownSeconds, format_duration

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from stithy.hosts.runner import Runner
    from stithy.study.model import Study
    from stithy.wire.drive.jobs import AnyFault

SLOW_FACTOR, FACTOR_MOST = 20.0, 1e6
SLOWNESS = frozenset({"emulated drive too slow", "emulated drive not as described"})
"""Flags of a drive that takes other times than its profile says."""

Share = Annotated[FinePercent, limit_quantity(0.1, 100, lambda value: f"{value:g}%")]


class DriveFaultKeys(FaultKeys):
    """Which drive of a candidate fails."""

    drive: int = Field(
        default=1,
        ge=1,
        description="The drive of the data, counted from 1, where an array has several.",
        examples=[2],
    )


class ShareKeys(DriveFaultKeys):
    """How many requests of a drive suffer."""

    share: Share = Field(
        default=100.0,
        json_schema_extra={"default": "100%"},
        description="Share of the requests that are slow, or fail.",
        examples=["5%"],
    )


class SlowKeys(ShareKeys):
    """How slow a drive becomes."""

    factor: float = Field(
        default=SLOW_FACTOR,
        ge=1,
        le=FACTOR_MOST,
        description="By how much the time of each request of the share is multiplied.",
        examples=[5.0],
    )
    added_s: Annotated[ShownSeconds, limit_quantity(0, 60, format_duration)] = Field(
        alias="added",
        default=0.0,
        json_schema_extra={"default": "0 s"},
        description="Time that is added to each of these requests.",
        examples=["5 ms"],
    )


class DriveFault(FaultKind):
    """A fault of one emulated drive under the data."""

    keys = DriveFaultKeys
    explains = SLOWNESS

    def explain_refusal(self, study: "Study", candidate: str, keys: Any) -> str | None:
        """Refuse a candidate without emulated drives, or with fewer."""
        source = study.candidates[candidate]
        names = source.kind.name_drives(source.spec)
        if not names or source.provider != "drive":
            return "it has no emulated drives: only these can be broken"
        if keys.drive > len(names):
            return f"it has {len(names)} drives, and no drive {keys.drive}"
        return None

    def make_fault(self, keys: Any) -> "AnyFault":
        """Make what the drive program is asked."""
        raise NotImplementedError

    def inject(self, target: Target, keys: Any) -> None:
        """Break the drive."""
        _set_fault(target, keys, self.make_fault(keys))

    def heal(self, target: Target, keys: Any) -> None:
        """End all faults of the drive that have an end."""
        from stithy.wire.drive.jobs import NoFault

        _set_fault(target, keys, NoFault())


def _set_fault(target: Target, keys: DriveFaultKeys, fault: "AnyFault") -> None:
    from stithy.drives.control import Control

    drives = [drive for drive in target.volume.drives if drive.role == "data"]
    drive = drives[keys.drive - 1]
    Control(drive.control).set_fault(drive.name, fault)


class SlowDrive(DriveFault):
    """Requests of a drive take longer."""

    name = "drive-slow"
    keys = SlowKeys
    text = "a slow drive"

    def make_fault(self, keys: SlowKeys) -> "AnyFault":
        """Make it slow."""
        from stithy.wire.drive.jobs import Slow

        return Slow(factor=keys.factor, added_s=keys.added_s, share=keys.share / 100)


class HungDrive(DriveFault):
    """A drive answers nothing until it is healed."""

    name = "drive-hung"
    text = "a drive that hangs"

    def make_fault(self, keys: DriveFaultKeys) -> "AnyFault":
        """Let it answer nothing for longer than any window lasts."""
        from stithy.wire.drive.jobs import StallFault

        return StallFault(duration_s=HANG_S)


HANG_S = 3600.0


class RedundantDriveFault(DriveFault):
    """Requests of one drive of an array fail; the array gives what it lacks, and restores it."""

    def explain_refusal(self, study: "Study", candidate: str, keys: Any) -> str | None:
        """Refuse a candidate whose data would be lost, or whose array does not repair itself."""
        if because := super().explain_refusal(study, candidate, keys):
            return because
        spec = study.candidates[candidate].spec
        assert isinstance(spec, DriveKeys)  # as it has emulated drives
        layer = spec.layer
        if layer is None or _find_repair(layer.name) is None:
            return "its drive has no array of btrfs over it: only that restores its redundancy here"
        is_redundant = layer.spec.count_redundancy(spec.count) > 1
        return None if is_redundant else "its array has no redundancy"

    def rebuild(self, target: Target, keys: Any) -> str | None:
        """Read all, compare with checksums or copies, and write what is wrong."""
        array, runner = target.volume.array, target.context.session.host.runner
        repair = _find_repair(array.layer) if array else None
        assert repair is not None  # the plan refuses others
        return f"{repair(target.volume.path, runner)} corrected"


def _find_repair(layer: str) -> "Callable[[Path, Runner], int] | None":
    return plugins(LayerKind)[layer].repair


class FailingDrive(RedundantDriveFault):
    """A share of the requests of a drive fails."""

    name = "drive-errors"
    keys = ShareKeys
    text = "a drive with errors"

    def make_fault(self, keys: ShareKeys) -> "AnyFault":
        """Fail reads and writes of all places."""
        from stithy.wire.drive.jobs import Errors

        return Errors(
            reads=True, writes=True, offset_bytes=0, length_bytes=None, share=keys.share / 100
        )


class GoneDrive(RedundantDriveFault):
    """All requests of a drive fail."""

    name = "drive-gone"
    text = "a drive that is gone"

    def make_fault(self, keys: DriveFaultKeys) -> "AnyFault":
        """Fail every request."""
        from stithy.wire.drive.jobs import Gone

        return Gone()


PLUGINS = (SlowDrive(), HungDrive(), FailingDrive(), GoneDrive())
