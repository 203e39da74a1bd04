"""A neighbour that reads the large tables of a database of its own from end to end."""

from collections.abc import Iterator

from stithy.engines.engine import chores_of
from stithy.plan.steps import WindowPlan
from stithy.run.activities.tenants.beside import Beside, lay_out
from stithy.run.activities.tenants.cycles import Cycle
from stithy.run.activity import Span
from stithy.run.context import Context
from stithy.scenarios.noisy_neighbour.aggressors.analytic_scan import NAME as ANALYTIC_SCAN

NAME = f"neighbour-{ANALYTIC_SCAN}"


class NeighbourAnalyticScan(Beside):
    """The scans of a window, by as many connections as the point says."""

    name = "scan"

    def __init__(self, context: Context, window: WindowPlan) -> None:
        """Nobody is connected yet."""
        super().__init__(context, window)
        self.workers = self.level
        self._scans: dict[int, Iterator[int]] = {}

    def cycle(self, worker: int) -> Cycle:
        """The next large table."""
        clock = self.context.session.clock
        began_s = clock.now_s()
        if worker not in self._scans:
            chores = chores_of(self.context.file.study.database.engine)
            self._scans[worker] = chores.scans(self.up[0].url)
        try:
            size = next(self._scans[worker])
        except BaseException:
            del self._scans[worker]  # the next one connects again
            raise
        return Cycle(worker, began_s, clock.now_s(), size_bytes=size)

    def _spans_of(self, number: int, cycle: Cycle) -> Iterator[Span]:
        """There may be thousands of those that follow at once: of these only those that failed."""
        if cycle.failed_because is not None or self.spec.every_s:
            yield from super()._spans_of(number, cycle)


create = NeighbourAnalyticScan


__all__ = ["create", "lay_out"]
