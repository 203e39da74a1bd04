"""A second scenario: as `load`, and before everything is torn down it sleeps."""

from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict, Field

from stithy.plan.scenario import Scene
from stithy.plan.scenarios import load
from stithy.plan.scenarios.load import around, factors, windows_of
from stithy.plan.steps import Cost, Step
from stithy.study.model import Study

NAME = "sleep"
NEEDS = load.NEEDS
CHECKS_AT_END = True

__all__ = ["around", "factors", "windows_of"]


class Spec(BaseModel):
    """How long it sleeps."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seconds: int = Field(ge=1, le=60, description="How long, in seconds.", examples=[2])


def steps(study: Study, scene: Scene) -> Iterator[Step]:
    """Those of `load`, and a nap."""
    spec = study.scenario.spec
    assert isinstance(spec, Spec)
    every = list(load.steps(study, scene))
    first = next(place for place, step in enumerate(every) if step.kind == "tear-down")
    cost = Cost(spec.seconds, spec.seconds, space_bytes=0, memory_bytes=0)
    return iter([*every[:first], Step("nap", "nap", None, cost), *every[first:]])
