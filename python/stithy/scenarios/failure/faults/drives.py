"""Faults of emulated drives: slow, hung, failing, corrupting, gone for good, without power.

What one drive of an array loses the others give: where the array has redundancy, and restores it.
Whatever else breaks is brought back when the drive is healed: the file system, and the server.
Under a cluster the OSD on the drive may end: it is started again, or an empty one takes its place;
what checksums say is wrong a deep scrub finds, and repairs from another copy.
"""

from typing import TYPE_CHECKING, Any

from pydantic import Field, create_model

from stithy.drives.faults import FAULTS, DriveFaultOptions, PowerCutOptions
from stithy.drives.filesystems import is_mounted
from stithy.engines.engine import get_engine
from stithy.errors import InfrastructureError
from stithy.registry import plugins
from stithy.scenarios.failure.fault import FaultKeys, FaultKind, Target, is_durable
from stithy.scenarios.failure.faults.cluster import (
    bring_osds_back,
    find_orphans,
    is_noticed,
    scrub_clean,
    wait_until_clean,
)
from stithy.storage.emulation import list_mounted_drives
from stithy.storage.layer import LayerKind
from stithy.storage.provider import NO_FILE_SYSTEM
from stithy.storage.providers.ceph.keys import CephSpec
from stithy.storage.providers.drive import DriveKeys

if TYPE_CHECKING:
    from stithy.storage.provider import EmulatedDrive
    from stithy.study.model import Study

SLOWNESS = frozenset({"emulated drive too slow", "emulated drive not as described"})
"""Flags of a drive that takes other times than its profile says."""

OUTAGE = frozenset({"commit counters disagree", "commit counters not verified"})
"""Flags of a server that was started again within a window."""

ERRORS = frozenset({"lost", "storage", "full"})
"""What users get of a database that cannot use its files."""


class OneDriveKeys(FaultKeys):
    """Which drive of a candidate fails."""

    drive: int = Field(
        default=1, ge=1, examples=[2],
        description="The drive of the data, counted from 1, where an array has several.",
    )  # fmt: skip


def join_keys(options: type[DriveFaultOptions], keys: type[FaultKeys]) -> type[FaultKeys]:
    """Join the options of a drive's fault with the keys that it has in a study."""
    bases: Any = (options, keys)
    joined: type[FaultKeys] = create_model(f"{options.__name__}OfFault", __base__=bases)
    return joined


class OutageFault(FaultKind):
    """A fault that may stop the database and its file system, which are then brought back."""

    expects = ERRORS
    explains = SLOWNESS | OUTAGE
    examines = True

    def is_promised(self, study: "Study", candidate: str, keys: Any) -> bool:
        """Whether its database waits until a commit is durable: it may have to recover."""
        return is_durable(study, candidate)

    def heal(self, target: Target, keys: Any) -> None:
        """Mount and start again what has stopped."""
        from stithy.scenarios.failure.service import bring_back

        bring_back(target)

    def find_loss(self, target: Target, keys: Any) -> str | None:
        """Say what did not come back."""
        from stithy.scenarios.failure.service import find_outage

        return find_outage(target)


class DriveFault(FaultKind):
    """A fault of one emulated drive under the data, which answers all the same, if late."""

    explains = SLOWNESS

    def __init__(
        self, name: str, text: str, options: type[DriveFaultOptions] | None = None
    ) -> None:
        """`options`: those of `stithy drive fault` where it has them under this name."""
        self.name, self.text = name, text
        self.keys = join_keys(options or FAULTS[name], OneDriveKeys)

    def explain_refusal(self, study: "Study", candidate: str, keys: Any) -> str | None:
        """Refuse a candidate without emulated drives, or with fewer."""
        source = study.candidates[candidate]
        names = source.kind.name_drives(source.spec)
        if not names:
            return "it has no emulated drives: only these can be broken"
        if keys.drive > len(names):
            return f"it has no drive {keys.drive}: the last one is {len(names)}"
        return None

    def list_rules(self, keys: Any) -> frozenset[str]:
        """What the drive has one of: requests that fail, a schedule, …"""
        from stithy.drives.control import SIZE_BYTES_MAX

        return frozenset({f"`{keys.make_fault(SIZE_BYTES_MAX).kind}` of drive {keys.drive}"})

    def inject(self, target: Target, keys: Any) -> None:
        """Break the drive."""
        from stithy.drives.control import Control

        drive = get_drive(target, keys)
        Control(drive.control).set_fault(drive.name, keys.make_fault(drive.size_bytes))

    def heal(self, target: Target, keys: Any) -> None:
        """End all faults of the drive that have an end."""
        from stithy.drives.control import Control
        from stithy.wire.drive.jobs import NoFault

        drive = get_drive(target, keys)
        Control(drive.control).set_fault(drive.name, NoFault())
        if target.volume.clusters:
            bring_osds_back(target, replaces=self.examines)

    def rebuild(self, target: Target, keys: Any) -> str | None:
        """Wait until a cluster has all copies again."""
        return wait_until_clean(target) if target.volume.clusters else None

    def is_noticeable(self, target: Target) -> bool:
        """Whether the storage can know of it: a monitor sees OSDs."""
        return bool(target.volume.clusters)

    def is_detected(self, target: Target) -> bool:
        """Whether the monitor has marked the OSD."""
        return is_noticed(target)


def get_drive(target: Target, keys: Any) -> "EmulatedDrive":
    """Give the drive of the data that is meant."""
    number: int = keys.drive
    return [drive for drive in target.volume.drives if drive.role == "data"][number - 1]


class BreakingFault(OutageFault, DriveFault):
    """A fault by which requests of a drive fail, or give what was never written.

    An array gives what it lacks, and restores it. Without one the database stops, and is started
    again once the drive is healed.
    """

    def explain_refusal(self, study: "Study", candidate: str, keys: Any) -> str | None:
        """Refuse what nobody puts together again here."""
        if because := super().explain_refusal(study, candidate, keys):
            return because
        spec = study.candidates[candidate].spec
        layer = spec.layer if isinstance(spec, DriveKeys) else None
        if layer is not None and plugins(LayerKind)[layer.name].repair is None:
            return "only arrays of btrfs take back, here, a drive that has failed"
        engine = study.database.engine
        if not is_redundant(spec) and get_engine(engine).declaration.is_embedded:
            return f"users of {engine} hold its files open, which must be mounted again"
        return None

    def list_taken(self, keys: Any) -> frozenset[int]:
        """Its drive."""
        return frozenset({keys.drive})

    def is_promised(self, study: "Study", candidate: str, keys: Any) -> bool:
        """Whether another drive has all that this one loses, and who reads it knows which."""
        spec = study.candidates[candidate].spec
        if isinstance(spec, CephSpec):
            return is_redundant(spec)  # OSDs know what each of them has missed
        layer = spec.layer if isinstance(spec, DriveKeys) else None
        return layer is not None and is_redundant(spec) and layer.spec.finds_corruption()

    def heal(self, target: Target, keys: Any) -> None:
        """Heal the drive, then what stands on it."""
        DriveFault.heal(self, target, keys)
        if target.volume.clusters and (orphans := find_orphans(target)):
            target.notes["orphans"] = orphans
        super().heal(target, keys)

    def rebuild(self, target: Target, keys: Any) -> str | None:
        """Read all, compare with checksums or copies, and write what is wrong."""
        if target.volume.clusters:
            return scrub_clean(target)
        array, runner = target.volume.array, target.context.session.host.runner
        repair = plugins(LayerKind)[array.layer].repair if array else None
        if array is None or repair is None or array.redundancy <= 1:
            return None
        return f"{repair(target.volume.path, runner)} corrected"


def count_survived(study: "Study", candidate: str) -> int:
    """Count the drives of a candidate that may fail at once."""
    spec = study.candidates[candidate].spec
    if isinstance(spec, CephSpec):
        return spec.ceph.policy.policy.failures
    layer = spec.layer if isinstance(spec, DriveKeys) else None
    return layer.spec.count_survived() if layer else 0


def is_redundant(spec: Any) -> bool:
    """Whether its array or cluster has all data more than once."""
    if isinstance(spec, CephSpec):
        return spec.ceph.policy.policy.failures > 0
    return spec.layer is not None and spec.layer.spec.count_redundancy(spec.count) > 1


class CorruptingDrive(BreakingFault):
    """A drive changes what it holds, and says nothing."""

    def is_promised(self, study: "Study", candidate: str, keys: Any) -> bool:
        """Whether another drive has it, and a checksum tells which of them is right."""
        spec = study.candidates[candidate].spec
        known = not isinstance(spec, CephSpec) or spec.ceph.policy.checksum != "none"
        return known and super().is_promised(study, candidate, keys)


class LostDrive(BreakingFault):
    """A drive is gone for good, and an empty one takes its place."""

    # While btrfs replaces a device it makes a new chunk for each that it copies.
    room_share = 2.0

    def explain_refusal(self, study: "Study", candidate: str, keys: Any) -> str | None:
        """Refuse a cluster, whose word for it is another."""
        if isinstance(study.candidates[candidate].spec, CephSpec):
            return "of a cluster this is `osd-lost`"
        return super().explain_refusal(study, candidate, keys)

    def list_rules(self, keys: Any) -> frozenset[str]:
        """All: a drive of which another fault is healed is whole again."""
        lasting = ("stall", "slow", "schedule", "errors", "gone", "corrupt")
        return frozenset(f"`{kind}` of drive {keys.drive}" for kind in lasting)

    def heal(self, target: Target, keys: Any) -> None:
        """Repair nothing: the drive is gone."""

    def inject(self, target: Target, keys: Any) -> None:
        """Let it fail, and have the volume made anew before the next window."""
        target.context.volumes.moved.add(target.candidate)
        super().inject(target, keys)

    def find_loss(self, target: Target, keys: Any) -> str | None:
        """Say that all is lost where no other drive has it."""
        array = target.volume.array
        if array is None or array.redundancy <= 1:
            return "its drive was replaced by an empty one"
        return None

    def rebuild(self, target: Target, keys: Any) -> str | None:
        """Let an empty drive take the place of the lost one while users go on."""
        from stithy.scenarios.failure.spare import replace_drive

        return replace_drive(target, get_drive(target, keys), keys.drive)


class PowerCutFault(OutageFault):
    """All drives of a candidate and its server lose their power at the same moment."""

    name = "drive-power-cut"
    keys = join_keys(PowerCutOptions, FaultKeys)
    text = "a power cut"

    def explain_refusal(self, study: "Study", candidate: str, keys: Any) -> str | None:
        """Refuse what has no power that could be cut, or does not come back by itself."""
        spec = study.candidates[candidate].spec
        drives = study.candidates[candidate].kind.name_drives(spec)
        if not drives or (isinstance(spec, DriveKeys) and spec.filesystem == NO_FILE_SYSTEM):
            return "it has no emulated drives: only these can be broken"
        layer = spec.layer if isinstance(spec, DriveKeys) else None
        if layer is not None and plugins(LayerKind)[layer.name].repair is None:
            return "only arrays of btrfs come back here by themselves"
        if get_engine(study.database.engine).declaration.is_embedded:
            return "its users run in the process of the database, and would be cut off with it"
        return None

    def inject(self, target: Target, keys: Any) -> None:
        """Cut the power of the drives, and of the server before it could notice."""
        from stithy.drives.power_cut import CutRule
        from stithy.scenarios.failure.service import list_live_pids
        from stithy.storage.power import cut_volume

        rule = CutRule(keys.seed, keys.lost / 100, keys.torn / 100, keys.unit)
        cut_volume(target.volume, rule, lambda: list_live_pids(target))

    def heal(self, target: Target, keys: Any) -> None:
        """Bring back the drives, their file systems, and the server."""
        from stithy.storage.power import power_on

        if not all(is_mounted(drive.folder) for drive in list_mounted_drives(target.volume)):
            try:
                power_on(target.volume)
                target.context.volumes.mount_again(target.candidate)
            except InfrastructureError as error:
                target.notes["outage"] = error.text
        super().heal(target, keys)

    def rebuild(self, target: Target, keys: Any) -> str | None:
        """Have all copies of a cluster scrubbed."""
        return scrub_clean(target) if target.volume.clusters else None


PLUGINS = (
    DriveFault("drive-slow", "a slow drive"),
    DriveFault("drive-stuttering", "a drive that stutters"),
    DriveFault("drive-scheduled", "a drive that is slow by a schedule"),
    DriveFault("drive-hung", "a drive that hangs"),
    BreakingFault("drive-errors", "a drive with errors"),
    BreakingFault("drive-read-only", "a drive that refuses writes"),
    BreakingFault("drive-gone", "a drive that is gone"),
    CorruptingDrive("drive-corrupting", "a drive that changes data silently"),
    LostDrive("drive-lost", "a drive replaced by an empty one", FAULTS["drive-gone"]),
    PowerCutFault(),
)
