"""A scenario without a database: every so often a line is noted on the candidate's volume."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from stithy.plan import scenario
from stithy.plan.scenario import PlannedScenario, Scene
from stithy.plan.steps import Block, Cost, Step, WindowPlan
from stithy.point import Value
from stithy.storage.provider import Role
from stithy.study.model import Study
from stithy.study.scenario import ScenarioKeys

NAME = "notes"


class Spec(ScenarioKeys):
    """How often, and how long the lines are."""

    FIXED: ClassVar = frozenset({"lines", "repeat"})

    lines: tuple[int, ...] = Field(description="Lines per second.", examples=[[10, 20]])
    length: int = Field(default=8, ge=1, description="Length of a line.", examples=[8])
    repeat: int | None = Field(default=None, ge=1, description="Blocks.", examples=[2])

    def count_blocks(self) -> int | None:
        """As its key says."""
        return self.repeat


def _spec(study: Study) -> Spec:
    assert isinstance(study.scenario.spec, Spec)
    return study.scenario.spec


class Notes(PlannedScenario):
    """Lines are noted."""

    name = NAME
    sections = ()
    keys = Spec
    metric = "note.lines_per_s"

    def list_factors(self, spec: Spec, _: Any) -> Mapping[str, Sequence[Value]]:
        """The lines per second."""
        return {"lines": spec.lines}

    def count_needed_bytes(self, _: Study) -> dict[Role, int]:
        """Next to nothing."""
        return dict.fromkeys(("data", "log", "temp", "backup"), 2**20)

    def plan_steps(self, study: Study, scene: Scene) -> Iterator[Step]:
        """Volumes, windows in rounds, and nothing is left."""
        yield from scenario.plan_provisions(study, scene)
        yield from scenario.plan_windows(
            study, scene, self.plan_windows, self.plan_around, in_rounds=True
        )
        yield from scenario.tear_downs(study, scene)

    def plan_windows(self, _: Study, block: Block, *, tried: bool = False) -> Iterator[WindowPlan]:
        """A second each."""
        return scenario.list_windows(block, 0.0, 1.0, ("note",), tried=tried)

    def plan_around(self, _: Study, scene: Scene, window: WindowPlan) -> Iterator[Step]:
        """The window, and the baseline check before its block."""
        yield from scenario.plan_baseline_check(scene, window)
        cost, spared = Cost(1.5, 5.0, 2**20, 0), scenario.may_be_spared(scene, window)
        yield Step(window.id, "window", window.candidate, cost, window, if_undecided=spared)


PLUGINS = (Notes(),)
