"""Emulated drives under a run's volumes: in no hurry while measured, and always in the same state.

Loading, restoring and verifying take no time of the drives and do not age them; every window is
measured with the times of their profiles, which is made sure of before and after it.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from stithy.drives.control import Control
from stithy.engines.engine import get_engine
from stithy.errors import InfrastructureError, StithyError, give_reason
from stithy.hosts.devices import DiskCounters, parse_diskstats
from stithy.plan.steps import INSTANCE, Step
from stithy.results.layout import WindowDirectory
from stithy.results.tables import SPACE, Row
from stithy.run.context import Context
from stithy.run.volumes import Volumes
from stithy.storage.consent import DATA
from stithy.storage.provider import EmulatedDrive, Volume
from stithy.storage.space import add_log
from stithy.wire.drive.messages import DriveCounters

DISKSTATS = Path("/proc/diskstats")


@dataclass(frozen=True)
class DriveReading:
    """What a drive did since it came up: as it reports itself, and as the kernel counts its device.

    `device` is None where the kernel does not count it.
    """

    reported: DriveCounters
    device: DiskCounters | None

    def answered(self, operation: str) -> int:
        """How many requests of an operation the drive answered so far."""
        return sum(each.answered for each in self.reported.operations if each.name == operation)


Counters = Mapping[str, DriveReading]
"""A reading of each drive of a candidate, by name."""


@contextmanager
def pace_drives(context: Context, step: Step, *, paced: bool) -> Iterator[None]:
    """Inside, all drives answer as the step needs it; afterwards they are as their profiles say."""
    drives = [] if paced else context.volumes.drives
    if not drives:
        yield
        return
    context.session.journal.write("drives-unpaced", id=step.id, drives=len(drives))
    _set_paced(drives, paced=False)
    try:
        yield
    except BaseException:
        with suppress(StithyError):  # the first error explains the second
            _set_paced(drives, paced=True)
        raise
    _set_paced(drives, paced=True)
    context.session.journal.write("drives-paced", id=step.id)


def keep_state(volumes: Volumes) -> None:
    """Keep the state of all drives, as they are after loading."""
    for drive in volumes.drives:
        Control(drive.control).snapshot(drive.name)


def put_back(volumes: Volumes, candidate: str) -> None:
    """Put the candidate's drives back to the state that was kept."""
    for drive in volumes.of(candidate).drives:
        Control(drive.control).restore(drive.name)


def read_counters(volumes: Volumes, candidate: str) -> Counters:
    """What each drive of the candidate did so far.

    Raises InfrastructureError for one that does not take its profile's time, because that would be
    no measurement of it.
    """
    found = {}
    drives = volumes.of(candidate).drives
    names = {drive.name: Path(drive.device).name for drive in drives}
    devices = parse_diskstats(
        DISKSTATS.read_bytes() if drives else b"", [name.encode() for name in names.values()]
    )
    for drive in drives:
        counted = Control(drive.control).read_counters(drive.name)
        if not counted.paced:
            raise InfrastructureError(
                f"the drive for {drive.role} is unpaced: it does not take its profile's time",
                where=f"candidate {candidate}",
                remedy="do not change a run's drives by hand; repeat the run",
            )
        found[drive.name] = DriveReading(counted, devices.get(names[drive.name]))
    return found


@contextmanager
def trace_window(volumes: Volumes, candidate: str, window: WindowDirectory) -> Iterator[None]:
    """Inside, those of the candidate's drives whose requests the study wants record them."""
    drives = [drive for drive in volumes.of(candidate).drives if drive.traced]
    try:
        for drive in drives:
            path = window.trace(drive.name).absolute()
            path.unlink(missing_ok=True)  # of a session that was cut off
            Control(drive.control).trace(drive.name, path)
        yield
    finally:
        for drive in drives:
            with suppress(StithyError):  # a drive that is gone traces no more
                Control(drive.control).trace(drive.name, None)


def _set_paced(drives: list[EmulatedDrive], *, paced: bool) -> None:
    for drive in drives:
        Control(drive.control).set(drive.name, paced=paced)


NUMBERS = (
    "logical_bytes", "written_bytes", "stored_bytes", "physical_bytes", "redundancy", "reduction",
    "provisioned_bytes", "allocated_bytes", "log_written_bytes", "log_stored_bytes",
    "native_reduction",
)  # fmt: skip


def record(context: Context, candidate: str, moment: str) -> None:
    """Add the rows of a candidate's volumes, unless it has some of this moment and dataset.

    What cannot be read is missing with its reason: no run fails for it.
    """
    volumes = context.volumes
    volume = volumes.made.get(candidate)
    dataset = volumes.held.get(candidate)
    known = [(row["candidate"], row["moment"], row["dataset"])
             for row in context.state.rows.get(SPACE.name, ())]  # fmt: skip
    if volume is None or volume.raw or (candidate, moment, dataset) in known:
        return
    rows = [
        {"candidate": candidate, "role": role, "moment": moment, "dataset": dataset}
        | _measure_row(context, candidate, part)
        for role, part in volume.by_role.items()
        if not part.raw and not (role == "target" and candidate in volumes.moved)
    ]
    context.add_rows(SPACE, rows)


def _measure_row(context: Context, candidate: str, part: Volume) -> Row:
    try:
        space = context.volumes.providers[candidate].measure_space(part)
        space = add_log(space, part, _find_logs(context, candidate, part))
        space = replace(space, native_reduction=_measure_reduction(context, candidate, part))
    except (OSError, StithyError) as error:
        return dict.fromkeys(NUMBERS) | {"missing_because": give_reason(error)}
    because = "; ".join(dict.fromkeys(space.missing.values()))
    return {name: getattr(space, name) for name in NUMBERS} | {"missing_because": because or None}


def _measure_reduction(context: Context, candidate: str, part: Volume) -> float | None:
    dataset = context.volumes.held.get(candidate)
    if dataset is None:
        return None
    database = context.study_of(dataset).database
    return get_engine(database.engine).measure_reduction(part.path / DATA, database.settings)


def _find_logs(context: Context, candidate: str, part: Volume) -> list[Path]:
    """The folders of the write-ahead log beside data, those of several instances, too; no links."""
    servers = context.given_servers
    name = servers.find_held(candidate).engine.log_folder if servers else None
    if name is None:
        return []
    data = part.path / DATA
    found = [data / name, *data.glob(f"{INSTANCE}-*/{name}")]
    return [folder for folder in found if folder.is_dir() and not folder.is_symlink()]
