"""A neighbour that loads the tenants' dataset into a database of its own, again and again."""

from stithy.engines.engine import chores_of
from stithy.plan.steps import derive_seed
from stithy.run.activities.tenants.beside import Beside, lay_out
from stithy.run.activities.tenants.cycles import Cycle
from stithy.run.context import choice_of
from stithy.scenarios.noisy_neighbour.aggressors.bulk_load import NAME as BULK_LOAD
from stithy.wire.hammer import Watch

NAME = f"neighbour-{BULK_LOAD}"


class NeighbourBulkLoad(Beside):
    """The loads of a window, by as many connections as the point says."""

    name = "load"

    def warm_up(self) -> None:
        """An empty database, whatever an earlier window left."""
        self._empty()

    def _empty(self) -> None:
        chores_of(self.context.file.study.database.engine).empty(self.up[0].url)

    def cycle(self, worker: int) -> Cycle:
        """Load all tables into the empty database, and empty it again."""
        context, clock = self.context, self.context.session.clock
        dataset, began_s = context.plan.datasets[0], clock.now_s()
        study = context.study_of(dataset.name)
        if self.cycles:  # also one that failed has left tables
            self._empty()
        context.hammer(self.up[0].url).prepare(
            choice_of(study),
            seed=derive_seed(context.plan.seed, "data"),
            loaders=self.level,
            data=context.data_of(dataset.name),
            watch=Watch(raw_output=self.files / "load.jsonl", stop=self.ended),
        )
        size = context.workload.data_bytes(study.workload.units)
        return Cycle(worker, began_s, clock.now_s(), size_bytes=size)


create = NeighbourBulkLoad


__all__ = ["create", "lay_out"]
