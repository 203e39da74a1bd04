"""Memory and space: what there is for databases, and what pushes measured pages out."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stithy.needs import Judgement, Machine
from stithy.units import format_size

if TYPE_CHECKING:
    from stithy.storage.open_places import OpenPlace

NAME = "room"

FREE_BYTES_MIN = 4 * 2**30
"""Own: a database of a few warehouses, its log and its master copy."""


def judge(machine: Machine) -> Iterator[Judgement]:
    """Memory, swap in use, and each place where a candidate could stand."""
    yield _memory(machine)
    total, free = memory_of(machine, "SwapTotal"), memory_of(machine, "SwapFree")
    if total and free is not None and (used := total - free):
        remedy = "free memory: what is swapped out comes back in the midst of a window"
        yield Judgement("swap", "disturbing", f"{format_size(used)} in use", remedy)
    places = machine.places()
    yield from (_place(each) for each in places)
    if not places:
        problem = "no file system here has a directory that this user may use"
        yield Judgement("space", "unknown", problem, "give this user a directory of its own")


def _memory(machine: Machine) -> Judgement:
    total, available = memory_of(machine, "MemTotal"), memory_of(machine, "MemAvailable")
    if total is None or available is None:
        return Judgement("memory", "unknown", "the kernel does not tell it")
    return Judgement("memory", "there", f"{format_size(available)} of {format_size(total)} to use")


def _place(place: "OpenPlace") -> Judgement:
    what = "memory" if place.memory_backed else place.filesystem
    found = f"{place.path.parent} has {format_size(place.free_bytes)} free ({what})"
    if place.free_bytes >= FREE_BYTES_MIN:
        return Judgement("space", "there", found)
    remedy = f"make room on {place.mount_point}, or keep candidates elsewhere"
    return Judgement("space", "disturbing", found, remedy)


def memory_of(machine: Machine, key: str) -> int | None:
    """Bytes of a line such as `MemTotal:  24105 kB`; None where there is none."""
    for line in (machine.text("/proc/meminfo") or "").splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    return None
