"""The seam of collectors: what each samples, with units and meanings, once a second."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar

from stithy.clock import Clock, SystemClock
from stithy.needs import Need
from stithy.registry import Family, Plugin

if TYPE_CHECKING:
    from stithy.engines.instance import Endpoint
    from stithy.exporters.seen import SeenExporter
    from stithy.meters.meter import GivenMeter
    from stithy.metrics import CollectedMetric


class Unavailable(Exception):
    """Raised by `create` where this machine or window has nothing for the collector to sample.

    Its text is the reason; the sampler records it and goes on without the collector.
    """


@dataclass(frozen=True)
class Sample:
    """One value of one metric of one subject; `missing_because` is set when `value` is None.

    `age_s`: how long ago it would have been taken, had it been of a second.
    """

    subject: str
    metric: str
    value: float | None
    missing_because: str | None = None
    age_s: float = 0.0


@dataclass(frozen=True)
class TimedSample:
    """A sample as the sampler keeps it: with its collector, unit and Unix time (interval's end).

    `instance`: whose server it is of, where a window has several.
    """

    at_s: float
    collector: str
    unit: str
    sample: Sample
    instance: str = ""


@dataclass(frozen=True)
class InstanceScope:
    """What collectors look at of one server.

    `name`: by which its samples are told from those of others; empty for the only one of a window.
    `database`: the running instance, None where there is none. `data`: its data directory, None
    where that is not known. `memory_cgroup`: directory of its memory cgroup, `cpu_cgroup` of the
    one that limits its CPU time; None where it has none of its own.
    """

    name: str = ""
    database: "Endpoint | None" = None
    data: Path | None = None
    memory_cgroup: Path | None = None
    cpu_cgroup: Path | None = None


@dataclass(frozen=True)
class Scope:
    """What a window's collectors look at.

    `volumes`: directories of the candidate's volumes. `instances`: the servers that run on it.
    `drives`: the control sockets of its emulated drives, by the drives' names. `clusters`: folders
    of the laboratory clusters under it. `server_cpus`: the CPUs that its servers are bound to, all
    of them to the same, None for any. `proc`, `sys`: roots of those file systems (a seam for
    tests). `meters`: those of the study that measure the candidate, by name; `exporters`: those of
    other hosts that are read in its windows.
    """

    volumes: tuple[Path, ...]
    instances: tuple[InstanceScope, ...] = ()
    proc: Path = Path("/proc")
    sys: Path = Path("/sys")
    clock: Clock = field(default_factory=SystemClock)
    drives: Mapping[str, Path] = field(default_factory=dict)
    server_cpus: tuple[int, ...] | None = None
    clusters: tuple[Path, ...] = ()
    meters: "Mapping[str, GivenMeter]" = field(default_factory=dict)
    exporters: "Mapping[str, SeenExporter]" = field(default_factory=dict)


class Closable(Protocol):
    """What holds a connection or a file."""

    def close(self) -> None:
        """Give up connections and files."""


class LiveCollector(Closable, Protocol):
    """A collector at work; used by one thread, closed once."""

    def sample(self) -> Sequence[Sample]:
        """What happened since the last call. The first call returns an empty list."""


@dataclass(frozen=True)
class Collector(Plugin):
    """What is sampled, and how the one who samples it is made: once for a window, or a server.

    Rates are computed by a live collector from its own last reading, so that its first `sample()`
    only takes the reading. What cannot be read is a `Sample` without a value and with a reason,
    never 0.
    """

    family: ClassVar = Family("collectors", interface=frozenset({"collector"}))

    name: str
    subject: str
    """What it looks at, in words: `the CPUs`."""

    metrics: "tuple[CollectedMetric, ...]"
    """Every metric that it can give."""

    create: Callable[[Scope], LiveCollector] | None = None
    """Makes the only one of a window. Raises Unavailable."""

    create_for: Callable[[Scope, InstanceScope], LiveCollector] | None = None
    """Makes the one of a server, in place of `create`. Raises Unavailable."""

    needs: tuple[Need, ...] = ()
    """What it needs of the machine, apart from what a window brings."""

    blocks: bool = False
    """Whether it asks a program and not the kernel, which may take long."""

    is_under_test: bool = False
    """Whether it asks what is measured. It then raises InfrastructureError where that is silent."""

    is_of_network: bool = False
    """Whether it sees what belongs to the network namespace of Stithy, and no other."""


class KernelFile:
    """One file, kept open; each `read` gives its present content."""

    def __init__(self, path: Path, size_bytes: int = 16384) -> None:
        """Open `path`; `size_bytes` is more than is ever needed of it. Raises OSError."""
        self.path = path
        self._size_bytes = size_bytes
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read(self) -> bytes:
        """Its first `size_bytes` bytes. Raises OSError."""
        return os.pread(self._descriptor, self._size_bytes, 0)

    def close(self) -> None:
        """Close it."""
        os.close(self._descriptor)


T = TypeVar("T")


class Rates(LiveCollector, Generic[T]):
    """What happened to each subject between two readings; one that is new has no samples yet."""

    def __init__(
        self,
        read: Callable[[], Mapping[str, T]],
        samples: Callable[[str, T, T, float], Iterable[Sample]],
        clock: Clock,
        files: Iterable[Closable] = (),
    ) -> None:
        """`read` reads all subjects, `files` are files and sessions that it reads.

        `samples` gets a subject, its last reading and this one, and the seconds in between.
        """
        self._read = read
        self._samples = samples
        self._clock = clock
        self._files = files
        self._last: Mapping[str, T] = {}
        self._last_s = 0.0

    def sample(self) -> Sequence[Sample]:
        now, now_s = self._read(), self._clock.monotonic_s()
        last, self._last = self._last, now
        elapsed_s, self._last_s = now_s - self._last_s, now_s
        return [
            sample
            for subject, reading in now.items()
            if subject in last
            for sample in self._samples(subject, last[subject], reading, elapsed_s)
        ]

    def close(self) -> None:
        for file in self._files:
            file.close()
