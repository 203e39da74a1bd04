"""What the processes of a database server use: their CPU time, all of them together.

Its processes are those that work in its data directory. The time of those that ended is with the
process that waited for them.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from stithy.clock import Clock
from stithy.collectors.collector import Collector, InstanceScope, Rates, Sample, Scope, Unavailable
from stithy.hosts.processes import read_stat
from stithy.metrics import CollectedMetric

METRICS = (
    CollectedMetric("cpu_share", "", "CPU time of the server's processes, as a share of one CPU",
                    "lower", noun="CPU time of the database server"),
)  # fmt: skip
NO_PROCESS = "no process works in the server's data directory"
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Processes:
    """Those that work in a server's data directory."""

    def __init__(self, data: Path, proc: Path) -> None:
        """`data` is the directory in which the server works."""
        self._data = str(data.resolve())
        self._proc = proc
        self._places: dict[str, str] = {}

    def ticks(self) -> int | None:
        """Of user and system, with those of children that were waited for; None without any."""
        known, self._places = self._places, {}
        for pid in filter(str.isdigit, os.listdir(self._proc)):
            self._places[pid] = known.get(pid, "")
            if pid not in known:  # asked once, or a dozen servers would each ask all processes
                with suppress(OSError):
                    self._places[pid] = os.readlink(self._proc / pid / "cwd")
        mine = [pid for pid, place in self._places.items()
                if place == self._data or place.startswith(f"{self._data}/")]  # fmt: skip
        stats = (read_stat(self._proc / pid) for pid in mine)
        ticks = [sum(map(int, stat.fields[11:15])) for stat in stats if stat is not None]
        return sum(ticks) if ticks else None


def make_samples(
    subject: str, before: int | None, after: int | None, elapsed_s: float
) -> Iterator[Sample]:
    """The CPU time between two readings."""
    if before is None or after is None:
        yield Sample(subject, "cpu_share", None, NO_PROCESS)
        return
    # A process that ends before its parent asks for it is missing for a moment.
    yield Sample(subject, "cpu_share", max(0, after - before) / TICKS_PER_S / elapsed_s)


def sample_server(data: Path, proc: Path, clock: Clock) -> Rates[int | None]:
    """The collector of the server in this directory."""
    processes = Processes(data, proc)
    return Rates(lambda: {"": processes.ticks()}, make_samples, clock)


def create(scope: Scope, instance: InstanceScope) -> Rates[int | None]:
    """The collector; Unavailable where no server of Stithy's is measured."""
    if instance.database is None or instance.data is None:
        raise Unavailable("no database server that Stithy started is measured")
    return sample_server(instance.data, scope.proc, scope.clock)


PLUGINS = (
    Collector(name="server", subject="the database server", metrics=METRICS, create_for=create),
)
