"""An scheduler that asks for further windows whatever was measured: for tests of the run alone."""

from dataclasses import replace

from stithy.plan.additional import Additional
from stithy.run.deciding import SoFar

ENOUGH = 2


def two_more(so_far: SoFar) -> Additional | None:
    """After the first window of all a second block of it, and after that one a third."""
    windows = [step.window for step in so_far.steps if step.kind == "window" and step.window]
    of_first = [each for each in windows if each.id.startswith(windows[0].id)]
    last = of_first[-1]
    if len(of_first) > ENOUGH or last.id not in so_far.done:
        return None
    more = replace(last, id=f"{windows[0].id}-more{len(of_first)}")
    return Additional(last.id, (more,), f"{last.id} was measured")
