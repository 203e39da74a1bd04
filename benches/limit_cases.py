"""Studies of which it is known beforehand what limits them, because they are built so.

Drives that limit take tens of milliseconds for everything: so they keep to their profiles also on
a machine that has other things to do.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Keys = Mapping[str, Any]

FLASH = """\
version = 1
name = "{name}"
title = "a drive for the proof of what limited"
capacity_bytes = 64_000_000_000
channels = 64

[read]
p50_us = {read_us}
p99_us = {read_most_us}
bytes_per_s = 400_000_000

[write]
p50_us = {write_us}
p99_us = {write_most_us}
bytes_per_s = 400_000_000

[flush]
cost_us = {flush_us}
{cap}
[provenance]
assumed = ["capacity_bytes", "channels", "read", "write", "flush"{assumed}]
"""


@dataclass(frozen=True)
class Drive:
    """A drive by its times in microseconds and its caps, by their keys in a profile."""

    read_us: int = 5_000
    write_us: int = 5_000
    flush_us: int = 5_000
    caps: Mapping[str, int] = field(default_factory=dict)

    def profile(self, name: str) -> str:
        """The text of its profile."""
        lines = "".join(f"{key} = {value}\n" for key, value in self.caps.items())
        return FLASH.format(
            name=name,
            read_us=self.read_us,
            read_most_us=self.read_us * 6 // 5,
            write_us=self.write_us,
            write_most_us=self.write_us * 6 // 5,
            flush_us=self.flush_us,
            cap=f"\n[cap]\n{lines}" if lines else "",
            assumed=', "cap"' if lines else "",
        )


SLOW_LOG = Drive(read_us=2_000, write_us=50_000, flush_us=50_000)

DIRECTORY = "directory"
"""A candidate on this machine's disk."""

IN_MEMORY = "in memory"
"""A candidate on the file system of this machine's memory."""

Storage = Drive | str


@dataclass(frozen=True)
class Case:
    """One study: what was `built` in, and by candidate which limits the report may tell of it.

    Of the candidate `lifted`, which has nothing of what is built in, it may tell any: there the
    throughput must be greater. `hogged`: other programs fill the CPUs that are not the server's.
    """

    name: str
    built: str
    storage: Mapping[str, Storage]
    limits: Mapping[str, tuple[str, ...]]
    load: Keys
    warehouses: int = 4
    memory: str = "2 GiB"
    cpus: int | None = None
    settings: Keys = field(default_factory=dict)
    hogged: bool = False


LIFTED = "lifted"
SMALL = {"shared_buffers": "16MB"}
WHOLE = {"shared_buffers": "256MB", "max_wal_size": "1GB"}
"""Settings of a server whose data lie in its memory, and which seldom has to begin a checkpoint."""

NO_CASE = {
    "checkpoints": "a drive slow enough to stall in them had its bandwidth reached all the time",
    "storage-cpu": "only the exporter of another host shows its CPUs, and no other host is here",
}
"""Rules that no study here could be built for, and why."""

CASES = (
    Case(
        "pauses",
        "users who think for 500 ms after answers that take a few",
        {"disk": DIRECTORY},
        {"disk": ("demand",)},
        {"users": [6, 24], "pace": {"think": "500 ms"}},
        warehouses=2,
        settings=WHOLE,
    ),
    Case(
        "rate",
        "an open loop of 40 transactions a second, a small part of what this machine can do",
        {"disk": DIRECTORY},
        {"disk": ("demand",)},
        {"users": [8], "rate": "40/s"},
        warehouses=2,
        settings=WHOLE,
    ),
    Case(
        "rate-missed",
        "an open loop of 500 a second on a drive whose writes and flushes take 50 ms",
        {"slow": SLOW_LOG},
        {"slow": ("log",)},
        {"users": [4], "rate": "500/s"},
        settings=WHOLE,
    ),
    Case(
        "network",
        "users over a network of 10 Mbit/s, whose data are in memory",
        {"memory": IN_MEMORY},
        {"memory": ("network",)},
        {"users": [16], "network": "10 Mbit/s"},
        warehouses=2,
        settings=WHOLE,
    ),
    Case(
        "server-cpu",
        "a server with one CPU and all its data in memory",
        {"memory": IN_MEMORY},
        {"memory": ("server-cpu",)},
        {"users": [4]},
        cpus=1,
        settings=WHOLE,
    ),
    Case(
        "host-cpu",
        "server and driver share all CPUs, all data is in memory",
        {"memory": IN_MEMORY},
        {"memory": ("host-cpu",)},
        {"users": [4]},
        settings=WHOLE,
    ),
    Case(
        "commit-log",
        "writes and flushes of 50 ms under a server that holds its data in memory",
        {"slow": SLOW_LOG, LIFTED: Drive()},
        {"slow": ("log",)},
        {"users": [4]},
        settings=WHOLE,
    ),
    Case(
        "device-latency",
        "reads of 10 ms under a server with a fifth of the memory that its data would take",
        {"slow": Drive(read_us=10_000), LIFTED: Drive(read_us=2_000)},
        {"slow": ("device-latency",)},
        {"users": [4]},
        warehouses=2,
        memory="64 MiB",
        settings=SMALL,
    ),
    Case(
        "device-rate",
        "caps of 120 requests and of 5 MB a second under the same server; a disk with one arm",
        {
            "requests": Drive(read_us=2_000, caps={"total_iops": 120}),
            "bytes": Drive(read_us=2_000, caps={"total_bytes_per_s": 5_000_000}),
            "arm": "generic-7200",
            LIFTED: Drive(read_us=2_000),
        },
        dict.fromkeys(("requests", "bytes", "arm"), ("device-rate",)),
        {"users": [6]},
        warehouses=2,
        memory="64 MiB",
        settings=SMALL,
    ),
    Case(
        "locks",
        "24 users at one warehouse, which a payment holds until it is in the log",
        {"slow": Drive(write_us=20_000, flush_us=20_000)},
        {"slow": ("locks",)},
        {"users": [24]},
        warehouses=1,
        settings=WHOLE,
    ),
    Case(
        "connections",
        "16 users share 2 connections",
        {"slow": SLOW_LOG},
        {"slow": ("pool",)},
        {"users": [16], "connections": 2},
        settings=WHOLE,
    ),
    Case(
        "write-rate",
        "a cap of 6 MB a second on writes, under a checkpoint after each 16 MB of log",
        {
            "slow": Drive(1_000, 1_000, 1_000, {"write_bytes_per_s": 6_000_000}),
            LIFTED: Drive(1_000, 1_000, 1_000),
        },
        {"slow": ("device-rate",)},
        {"users": [4]},
        settings={
            "shared_buffers": "256MB",
            "max_wal_size": "32MB",
            "checkpoint_completion_target": 0,
        },
    ),
    Case(
        "driver",
        "other programs fill the driver's CPU, and users act at instants of their own",
        {"memory": IN_MEMORY},
        {"memory": ("driver",)},
        {"users": [40], "pace": {"think": "100 ms"}},
        warehouses=2,
        cpus=1,
        settings=WHOLE,
        hogged=True,
    ),
    Case(
        "driver-between",
        "the same with users who act as soon as they are answered",
        {"memory": IN_MEMORY},
        {"memory": ("driver", "host-cpu")},
        {"users": [6]},
        warehouses=2,
        cpus=1,
        settings=WHOLE,
        hogged=True,
    ),
    Case(
        "emulation",
        "other programs fill the CPU of a drive that should answer in a tenth of a millisecond",
        {"quick": Drive(read_us=100, write_us=100, flush_us=100)},
        {"quick": ("emulation", "driver")},
        {"users": [4]},
        warehouses=2,
        memory="64 MiB",
        settings=SMALL,
        hogged=True,
    ),
)
