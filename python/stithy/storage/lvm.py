"""Groups of LVM that Stithy makes of devices: made, asked, and removed whatever became of them.

RAID as LVM makes it: how many devices a level takes, what it leaves of them, how it is made.
Levels and options as in lvmraid(7). Mirrors begin as if they were in sync: what was never written
may differ between copies, and nobody reads it. Levels with parity, and those with checksums, are
synchronised before they are used.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import UUID, uuid5

from stithy.clock import SystemClock
from stithy.drives import filesystems
from stithy.errors import InfrastructureError
from stithy.hosts.runner import Command, LocalRunner, Runner
from stithy.needs import DeviceNeed, Need, Package, ProgramNeed
from stithy.storage import layer
from stithy.storage.layer import COPIES, PARITY, STRIPED, Level, RaidSpec
from stithy.units import parse_size

MIB = 2**20
EXTENT_BYTES = 4 * MIB
HEADER_BYTES = MIB
"""What LVM keeps of each device before its first extent."""
VOLUME = "array"
BLOCKS = Path("/sys/block")
SYNC_TIMEOUT_S = 24 * 3600.0
SYNC_POLL_S = 0.2
TIMEOUT_S = 1800.0
"""Removing a cache writes what is in it to its slow device."""
SETTINGS = (
    "activation/monitoring=0 backup/backup=0 backup/archive=0 activation/verify_udev_operations=1"
)
"""Nothing watches the array or remembers it, and its device is there also where udev is not."""
PACKAGE, MAPPER = Package("lvm2", "lvm2"), Package("dmsetup", "device-mapper")


def needs(why: str) -> tuple[Need, ...]:
    """What groups take of a machine."""
    return (
        ProgramNeed(name="lvm", package=PACKAGE, asked=("version",), why=why),
        DeviceNeed(path="/dev/mapper/control", module="dm_mod", why=why),
    )


def extents(size_bytes: int) -> int:
    """How many a device of this size has."""
    return max(0, (size_bytes - HEADER_BYTES) // EXTENT_BYTES)


class Group:
    """A group of devices, known by an identifier; its volume is the array."""

    def __init__(self, devices: Sequence[str], identifier: str, runner: Runner) -> None:
        """Nothing is made yet."""
        self.name = f"stithy_{identifier[:8]}"
        self._devices = devices
        self._identifier = identifier
        self._runner = runner

    @property
    def volume(self) -> str:
        """The array, as LVM calls it."""
        return f"{self.name}/{VOLUME}"

    @property
    def device(self) -> str:
        """The array, as a block device."""
        return f"/dev/mapper/{self.name}-{VOLUME}"

    @property
    def facts(self) -> dict[str, str]:
        """What `remove` needs to know."""
        return {"devices": " ".join(self._devices), "uuid": self._identifier}

    def make(self) -> Sequence[int]:
        """Make it of empty devices; their sizes, bytes."""
        for number, device in enumerate(self._devices):
            name = _member(self._identifier, number)
            self.done("pvcreate", "--yes", "--uuid", name, "--norestorefile", device)
        size = f"{EXTENT_BYTES}b"
        self.done("vgcreate", "--physicalextentsize", size, self.name, *self._devices)
        told = self.done("pvs", "--noheadings", "--nosuffix", "--units", "b", "-o", "dev_size")
        return [int(each) for each in told.split()]

    def done(self, command: str, *words: str) -> str:
        """What a command wrote. Raises InfrastructureError where it failed."""
        code, out, errors = self._run(command, *words)
        if code == 0:
            return out
        lines = (line.strip() for line in errors.splitlines())
        said = [line for line in lines if line and not line.startswith("WARNING")]
        raise InfrastructureError(
            f"`{command}` failed: {said[-1] if said else 'no reason given'}",
            where=", ".join(self._devices),
            remedy="check the kernel log (dmesg), and that its devices are empty",
        )

    def wait_in_sync(self) -> None:
        """Wait until the array is synchronised, and so are the checksums of each device."""
        clock = SystemClock()
        until_s = clock.monotonic_s() + SYNC_TIMEOUT_S
        while clock.monotonic_s() < until_s:
            told = self.done("lvs", "--all", "--noheadings", "-o", "sync_percent", self.name)
            if set(told.split()) <= {"100.00"}:
                return self._check_whole()
            clock.sleep_s(SYNC_POLL_S)
        raise InfrastructureError(
            f"the array was not in sync after {SYNC_TIMEOUT_S / 3600:g} hours",
            where=", ".join(self._devices),
            remedy="use smaller or faster devices, or a level without parity and checksums",
        )

    def _check_whole(self) -> None:
        """Raise InfrastructureError where a device failed meanwhile."""
        if health := self.done(
            "lvs", "--noheadings", "-o", "lv_health_status", self.volume
        ).strip():
            raise InfrastructureError(
                f"the array is not whole: its health is {health!r}",
                where=", ".join(self._devices),
                remedy="check the kernel log (dmesg) for a device that failed, and replace it",
            )

    def remove(self, blocks: Path = BLOCKS) -> None:
        """Remove it and its members, as far as they were made; nobody else's are touched.

        Where members fail LVM knows no group any more, and the kernel still has its volumes.
        """
        there = [Path(each).is_block_device() for each in self._devices]
        uuid = self._identifier
        if all(there) and self._run("vgs", self.name)[0] == 0:
            self._run("vgremove", "--force", "--yes", self.name)
        self._unmap(blocks)
        for number, device in enumerate(self._devices):
            if there[number] and filesystems.tag_on(device, "UUID") == _member(uuid, number):
                self.done("pvremove", "--force", "--force", "--yes", device)

    def _unmap(self, blocks: Path) -> None:
        """Take what is left of its volumes from the kernel: those below go after those above."""
        left = self._mapped(blocks)
        while left:
            for name in left:
                argv = [filesystems.program_path("dmsetup", MAPPER), "remove", name]
                self._runner.run(Command(argv=argv), timeout_s=TIMEOUT_S)
            before, left = left, self._mapped(blocks)
            if left == before:
                raise InfrastructureError(
                    f"volumes of LVM are in use: {', '.join(left)}",
                    where=", ".join(self._devices),
                    remedy="end what uses them (dmsetup ls --tree), and clean up again",
                )

    def _mapped(self, blocks: Path) -> list[str]:
        names = (each.read_text().strip() for each in sorted(blocks.glob("dm-*/dm/name")))
        return [name for name in names if name.startswith(f"{self.name}-")]

    def _run(self, command: str, *words: str) -> tuple[int, str, str]:
        program = filesystems.program_path("lvm", PACKAGE)
        # It sees these devices and no others.
        options = ["--devices", ",".join(self._devices), "--config", SETTINGS]
        ended = self._runner.run(
            Command(
                argv=[program, command, *options, *words],
                environment={"LC_ALL": "C", "LVM_SUPPRESS_FD_WARNINGS": "1"},
            ),
            timeout_s=TIMEOUT_S,
        )
        return ended.code, ended.stdout, ended.stderr


def _member(identifier: str, number: int) -> str:
    """The name of a member, as LVM writes its UUIDs: 32 digits in groups of its own."""
    digits = uuid5(UUID(identifier), str(number)).hex
    ends = (6, 10, 14, 18, 22, 26, 32)
    return "-".join(digits[begin:end] for begin, end in zip((0, *ends), ends, strict=False))


def remove(facts: Mapping[str, str]) -> None:
    """Remove what was made of these devices, as far as it is still there."""
    Group(facts["devices"].split(), facts["uuid"], LocalRunner()).remove()


MEMBERS: dict[Level, tuple[int, int | None]] = {**layer.MEMBERS, "raid6": (5, None)}
"""Parity of two needs three others."""

PAIRS: dict[Level, int] = {"raid10": 2}
"""Of how many devices it takes a multiple: `lvcreate` leaves an odd one unused."""

REDUNDANT = (*COPIES, *PARITY)
CHUNK_USUAL = "64 KiB"
JOURNAL_BYTES = 64 * MIB
DATA_OF_CHECKSUMS_BYTES = 500 * MIB
"""Each of them has an extent of checksums.
Source of both: LVM, lib/metadata/integrity_manip.c, `_lv_size_bytes_to_integrity_meta_bytes`."""


def capacity_bytes(level: Level, sizes_bytes: Sequence[int], *, checksum: bool = False) -> int:
    """What copies and parity leave of the smallest; `single` adds all up."""
    extents = [_extents(level, each, checksum) for each in sizes_bytes]
    if level == "single":
        return sum(extents) * EXTENT_BYTES
    return min(extents) * _count_stripes(level, len(extents)) * EXTENT_BYTES


def _extents(level: Level, size_bytes: int, checksum: bool) -> int:
    """How many of a device hold data."""
    there = extents(size_bytes)
    if level in REDUNDANT:
        there -= 1  # which of its regions are in sync
    if checksum:
        there -= 1 + JOURNAL_BYTES // EXTENT_BYTES
        of_one = DATA_OF_CHECKSUMS_BYTES // EXTENT_BYTES
        there = there * of_one // (of_one + 1)
    return max(0, there)


def _count_stripes(level: Level, count: int) -> int:
    """On how many devices different data lie."""
    return count - PARITY[level] if level in PARITY else count // COPIES.get(level, 1)


def make(spec: RaidSpec, group: Group, volume: str, count: int, *, checksum: bool = False) -> int:
    """Make a volume on all `count` devices of a group, which is made; its size, bytes.

    Waits until it is in sync.
    """
    size = capacity_bytes(spec.level, group.make(), checksum=checksum)
    extents = size // EXTENT_BYTES
    group.done(*create_words(spec, group.name, volume, extents, count, checksum=checksum))
    if checksum or spec.level in PARITY:
        group.wait_in_sync()
    return size


def create_words(
    spec: RaidSpec, group: str, volume: str, extents: int, count: int, *, checksum: bool
) -> list[str]:
    """The words of `lvcreate` that make the volume."""
    words = ["lvcreate", "--yes", "--name", volume, "--extents", str(extents)]
    words += ["--type", {"single": "linear", "raid1c3": "raid1"}.get(spec.level, spec.level)]
    if spec.level in COPIES:
        words += ["--mirrors", str(COPIES[spec.level] - 1)]
    if spec.level in STRIPED:
        words += ["--stripes", str(_count_stripes(spec.level, count))]
        words += ["--stripesize", f"{parse_size(spec.chunk or CHUNK_USUAL) // 1024}k"]
    if checksum:
        words += ["--raidintegrity", "y"]
    elif spec.level in COPIES:
        words.append("--nosync")
    return [*words, group]
