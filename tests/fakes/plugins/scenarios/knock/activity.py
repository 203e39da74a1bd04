"""Each hand knocks in cycles; every second knock of the second hand fails."""

from stithy.errors import InfrastructureError, Interrupted
from stithy.plan.steps import WindowPlan
from stithy.run.context import Context
from stithy.scenarios.noisy_neighbour.beside import Beside, NeighbourActivity, NeighbourCycle

TAKES_S = 0.05


class Knock(Beside):
    """The hands of a window."""

    name = "knock"
    at_measurement = True

    def __init__(self, context: Context, window: WindowPlan) -> None:
        """No hand is up."""
        super().__init__(context, window)
        self.workers = self.level

    def cycle(self, worker: int) -> NeighbourCycle:
        """A knock."""
        clock = self.context.session.clock
        began_s, own = clock.now_s(), [each for each in self.cycles if each.worker == worker]
        if self.ended.wait(TAKES_S):
            raise Interrupted("the door is gone", where="door", remedy="none")
        if worker == 1 and len(own) == 1:
            raise InfrastructureError("nobody hears it", where="door", remedy="none")
        now_s = clock.now_s()
        return NeighbourCycle(worker, began_s, now_s, {"rap": (began_s, now_s)}, size_bytes=100)


PLUGINS = (NeighbourActivity("neighbour-knock", Knock),)
