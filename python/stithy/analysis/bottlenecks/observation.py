"""What is known of one window when its bottleneck is judged: means over its measurement.

`None` is what was not observed; `unseen` says why, by the name of the collector.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, sqrt
from typing import get_args

from stithy.analysis.instruments import Headroom
from stithy.engines.declaration import WaitGroup
from stithy.statements import Statement

HALF = 0.5
"""Own: from half on, all else together could at most double the throughput, and nothing else can
have a larger part of the same time."""


def format_at_most(share: float) -> str:
    """A share of which is said that nothing was more: never rounded down."""
    return f"{ceil(100 * share - 1e-9)} %"


SAMPLES_ENOUGH = 100
"""Own: a share of a half is then known within 10 points (95 %), and needs no interval beside it."""

SPAN_MOST = 0.5
"""Own: who knows a share no better than within a half of all does not know it."""

NORMAL = 1.96
"""Of a standard normal distribution 95 % lie within so many deviations."""


def estimate_share(share: float, samples: int) -> tuple[float, float]:
    """The 95 % interval of a share that was found in so many samples.

    Source: Wilson (1927), Probable inference, the law of succession, and statistical inference.
    """
    spread = NORMAL**2 / samples
    middle = (share + spread / 2) / (1 + spread)
    half = NORMAL / (1 + spread) * sqrt(share * (1 - share) / samples + spread / samples / 4)
    return max(0.0, middle - half), min(1.0, middle + half)


def bound_share(share: float | None, samples: int | None) -> tuple[float, float] | None:
    """The interval that belongs beside a share; None where it was counted or has samples enough."""
    if share is None or not samples or samples >= SAMPLES_ENOUGH:
        return None
    return estimate_share(share, samples)


def is_known(share: float, samples: int) -> bool:
    """Whether so many samples tell a share at all."""
    low, high = estimate_share(share, samples) if samples else (0.0, 1.0)
    return high - low <= SPAN_MOST


def state_sampled(share: float, samples: int | None) -> Statement:
    """A share with its interval, where few samples are behind it: `63 % (95 %: 50 % to 74 %)`.

    Own: whole per cents, which is what samples of a window bear.
    """
    if (known := bound_share(share, samples)) is None:
        return Statement("{share:.0f %}", share=share)
    low, high = known
    return Statement("{share:.0f %} (95 %: {sampled_low:.0f %} to {sampled_high:.0f %})",
                     share=share, sampled_low=low, sampled_high=high)  # fmt: skip


DEVICE, LOG, LOCKS = "device", "log", "locks"
GROUPS = get_args(WaitGroup)

STORAGE = (DEVICE, LOG)
"""The groups of waits that are for storage."""

SAMPLES_LEAST = 30
"""Own: of so many looks at a user, a share of a half is known within 18 % (95 %), as 1/√n; with
fewer a share is reported only where it cannot be a half."""


@dataclass(frozen=True)
class Sessions:
    """Active sessions of the database, means over so many `looks` at them.

    `by_group`: by what they did or waited for. `locks`: those that waited for one, by the server's
    own name of the event.
    """

    looks: int
    active: float
    by_group: Mapping[str, float]
    locks: Mapping[str, float]


@dataclass(frozen=True)
class Cpus:
    """Some CPUs: how many, the share of their time in which they worked, and of which other host.

    `of`: the exporter that tells it; empty for this machine.
    """

    count: int
    used_share: float
    of: str = ""

    @property
    def words(self) -> str:
        """Whose they are, at the beginning of a sentence."""
        return f"the CPUs of {self.of} were" if self.of else "the host's CPUs were"


@dataclass(frozen=True)
class DeviceUse:
    """A block device: share of time in use, requests and reads under way; None if not counted.

    Reads are the users' own: None, too, where something else works beside them.
    """

    name: str
    used_share: float | None
    under_way: float | None
    reads_under_way: float | None


@dataclass(frozen=True)
class Reached:
    """How much of one thing that a drive's profile allows was reached, as a share of 1."""

    drive: str
    what: str
    share: float


@dataclass(frozen=True)
class LinkUse:
    """The network of the load driver: bytes a second that it lets through, and the share of them.

    `used_share`: of its busier direction; None where it was not sampled.
    """

    bytes_per_s_max: float
    used_share: float | None


@dataclass(frozen=True)
class LevelGrowth:
    """The users of the next level, and its throughput as a multiple of this one's.

    `share`: 1 where throughput grew as the level did, 0 where it did not grow.
    """

    level: int
    factor: float
    share: float


@dataclass(frozen=True)
class Observation:
    """One window.

    `places`: users of a closed loop, connections of an open one: how many can be under way, of all
    tenants.
    `under_way`: transactions under way, by Little's law; of an open loop those that are served.
    `pool_waiting`: of these, those that wait for a connection; None where each user has its own.
    `backlog_share`: of the transactions due in an open loop. `drives`: of emulated drives. `late`:
    what the driver, `slowed` what the emulation did wrong, in words. `stalled_share`: throughput
    lost to stalls in checkpoints. `host`: that of the server, elsewhere as its exporter tells it;
    `storage_hosts`: of other hosts that the storage is on. `others_cpus`: how many CPUs programs
    used that are not of the run; None where nobody counted. `link`: None for a local driver.
    """

    window_id: str
    places: int
    is_open: bool
    paced: bool
    under_way: float | None
    headroom: Headroom
    pool_waiting: float | None = None
    backlog_share: float | None = None
    sessions: Sessions | None = None
    host: Cpus | None = None
    server: Cpus | None = None
    devices: tuple[DeviceUse, ...] = ()
    drives: tuple[Reached, ...] = ()
    emulated: bool = False
    late: str | None = None
    slowed: str | None = None
    stalled_share: float | None = None
    others_cpus: float | None = None
    storage_hosts: tuple[Cpus, ...] = ()
    link: LinkUse | None = None
    growth: LevelGrowth | None = None
    unseen: Mapping[str, str] = field(default_factory=dict)

    @property
    def pause_share(self) -> float | None:
        """Share of the users' time in which they paused; None where it is not known.

        Own: Little's law: who is not under way pauses.
        """
        if self.is_open or not self.paced:
            return 0.0
        return None if self.under_way is None else max(0.0, 1 - self.under_way / self.places)

    def part(self, group: str) -> float | None:
        """Share of the users' time in sessions of a group; None where they were seen too seldom.

        Waits for storage are at most as long as its devices had a request under way. A server is
        asked by a session of its own, which needs a CPU: with few of them the others are seen
        waiting more often than they wait.
        Own: sessions at any moment over those who could have one.
        """
        if self.sessions is None or not self.sessions.looks:
            return None
        seen = self.sessions.by_group.get(group, 0.0) / self.places
        share = min(1.0, seen * (self._true_share if group in STORAGE else 1.0))
        # Half the width of the 95 % interval of a share of a half.
        unsure_share = self.samples**-0.5 if self.samples else 1.0
        shown = self.enough or share + unsure_share < HALF
        return share if shown and is_known(share, self.samples) else None

    @property
    def samples(self) -> int:
        """How many samples of users the shares of their time come from.

        Own: each look sees every user once.
        """
        return 0 if self.sessions is None else self.sessions.looks * self.places

    @property
    def enough(self) -> bool:
        """Whether users were looked at often enough for shares of their time."""
        return self.samples >= SAMPLES_LEAST

    @property
    def devices_used_share(self) -> float | None:
        """At most this share of the time had a request under way; None where no device told it.

        Own: pressure stall information would be no bound. It is a mean over the CPUs by how busy
        they are: other work on another CPU makes the waits on one of two look half as long.
        """
        known = [device.used_share for device in self.devices if device.used_share is not None]
        return min(1.0, sum(known)) if known else None

    @property
    def _true_share(self) -> float:
        if self.sessions is None or self.devices_used_share is None:
            return 1.0
        seen = sum(self.sessions.by_group.get(group, 0.0) for group in STORAGE) / self.places
        return min(1.0, self.devices_used_share / seen) if seen else 1.0

    @property
    def storage_share(self) -> float | None:
        """At most this share of the users' time went to storage; None where nothing tells it.

        Own: waits of sessions for data and log, and of those who queue behind them; where too few
        were seen, the time in which a device was in use, and what users did not pause.
        """
        data, log, paused = self.part("device"), self.part("log"), self.pause_share
        most = [] if paused is None else [1 - paused]
        if data is not None and log is not None:
            most.append(min(1.0, self._with_queues(data + log, paused or 0.0)))
        elif self.devices_used_share is not None:
            most.append(self.devices_used_share)
        elif not paused:
            return None
        return min(most) if most else None

    @property
    def storage_samples(self) -> int | None:
        """From how many samples `storage_share` comes; None where the kernel counted it.

        Own: waits are sampled, the use of devices is counted.
        """
        known = self.part("device") is not None and self.part("log") is not None
        return self.samples if known else None

    def _with_queues(self, share: float, paused: float) -> float:
        """A share of the users' time with storage, and of waits for who was with storage then.

        Who waits for a lock may wait for the storage of its holder, but only while a session waits
        for storage. Who waits for a connection waits for all that the others do with theirs.
        """
        locks = self.part("locks")
        share += (1.0 if locks is None else locks) * min(1.0, share * self.places)
        served = 1 - paused - (self.pool_waiting or 0.0) / self.places
        return share * (1 - paused) / served if served > 0 else 1.0

    @property
    def rest_share(self) -> float | None:
        """Share of the users' time that was neither pause nor wait; None where waits are not known.

        Own: of what is under way, then server or driver work for it, or wait for a CPU; or for the
        network, where the driver has one, whose part nobody counts.
        """
        waits = [self.part(group) for group in (*STORAGE, LOCKS)]
        known = [wait for wait in waits if wait is not None]
        if self.link is not None or self.under_way is None or len(known) < len(waits):
            return None
        busy = (self.under_way - (self.pool_waiting or 0.0)) / self.places
        return max(0.0, min(1.0, busy) - sum(known))

    @property
    def why_no_sessions(self) -> str:
        """Why `part` is None."""
        if self.sessions is None:
            return self.unseen.get("database", "sessions of the database were not sampled")
        few = "{looks} wait samples are too few for a share of their time"
        return Statement(few, looks=self.sessions.looks)
