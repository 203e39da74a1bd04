"""A made-up machine: what is not said of it is not there, and programs run on this one."""

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from stithy.clock import Clock
from stithy.collectors.collector import Collector
from stithy.hosts.activity import ActivityCounters, MachineActivity
from stithy.hosts.runner import LocalRunner, Runner, ServerUser
from stithy.registry import plugins
from stithy.results.manifest import Fact
from stithy.storage.volume import OpenPlace

QUIET = MachineActivity(1.0, 0.01, 0.0, (), {"vda": 0.0})
FACTS: dict[str, str | int | None] = {
    "cpus": 8, "cpu_model": "Some CPU", "cpu_governor": "performance", "clock_source": "tsc",
    "cgroup_version": "2", "kernel": "6.12.1", "distribution": "Some Linux 1",
}  # fmt: skip
PROGRAMS = {
    "stithy-hammer": "stithy-hammer 0.1.0",
    "stithy-drive": "stithy-drive 0.1.0",
    "taskset": "taskset from util-linux 2.38.1",
    "mkfs.ext4": "mke2fs 1.47.0 (5-Feb-2023)",
    "e2fsck": "e2fsck 1.47.0 (5-Feb-2023)",
    "mkfs.xfs": "mkfs.xfs version 6.1.0",
    "xfs_repair": "xfs_repair version 6.1.0",
    "ipmitool": "ipmitool version 1.8.19",
    "snmpget": "NET-SNMP version: 5.9.3",
    "mdadm": "mdadm - v4.2 - 2021-12-30",
    "lvm": "LVM version: 2.03.16(2) (2022-05-18)",
    "vdoformat": "vdoformat version is: 8.3.0.71",
    "zpool": "zfs-2.1.11-1",
    "mkfs.btrfs": "mkfs.btrfs, part of btrfs-progs v6.2",
    "btrfs": "btrfs-progs v6.2",
    "mount": "mount from util-linux 2.38.1",
    "wipefs": "wipefs from util-linux 2.38.1",
    "fio": "fio-3.33",
    "pgbackrest": "pgBackRest 2.44",
    "ceph-mon": "ceph version 16.2.15",
    "ceph-osd": "ceph version 16.2.15",
    "ceph": "ceph version 16.2.15",
    "rbd": "ceph version 16.2.15",
    "qemu-storage-daemon": "qemu-storage-daemon version 7.2.22",
    "nbdfuse": "nbdfuse 1.14.2",
    "ip": "ip utility, iproute2-6.1.0",
    "nsenter": "nsenter from util-linux 2.38.1",
    "iptables": "iptables v1.8.9 (nf_tables)",
    "tc": "tc utility, iproute2-6.1.0",
}
TEXTS = {
    "/proc/mdstat": "Personalities : [raid1]",
    "/proc/filesystems": "nodev\tproc\n\text4\n\txfs\n\tbtrfs",
    "/proc/diskstats": "254 0 vda",
    "/proc/stat": "cpu 1",
    "/sys/class/powercap/intel-rapl:0/energy_uj": "1",
    "/sys/class/hwmon/hwmon0/name": "power_meter",
    "/proc/meminfo": "MemTotal: 33554432 kB\nMemAvailable: 31457280 kB\nSwapTotal: 0 kB\n"
    "SwapFree: 0 kB",
    "/proc/net/dev": "lo:",
    "/proc/pressure/cpu": "some avg10=0.00",
    "/proc/pressure/io": "some avg10=0.00",
    "/proc/sys/kernel/osrelease": "6.12.1",
    "/sys/fs/cgroup/cgroup.controllers": "cpu io memory",
}
NAMES = {"/sys/kernel/btf": ("vmlinux",), "/dev": ("fuse", "loop-control", "null", "zfs"),
         "/sys/module": ("dm_vdo",), "/sys/class/hwmon": ("hwmon0",),
         "/sys/class/hwmon/hwmon0": ("name", "power1_average"),
         "/dev/mapper": ("control",),
         "/proc/self/ns": ("mnt", "net")}  # fmt: skip


def place(path: str, free_gib: float, *, memory: bool = False, device: str = "vda") -> OpenPlace:
    """A place with so much room, on a file system of its own."""
    folder = Path(path)
    devices = () if memory else (device,)
    kind = "tmpfs" if memory else "ext4"
    free = int(free_gib * 2**30)
    return OpenPlace(folder, folder.parent, kind, path, free, memory, devices)


@dataclass
class FakeMachine:
    """A good one of 8 CPUs and 32 GiB, with all that Stithy may want, unless told otherwise.

    `told`: the facts that it has. `closed_devices`: why a device does not open, by its path.
    `no_network`: why a program fails in a network of its own, by its name.
    """

    is_root: bool = True
    installer: Literal["apt-get", "dnf"] | None = "apt-get"
    told: Mapping[str, str | int | None] = field(default_factory=lambda: dict(FACTS))
    texts: Mapping[str, str] = field(default_factory=lambda: dict(TEXTS))
    listed: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: dict(NAMES))
    closed_devices: Mapping[str, str] = field(
        default_factory=lambda: dict.fromkeys(("/dev/ublk-control",), "not found")
    )
    programs: Mapping[str, str] = field(default_factory=lambda: dict(PROGRAMS))
    no_memory_limit: str | None = None
    no_io_limit: str | None = None
    no_cpu_share: str | None = None
    no_io_uring: str | None = None
    no_network: Mapping[str, str] = field(default_factory=dict)
    synchronised: bool | None = True
    doing: MachineActivity = QUIET
    open_places: tuple[OpenPlace, ...] = (
        place("/var/tmp/stithy", 200),
        place("/dev/shm/stithy", 16, memory=True),
    )

    name: str = "this machine"
    runner: Runner = field(default_factory=LocalRunner)
    user: ServerUser | None = None
    cpus: frozenset[int] = field(default_factory=lambda: frozenset(os.sched_getaffinity(0)))

    def join_io_group(self, name: str, record: Callable[[Path], object]) -> None:
        """Stay in the group of the tests."""

    @property
    def collectors(self) -> Mapping[str, Collector]:
        """All that there are."""
        return plugins(Collector)

    @property
    def facts(self) -> Mapping[str, Fact]:
        """Those that are told, and that the others are not."""
        every = dict.fromkeys(FACTS) | dict(self.told)
        return {
            name: Fact(value=value, missing_because="not told" if value is None else None)
            for name, value in every.items()
        }

    def text(self, path: str) -> str | None:
        """What the file holds."""
        return self.texts.get(path)

    def names(self, path: str) -> tuple[str, ...]:
        """What the directory holds."""
        return self.listed.get(path, ())

    def closed(self, path: str) -> str | None:
        """Why it does not open."""
        return self.closed_devices.get(path)

    def program(self, name: str) -> str | None:
        """Its path, where there is such a program."""
        return f"/usr/bin/{name}" if name in self.programs else None

    def package(self, name: str) -> str | None:
        """There is none."""

    def says(self, program: str, *words: str) -> str:
        """What it writes, whatever is asked; nothing about transports."""
        return "" if "--transports" in words else self.programs[Path(program).name]

    def find_memory_limit_problem(self) -> str | None:
        """As set."""
        return self.no_memory_limit

    def find_io_limit_problem(self) -> str | None:
        """As set."""
        return self.no_io_limit

    def find_cpu_share_problem(self) -> str | None:
        """As set."""
        return self.no_cpu_share

    def find_io_uring_problem(self) -> str | None:
        """As set."""
        return self.no_io_uring

    def find_network_problem(self, program: str, *words: str) -> str | None:
        """As set."""
        return self.no_network.get(program)

    def is_clock_synchronised(self) -> bool | None:
        """As set."""
        return self.synchronised

    def activity(self, pids: Collection[int] = ()) -> MachineActivity:
        """As set."""
        return self.doing

    def read_counters(self, clock: Clock, pids: Collection[int]) -> ActivityCounters:
        """Nobody else does anything, whoever works beside the test."""
        return ActivityCounters(clock.monotonic_s(), {}, {})

    def places(self) -> tuple[OpenPlace, ...]:
        """As set."""
        return self.open_places
