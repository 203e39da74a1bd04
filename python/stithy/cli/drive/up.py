"""`stithy drive up`: bring an emulated drive up."""

from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Literal

from cyclopts import Parameter

from stithy.cli.drive import options
from stithy.cli.drive.options import describe_drive, make_drive_json
from stithy.cli.talk.options import Json, read_size
from stithy.cli.talk.render import say, show, show_json
from stithy.errors import Exit, StithyError, UserError

if TYPE_CHECKING:
    from stithy.drives.control import DriveSpec
    from stithy.drives.profiles import DriveProfileFile
    from stithy.drives.program import DriveProgram

IMMEDIATE = "none"
"""In place of a profile: a drive that takes no time."""

USUAL = "ext4"
"""The file system where none is named."""

SIZE_BYTES = 2**30
"""Where no size is given: small enough for any machine's memory."""


@Parameter(name="*")
@dataclass(frozen=True)
class UpOptions:
    """How the drive is made."""

    name: str | None = None
    """Name of the drive; default: the profile's."""
    size: str | None = None
    """Size, such as 8GiB; default: 1GiB, or the profile's capacity if less."""
    backing: str = "memory"
    """Where the data are kept: memory, or a file, which is kept after the drive stops."""
    scale: str = "1"
    """Scale of capacity, IOPS and bandwidth, such as 1/8. Latency is not scaled."""
    sector: int = 4096
    """Sector size in bytes: 512 or 4096."""
    volatile: str = "profile"
    """Writes that a power cut may lose: profile (as its write cache says), none, or the newest
    writes up to a size such as 64MiB."""
    seed: int = 0
    """Seed of every random choice."""
    deep_idle: bool = False
    """Allow deep CPU idle states: saves power, and answers requests later."""


def bring_drive_up(
    profile: str,
    /,
    *,
    how: UpOptions = UpOptions(),
    mount: Path | None = None,
    filesystem: Literal["ext4", "xfs", "btrfs"] | None = None,
    json: Json = False,
) -> Exit:
    """Start an emulated drive, and print its block device.

    The drive runs until `stithy drive down` or a reboot, even after the shell ends. A drive in
    memory takes as much memory as was written to it; its data are lost when it goes down. With
    --mount a new file system is written to it, otherwise nothing.

    Examples:

        stithy drive up generic-nvme --size 8GiB
        stithy drive up generic-sata --name log --scale 1/8 --mount /mnt/log
        stithy drive up ./mine.toml --size 100GiB --backing /var/tmp/mine.img

    Parameters
    ----------
    profile
        A drive profile: a name from `stithy drive catalogue`, the path of a TOML file, or `none`
        for a drive that takes no time.
    mount
        Make a file system, and mount it at this directory, which must be empty or new. `stithy
        drive down` unmounts it. A file system that a backing file already holds is kept with all
        its files.
    filesystem
        The file system; default: ext4.
    """
    from stithy.drives import control as places
    from stithy.drives.program import need_root, start

    need_root()
    spec = _make_spec(profile, how)
    if mount is not None:
        _may_mount(mount)
    program = start([spec], places.get_folder(spec.name), hold_off_idle=not how.deep_idle)
    for text in program.warnings:
        say(f"warning: {text}")
    if mount is not None:
        kind = _mount_or_take_down(program, mount, filesystem)
    facts = program.control.list()[0]
    if json:
        show_json(make_drive_json(facts) | {"mounted": [str(mount.resolve())] if mount else []})
    else:
        show(facts.device)
        say(describe_drive(facts) + (f", {kind} at {mount.resolve()}" if mount else ""))
        say(f"to stop it: stithy drive down {facts.drive}")
    return Exit.OK


COMMAND = bring_drive_up


def _make_spec(profile: str, how: UpOptions) -> "DriveSpec":
    from stithy.drives.control import DriveSpec, check_name

    scale = options.scale(how.scale, "--scale")
    size_bytes = None if how.size is None else read_size(how.size, "--size")
    found = _find_profile(profile, scale)
    usual_name = found.facts.name if found else IMMEDIATE
    capacity_bytes = found.facts.capacity_bytes if found else SIZE_BYTES
    usual_bytes = min(SIZE_BYTES, capacity_bytes) // how.sector * how.sector if how.sector else 0
    name = usual_name if how.name is None else how.name
    check_name(name)
    if "." in name:
        raise UserError(
            "only drives of runs have a dot in their names",
            where="--name",
            remedy=f"give another, such as {name.replace('.', '-')}",
        )
    return DriveSpec(
        name=name,
        profile=found.text if found else None,
        size_bytes=usual_bytes if size_bytes is None else size_bytes,
        sector_bytes=how.sector,
        backing=None if how.backing == "memory" else _find_image(how.backing),
        scale=scale,
        seed=how.seed,
        volatile=_read_volatile(how.volatile),
    )


def _find_profile(profile: str, scale: float) -> "DriveProfileFile | None":
    from stithy.drives.profiles import find_profile

    if profile != IMMEDIATE:
        return find_profile(profile, scale=scale)
    if scale != 1:
        raise UserError(
            "a drive without a profile cannot be scaled",
            where="--scale",
            remedy="leave it out, or give a profile",
        )
    return None


def _find_image(text: str) -> Path:
    path = Path(text)
    if not text or path.is_dir() or (path.exists() and not path.is_file()):
        remedy = "give a new file, or the backing file of a drive"
        raise UserError(f"{text!r} is not a file", where="--backing", remedy=remedy)
    if not path.absolute().parent.is_dir():
        remedy = f"make it: mkdir -p {quote(str(path.parent))}"
        raise UserError(f"{path.parent} is not a directory", where="--backing", remedy=remedy)
    return path


def _read_volatile(text: str):  # type: ignore[no-untyped-def]  # one of three wire types, imported late
    from stithy.wire.drive.jobs import FromProfile, Protected, VolatileBytes

    if text == "profile":
        return FromProfile()
    if text == "none":
        return Protected()
    return VolatileBytes(limit_bytes=read_size(text, "--volatile"))


def _may_mount(point: Path) -> None:
    """Raise UserError for what must not become a mount point: it would hide what is there."""
    where = "--mount"
    if not point.exists() and not point.parent.is_dir():
        remedy = f"make it: mkdir -p {quote(str(point))}"
        raise UserError(f"{point.parent} does not exist", where=where, remedy=remedy)
    if point.exists() and not point.is_dir():
        raise UserError(f"{point} is not a directory", where=where, remedy="give a directory")
    if point.exists() and (point.is_mount() or any(point.iterdir())):
        raise UserError(
            f"{point} is {'a mount point already' if point.is_mount() else 'not empty'}",
            where=where,
            remedy="give a directory that is empty or new",
        )


def _mount_or_take_down(program: "DriveProgram", point: Path, wanted: str | None) -> str:
    """Mount a file system, made where there is none; a drive on which that cannot be goes again."""
    from stithy.drives import control as places
    from stithy.drives import filesystems
    from stithy.drives.control import Mounting

    device = program.drives[0].device
    try:
        if (kind := _find_kind(device, wanted)) is None:
            filesystems.make(device, kind := wanted or USUAL)
        made_folder = not point.exists()
        places.add_mount(program.folder, Mounting(device, point.resolve(), made_folder))
        point.mkdir(exist_ok=True)
        filesystems.mount(device, point, kind)
    except (StithyError, OSError, KeyboardInterrupt):
        program.stop()
        raise
    return kind


def _find_kind(device: str, wanted: str | None) -> str | None:
    from stithy.drives.filesystems import read_tag

    there = read_tag(device, "TYPE")
    if there is not None and wanted not in (None, there):
        raise UserError(
            f"the image holds {there}, which would be lost",
            where="--filesystem",
            remedy=f"leave it out to mount the {there}, or give another backing file",
        )
    return there
