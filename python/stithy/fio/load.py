"""How a pattern is run, where, and with which data: what a job file is made of besides it."""

import os
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

ALIGNED_BYTES = 4096
CHECK_BYTES = 4096
"""Each so many bytes have a checksum of their own, and a header, where all is read back."""

UNWRITABLE = frozenset('#;$"')
"""What fio's job files take for something else, and cannot quote."""

SUBMITTERS = 256
"""More threads would wait for processors, which small machines take for slow storage."""

SUBMITTERS_LEAST = 16


Replay = Literal["times", "fast"]
"""A trace is replayed at its own times, or as fast as it goes."""


@dataclass(frozen=True)
class Target:
    """A device or file, and the part of it that may be used. It must be there, and all written.

    `name` is for messages, where the path would say nothing. Of a target that is `read_only` fio
    refuses whatever would write.
    """

    path: str
    size_bytes: int
    begin_bytes: int = 0
    name: str = ""
    read_only: bool = False

    @property
    def shown(self) -> str:
        """What a person is told of it."""
        return self.name or self.path

    @property
    def link(self) -> str | None:
        """The name of a link to it beside a job file that cannot hold its path, else None.

        fio cuts a value at `;` and `#` and at its blank ends, and replaces `$`.
        """
        is_plain = self.path.isprintable() and self.path == self.path.strip()
        if is_plain and UNWRITABLE.isdisjoint(self.path):
            return None
        return f"target-{zlib.crc32(os.fsencode(self.path)):08x}"


@dataclass(frozen=True)
class Data:
    """What written data are like: the shares of them that compression and deduplication save."""

    compressible_share: float = 0.0
    duplicate_share: float = 0.0


PLAIN = Data()
"""No two blocks are alike, and none gets smaller."""


@dataclass(frozen=True)
class Load:
    """How a pattern is run. `rate_per_s` None: as fast as it goes, a closed loop.

    `engine`: that of asynchronous streams that name none. `bounded`: at a rate, too, no more
    requests are outstanding than in the closed loop, as Vdbench has it. Without `data` they are
    those of the pattern. `logs`: a row a second is kept. `submitters`: the most that an open loop
    has, of both directions. `replay`: how a trace is.
    """

    duration_s: float
    ramp_s: float
    seed: int
    engine: str = "libaio"
    rate_per_s: float | None = None
    bounded: bool = False
    data: Data | None = None
    verify: bool = False
    logs: bool = True
    submitters: int = SUBMITTERS
    replay: Replay = "times"


def least(every: Iterable[Data]) -> Data:
    """The data of which least is saved: no storage looks better by what nobody asked for."""
    known = list(every)
    return Data(
        min(each.compressible_share for each in known), min(each.duplicate_share for each in known)
    )


def for_workers(
    targets: Sequence[Target], load: Load, workers: int
) -> tuple[tuple[Target, Load], ...]:
    """What each of so many workers a target gets: its part of it, of rate and submitters, a seed.

    The load is that of all of them together.
    """
    count = len(targets) * workers
    rate = None if load.rate_per_s is None else load.rate_per_s / count
    submitters = max(SUBMITTERS_LEAST, load.submitters // count)
    parts = []
    for target in targets:
        size, begin = aligned(target.size_bytes / workers), target.begin_bytes
        parts += [
            replace(target, size_bytes=size, begin_bytes=begin + n * size) for n in range(workers)
        ]
    return tuple(
        (part, replace(load, rate_per_s=rate, seed=load.seed * count + n, submitters=submitters))
        for n, part in enumerate(parts)
    )


def aligned(size_bytes: float) -> int:
    """As many bytes, down to a page: direct I/O takes no other places."""
    return int(size_bytes) // ALIGNED_BYTES * ALIGNED_BYTES
