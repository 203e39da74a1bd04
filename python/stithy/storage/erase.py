"""Which block devices may be overwritten: the only place that allows it.

A device is overwritten only if the person names it by an id that stays with it, and if nothing is
on it: no mount, no swap, no partition, no array that uses it, no known file system or signature.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from stithy.errors import PreconditionError
from stithy.hosts.devices import mounts
from stithy.hosts.runner import Command, Runner

BY_ID = Path("/dev/disk/by-id")


def may_erase(
    device: Path,
    named: str,
    runner: Runner,
    *,
    by_id: Path = BY_ID,
    proc: Path = Path("/proc"),
    sys: Path = Path("/sys"),
) -> None:
    """Return where `device` may be overwritten; changes nothing.

    `named` is the id by which the person named it. Raises PreconditionError for any reason against.
    """
    real = device.resolve()
    known = stable_ids(real, by_id=by_id, sys=sys)
    if named not in known:
        told = f"its ids are {', '.join(known)}" if known else "it has none that would stay with it"
        raise _refuse(f"{named!r} does not name this device", device, told)
    for problem, remedy in _uses(real, runner, proc, sys):
        raise _refuse(problem, device, remedy)


def stable_ids(device: Path, *, by_id: Path = BY_ID, sys: Path = Path("/sys")) -> tuple[str, ...]:
    """Names that stay with a device wherever it is: udev's, its serial number, its WWN."""
    found = []
    if by_id.is_dir():
        found = sorted(link.name for link in by_id.iterdir() if link.resolve() == device)
    place = sys / "class" / "block" / device.name
    files = ("serial", "device/serial", "wwid", "device/wwid")
    return tuple(dict.fromkeys([*found, *filter(None, (_text(place / each) for each in files))]))


def _uses(device: Path, runner: Runner, proc: Path, sys: Path) -> Iterator[tuple[str, str]]:
    """What speaks against overwriting, each with its remedy; the first is enough."""
    place = (sys / "class" / "block" / device.name).resolve()
    parts = sorted(each.parent.name for each in place.glob("*/partition"))
    if parts:
        yield f"it has partitions: {', '.join(parts)}", "remove them yourself, or name one of them"
    number = _text(place / "dev")
    for mount in mounts(proc):
        if mount.number == number or os.path.realpath(mount.source) == str(device):
            yield f"it is mounted at {mount.point}", "unmount it, if nothing on it is needed"
    swaps = (_text(proc / "swaps") or "").splitlines()[1:]
    if any(line.split()[0] == str(device) for line in swaps):
        yield "it is swap space", "turn it off with swapoff, if the machine can do without"
    holders = sorted(each.name for each in (place / "holders").glob("*"))
    if holders:
        yield f"it is used by {', '.join(holders)}", "take that apart first"
    yield from _signatures(device, runner)
    yield from _claims(device)


def _signatures(device: Path, runner: Runner) -> Iterator[tuple[str, str]]:
    words = ["wipefs", "--no-act", "--noheadings", "--output", "TYPE", "--", str(device)]
    looked = runner.run(Command(words), timeout_s=60.0)
    if looked.code != 0:
        yield f"it cannot be looked at: {looked.stderr.strip()}", "run as root, with sudo"
    if kinds := looked.stdout.split():
        remedy = f"if nothing on it is needed: wipefs --all {device}"
        yield f"there is something on it: {', '.join(kinds)}", remedy


def _claims(device: Path) -> Iterator[tuple[str, str]]:
    """The kernel refuses an exclusive opening while anything in it uses the device."""
    try:
        os.close(os.open(device, os.O_RDWR | os.O_EXCL))
    except OSError as error:
        yield f"it cannot be had alone: {error.strerror}", "look what uses it: lsblk"


def _text(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace").strip() or None
    except OSError:
        return None


def _refuse(problem: str, device: Path, remedy: str) -> PreconditionError:
    return PreconditionError(f"it is not written to: {problem}", where=str(device), remedy=remedy)
