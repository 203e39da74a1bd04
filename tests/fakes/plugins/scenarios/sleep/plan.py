"""A second scenario: as `load`, and before everything is torn down it sleeps."""

from collections.abc import Iterator

from pydantic import Field

from stithy.plan.scenario import Scene
from stithy.plan.steps import Cost, Step
from stithy.scenarios.load.plan import LoadScenario
from stithy.study.model import Study
from stithy.study.scenario import ScenarioKeys


class Spec(ScenarioKeys):
    """How long it sleeps."""

    seconds: int = Field(ge=1, le=60, description="How long, in seconds.", examples=[2])


class Sleep(LoadScenario):
    """As a load, and a nap."""

    name = "sleep"
    keys = Spec
    is_by_url = False

    def plan_steps(self, study: Study, scene: Scene) -> Iterator[Step]:
        """Those of `load`, and a nap."""
        spec = study.scenario.spec
        assert isinstance(spec, Spec)
        every = list(super().plan_steps(study, scene))
        first = next(place for place, step in enumerate(every) if step.kind == "tear-down")
        cost = Cost(spec.seconds, spec.seconds, space_bytes=0, memory_bytes=0)
        return iter([*every[:first], Step("nap", "nap", None, cost), *every[first:]])


PLUGINS = (Sleep(),)
