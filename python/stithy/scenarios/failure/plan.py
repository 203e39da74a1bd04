"""Failure: the same users with and without a fault under them, in interleaved rounds.

Each block has a window without a fault and one for each fault, so that the difference is what the
fault costs. It strikes at a set time of the measurement and is healed at another; what it left is
repaired before the next window begins. Every window keeps a ledger, which is compared with the
database: nothing that was acknowledged may be missing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pydantic import BaseModel

from stithy.activities.hammer.declared import USERS
from stithy.errors import Refused, UserError
from stithy.needs import Need
from stithy.plan import scenario
from stithy.plan.scenario import DatabaseScene, Scene
from stithy.plan.steps import Block, Step, WindowPlan
from stithy.point import Value
from stithy.registry import plugins
from stithy.scenarios.failure.declared import name_activity
from stithy.scenarios.failure.fault import NONE, FaultKind
from stithy.scenarios.failure.keys import FAULT, NAME, FailureSpec
from stithy.scenarios.load.plan import LoadScenario, check_at_end, load_database
from stithy.study.load_keys import Load
from stithy.study.model import Study

ALIKE = frozenset({FAULT})
"""What is compared with each other, and so has the same blocks."""


def find_spec(study: Study) -> FailureSpec:
    """The keys of a study."""
    spec = study.scenario.spec
    return spec if isinstance(spec, FailureSpec) else FailureSpec()


class FailureScenario(LoadScenario):
    """Users work while storage or a server breaks, and nothing acknowledged may be lost."""

    name = NAME
    keys = FailureSpec
    is_by_url = False
    has_several_engines = False
    metric = "fault.pause_s"

    def list_factors(self, spec: BaseModel | None, load: Load) -> Mapping[str, Sequence[Value]]:
        """The levels of the load, without a fault and with each."""
        faults = (spec if isinstance(spec, FailureSpec) else FailureSpec()).faults
        return {USERS.name: load.levels, FAULT: (NONE, *faults)}

    def explain_needs(self, study: Study) -> tuple[Need, ...]:
        """List what its faults need."""
        kinds = (plugins(FaultKind)[name] for name in find_spec(study).faults)
        return tuple(dict.fromkeys(need for kind in kinds for need in kind.needs))

    def plan_steps(self, study: Study, scene: Scene) -> Iterator[Step]:
        """As for a load, in rounds. Raises Refused for candidates that cannot have a fault."""
        assert isinstance(scene, DatabaseScene)  # its studies have a database
        require_possible(study)
        yield from scenario.plan_provisions(study, scene)
        yield from load_database(study, scene)
        yield from scenario.plan_windows(
            study, scene, self.plan_windows, self.plan_around, in_rounds=True, alike=ALIKE
        )
        yield from check_at_end(study, scene)
        yield from scenario.tear_downs(study, scene)

    def plan_windows(
        self, study: Study, block: Block, *, tried: bool = False
    ) -> Iterator[WindowPlan]:
        """The windows of a block, all with the fault of its point."""
        activities = ("hammer", name_activity(str(block.point.values[FAULT])))
        for window in super().plan_windows(study, block, tried=tried):
            yield replace(window, activities=activities)

    def plan_around(self, study: Study, scene: Scene, window: WindowPlan) -> Iterator[Step]:
        """As around each window of a load."""
        optional = scenario.may_be_spared(scene, window, ALIKE)
        for step in super().plan_around(study, scene, window):
            yield replace(step, if_undecided=optional)


def require_possible(study: Study) -> None:
    """Raise Refused for each candidate that cannot have one of the faults."""
    problems = [
        UserError(
            f"{name} cannot be tried on {candidate}: {because}",
            where=f"scenario.{NAME}.faults",
            remedy="leave this fault or this candidate out",
        )
        for name, keys in find_spec(study).faults.items()
        for candidate in study.candidates
        if (because := plugins(FaultKind)[name].explain_refusal(study, candidate, keys))
    ]
    if problems:
        raise Refused(tuple(problems), where=f"scenario.{NAME}")


PLUGINS = (FailureScenario(),)
