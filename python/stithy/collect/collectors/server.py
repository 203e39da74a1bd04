"""What the processes of the database server use: their CPU time, all of them together.

Its processes are those that work in the candidate's volumes, as servers do in their data directory.
The time of those that ended is with the process that waited for them.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from stithy.clock import Clock
from stithy.collect.collector import Sample, Scope, Unavailable
from stithy.hosts.processes import stat_of
from stithy.metrics import CollectedMetric
from stithy.needs import Need

NAME = "server"
SAMPLES = "the database server"
NEEDS: tuple[Need, ...] = ()
"""It comes with a server."""

METRICS = (
    CollectedMetric(
        "cpu_share",
        "",
        "CPU time of the server's processes, as a share of one CPU",
        "lower",
        noun="CPU time of the database server",
    ),
)
NO_PROCESS = "no process works in the candidate's volumes"
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Server:
    """The CPU time between two readings."""

    def __init__(self, volumes: Sequence[Path], proc: Path, clock: Clock) -> None:
        """`volumes` are the directories in which servers work."""
        self._volumes = [str(each.resolve()) for each in volumes]
        self._proc = proc
        self._clock = clock
        self._last: tuple[float, int | None] | None = None

    def sample(self) -> Sequence[Sample]:
        """One sample."""
        last, self._last = self._last, (self._clock.monotonic_s(), self._ticks())
        if last is None:
            return []
        (then_s, before), (now_s, after) = last, self._last
        if before is None or after is None:
            return [Sample("", "cpu_share", None, NO_PROCESS)]
        # A process that ends before its parent asks for it is missing for a moment.
        spent_s = max(0, after - before) / TICKS_PER_S
        return [Sample("", "cpu_share", spent_s / (now_s - then_s))]

    def close(self) -> None:
        """Nothing is held."""

    def _ticks(self) -> int | None:
        """Of user and system, with those of children that were waited for; None without any."""
        stats = [stat_of(each) for each in self._proc.glob("[0-9]*") if self._is_server(each)]
        ticks = [sum(map(int, stat.fields[11:15])) for stat in stats if stat is not None]
        return sum(ticks) if ticks else None

    def _is_server(self, process: Path) -> bool:
        try:
            place = os.readlink(process / "cwd")
        except OSError:
            return False
        return any(place == each or place.startswith(f"{each}/") for each in self._volumes)


def create(scope: Scope) -> Server:
    """The collector; Unavailable where no server is measured."""
    if scope.database is None:
        raise Unavailable("there is no database server")
    return Server(scope.volumes, scope.proc, scope.clock)
