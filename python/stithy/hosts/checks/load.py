"""What else runs on this machine now, and how much memory and space it leaves for databases."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stithy.hosts.activity import NAMED_MAX, Activity, BusyProgram
from stithy.needs import Judgement, Machine
from stithy.units import format_size

if TYPE_CHECKING:
    from stithy.storage.volume import OpenPlace

QUIET_CPU_SHARE = 0.1
"""What a machine without work shows; above it windows of the same kind differ."""

QUIET_DEVICE_SHARE = 0.1
QUIET_STEAL_SHARE = 0.02


def judge_load(machine: Machine) -> Iterator[Judgement]:
    """Judge what else runs, then memory and space."""
    yield from _judge_activity(machine)
    yield from _judge_room(machine)


def _judge_activity(machine: Machine) -> Iterator[Judgement]:
    """CPUs, stolen time and block devices over a second."""
    activity = machine.activity()
    if busy := describe_busy_cpus(activity):
        yield Judgement("other load", "disturbing", busy, "end it, or wait for its end")
    else:
        yield Judgement("other load", "there", f"CPUs {activity.cpu_share:.0%} busy")
    if activity.steal_share > QUIET_STEAL_SHARE:
        found = f"the hypervisor gives {activity.steal_share:.0%} of the CPUs to others"
        remedy = "use a machine with CPUs of its own"
        yield Judgement("stolen time", "disturbing", found, remedy)
    if busy := describe_busy_devices(activity):
        remedy = "end what reads or writes, or find it as root: iotop, or pidstat -d"
        yield Judgement("busy devices", "disturbing", busy, remedy)
    else:
        yield Judgement("busy devices", "there", "none")


def describe_busy_cpus(activity: Activity) -> str | None:
    """Say which programs of others use the CPUs; None below the limit."""
    if activity.cpu_share <= QUIET_CPU_SHARE:
        return None
    busiest = [program for program in activity.programs if program.cpu_share >= 0.01]
    names = list(map(_describe_program, busiest[:NAMED_MAX]))
    if activity.hidden_share > QUIET_CPU_SHARE / 2:
        names.append(f"programs hidden from this user or container {activity.hidden_share:.0%} CPU")
    return f"CPUs {activity.cpu_share:.0%} busy: {', '.join(names) or 'many small programs'}"


def describe_busy_devices(activity: Activity) -> str | None:
    """Say which disks are busy and who moves most; None below the limit, and for the run's own."""
    busy = {name: share for name, share in activity.devices.items() if share > QUIET_DEVICE_SHARE}
    if not busy or activity.run_bytes > activity.moved_bytes:
        return None
    disks = ", ".join(f"{name} {share:.0%} of the time" for name, share in busy.items())
    movers = sorted(activity.programs, key=lambda program: -(program.bytes_per_s or 0))
    names = [_describe_program(program) for program in movers[:NAMED_MAX] if program.bytes_per_s]
    closed = [program.name for program in activity.programs if program.bytes_per_s is None]
    if closed:
        names.append(f"the I/O of {', '.join(closed[:NAMED_MAX])} is hidden from this user")
    return f"{disks}: {', '.join(names) or 'no program that /proc shows'}"


def _describe_program(program: BusyProgram) -> str:
    """`cargo (7) 15% CPU, 3 MiB/s`."""
    moved = f", {format_size(round(program.bytes_per_s))}/s" if program.bytes_per_s else ""
    return f"{program.name} ({program.pid}) {program.cpu_share:.0%} CPU{moved}"


FREE_BYTES_MIN = 4 * 2**30
"""A database of some hundred megabytes, its log and its master copy."""


def _judge_room(machine: Machine) -> Iterator[Judgement]:
    """Memory, swap in use, and each place where a candidate could stand."""
    yield _judge_memory(machine)
    total, free = read_memory(machine, "SwapTotal"), read_memory(machine, "SwapFree")
    if total and free is not None and (used := total - free):
        remedy = "free memory: otherwise swapped pages are read back during a window"
        yield Judgement("swap", "disturbing", f"{format_size(used)} in use", remedy)
    places = machine.places()
    yield from (_judge_place(each) for each in places)
    if not places:
        problem = "no file system here has a directory that this user may use"
        yield Judgement("space", "unknown", problem, "create a directory that this user may use")


def _judge_memory(machine: Machine) -> Judgement:
    total, available = read_memory(machine, "MemTotal"), read_memory(machine, "MemAvailable")
    if total is None or available is None:
        return Judgement("memory", "unknown", "the kernel does not report it")
    found = f"{format_size(available)} of {format_size(total)} available"
    return Judgement("memory", "there", found)


def _judge_place(place: "OpenPlace") -> Judgement:
    what = "memory" if place.memory_backed else place.filesystem
    found = f"{place.path.parent} has {format_size(place.free_bytes)} free ({what})"
    if place.free_bytes >= FREE_BYTES_MIN:
        return Judgement("space", "there", found)
    remedy = f"free space on {place.mount_point}, or put candidates elsewhere"
    return Judgement("space", "disturbing", found, remedy)


def read_memory(machine: Machine, key: str) -> int | None:
    """Bytes of a line such as `MemTotal:  24105 kB`; None where there is none."""
    for line in (machine.text("/proc/meminfo") or "").splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    return None


@dataclass(frozen=True)
class Check(Plugin):
    """A check of the machine that belongs to no part; `judge` asks that machine alone."""

    family: ClassVar = Family(module="hosts.checks")

    name: str
    judge: Callable[[Machine], Iterator[Judgement]]


PLUGINS = (
    Check("cpu", judge_cpu),
    Check("drives", judge_drives),
    Check("kernel", judge_kernel),
    Check("load", judge_load),
)
