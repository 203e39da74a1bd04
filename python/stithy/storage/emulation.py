"""Emulated drives under the volumes of a candidate: brought up by one program, and described."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stithy.errors import InfrastructureError, StithyError
from stithy.storage.provider import EmulatedDrive, Record, Role, Site, Volume

if TYPE_CHECKING:
    from stithy.drives.power_cut import MountedDrive
    from stithy.drives.profiles import DriveProfileFile
    from stithy.wire.drive.messages import DriveUp

SECTOR_BYTES = 4096


@dataclass(frozen=True)
class AskedDrive:
    """A drive as a study asks for it; `backing`: the directory of its image, None for memory."""

    name: str
    role: Role
    profile: "DriveProfileFile"
    size_bytes: int
    scale: float
    seed: int
    backing: Path | None
    traced: bool = False


def list_profile_times_s(profiles: Iterable["DriveProfileFile"]) -> dict[tuple[str, str], float]:
    """The medians of 4 KiB, and the flush's time; a drive that spins has flushes alone."""
    found: dict[tuple[str, str], float] = {}
    for facts in (profile.facts for profile in profiles):
        times = {"read": facts.read_p50_s, "write": facts.write_p50_s, "flush": facts.flush_s}
        found |= {(facts.name, name): s for name, s in times.items() if s is not None}
    return found


def bring_up(
    asked: Sequence[AskedDrive], label: str, program: str, site: Site, run_id: str, record: Record
) -> tuple[EmulatedDrive, ...]:
    """Bring the drives up, in their order; files of theirs are named by `label`.

    `program` is the name of the folder in which their program works.
    """
    from stithy.drives.control import DriveSpec, get_folder
    from stithy.drives.program import start

    images = {
        request.name: request.backing / f"stithy-{run_id}-{label}-{request.name}.img"
        for request in asked
        if request.backing is not None
    }
    for image in images.values():
        record("image", {"path": str(image)})
    folder = get_folder(program, run_id)
    record("drive", {"folder": str(folder)})
    site.logs.mkdir(parents=True, exist_ok=True)
    logs = {each.name: site.logs / f"{label}.{each.name}" for each in asked}
    specs = [
        DriveSpec(
            name=each.name,
            profile=each.profile.text,
            size_bytes=each.size_bytes,
            sector_bytes=SECTOR_BYTES,
            backing=images.get(each.name),
            scale=each.scale,
            seed=each.seed % 2**64,
            hlog_stem=logs[each.name],
        )
        for each in asked
    ]
    up = start(specs, folder, run_id=run_id, cpus=site.cpus)
    ready = {drive.drive: drive for drive in up.drives}
    return tuple(
        _describe(each, ready[each.name], up.control.path, logs[each.name]) for each in asked
    )


def _describe(asked: AskedDrive, ready: "DriveUp", control: Path, log_stem: Path) -> EmulatedDrive:
    facts = asked.profile.facts
    return EmulatedDrive(
        name=asked.name,
        role=asked.role,
        control=control,
        device=ready.device,
        profile_name=facts.name,
        title=facts.title,
        profile=asked.profile.text,
        assumed=facts.assumed,
        scale=ready.scale,
        size_bytes=ready.size_bytes,
        sector_bytes=ready.sector_bytes,
        backing="memory" if asked.backing is None else f"a file in {asked.backing}",
        seed=asked.seed % 2**64,
        transport=ready.transport,
        transport_s=ready.transport_s,
        spin_s=ready.spin_s,
        log_stem=log_stem,
        traced=asked.traced,
    )


def list_mounted_drives(volume: Volume) -> tuple["MountedDrive", ...]:
    """List all drives of a candidate, each with the file system that it carries."""
    from stithy.drives.control import Control
    from stithy.drives.power_cut import MountedDrive

    return tuple(
        MountedDrive(Control(drive.control), drive.name,
                     f"/dev/{part.devices[0]}" if part.cluster else drive.device, part.path,
                     part.filesystem, tuple(part.mount_options.split(",")))
        for part in volume.parts for drive in part.emulated
    )  # fmt: skip


@contextmanager
def suspend_pacing(drives: Iterable[EmulatedDrive]) -> Iterator[None]:
    """Inside, the drives take no time: making a file system is no measurement.

    Where that fails because the drives have gone, the error says both.
    """
    _set_pacing(drives, False)
    try:
        yield
    except StithyError as error:
        try:
            _set_pacing(drives, True)
        except InfrastructureError as gone:
            raise InfrastructureError(
                f"{gone.problem}; meanwhile: {error.text}", where=gone.where, remedy=gone.remedy
            ) from error
        raise
    _set_pacing(drives, True)


def _set_pacing(drives: Iterable[EmulatedDrive], paced: bool) -> None:
    from stithy.drives.control import Control

    for drive in drives:
        Control(drive.control).set(drive.name, paced=paced)
