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
from stithy.errors import UserError
from stithy.needs import Need
from stithy.plan.scenario import Scene
from stithy.plan.steps import Block, Step, WindowPlan
from stithy.point import Point, Value
from stithy.scenarios.failure.declared import name_activity
from stithy.scenarios.failure.fault import NONE
from stithy.scenarios.failure.keys import FAULT, MAXIMUM, NAME, RATE, FailureSpec, find_maximum
from stithy.scenarios.failure.levels import get_fault, list_parts
from stithy.scenarios.load.plan import LoadScenario
from stithy.storage.provider import Role
from stithy.study.load_keys import Load
from stithy.study.model import Study

EXAMINED_S = (2.0, 600.0)
"""Of a window after whose fault all is checked, likely and at most: mounts, a start, the check."""


def find_spec(study: Study) -> FailureSpec:
    """The keys of a study."""
    spec = study.scenario.spec
    return spec if isinstance(spec, FailureSpec) else FailureSpec()


class FailureScenario(LoadScenario):
    """Users work while storage or a server breaks, and nothing acknowledged may be lost."""

    name = NAME
    keys = FailureSpec
    is_by_url = False
    metric = "fault.pause_s"
    alike = frozenset({FAULT, RATE})

    def list_factors(self, spec: BaseModel | None, load: Load) -> Mapping[str, Sequence[Value]]:
        """The levels of the load, without a fault and with each."""
        failure = spec if isinstance(spec, FailureSpec) else FailureSpec()
        during = failure.during
        rates = {RATE: (f"{during.rate_percent}%",)} if during else {}
        return {USERS.name: load.levels, **rates, FAULT: (NONE, *failure.get_levels())}

    def explain_needs(self, study: Study) -> tuple[Need, ...]:
        """List what its faults need."""
        kinds = (get_fault(name) for name in find_spec(study).faults)
        return tuple(dict.fromkeys(need for kind in kinds for need in kind.needs))

    def count_added_bytes(self, study: Study, held: int) -> Mapping[Role, int]:
        """Count what the repair of the faults needs."""
        shares = [get_fault(name).room_share for name in find_spec(study).faults]
        return {"data": int(max(shares) * held)}

    def get_rank(self, point: Point) -> float:
        """Shares are of the maximum, so that is known before any of them."""
        return float(point.values.get(RATE) != MAXIMUM)

    def find_refusals(self, study: Study) -> Iterator[UserError]:
        """Find each candidate that cannot have one of the faults."""
        for name, keys in find_spec(study).faults.items():
            for candidate in study.candidates:
                if because := get_fault(name).explain_refusal(study, candidate, keys):
                    yield UserError(
                        f"{name} cannot be tried on {candidate}: {because}",
                        where=f"scenario.{NAME}.faults",
                        remedy="leave this fault or this candidate out",
                    )

    def list_activities(self, point: Point) -> tuple[str, ...]:
        """The users, and all faults of a level."""
        faults = list_parts(str(point.values[FAULT]))
        return ("hammer", *(name_activity(fault) for fault in faults))

    def plan_windows(
        self, study: Study, block: Block, *, tried: bool = False
    ) -> Iterator[WindowPlan]:
        """The windows of a block, all with the fault of its point."""
        rate = block.point.values.get(RATE)
        if rate == MAXIMUM and block.index:
            return  # once is enough: all rates are shares of one number
        for window in super().plan_windows(study, block, tried=tried):
            yield window if rate in (None, MAXIMUM) else replace(
                window, rate_share=float(str(rate).removesuffix("%")) / 100,
                maximum_of=tuple(study.candidates), maximum_at=str(find_maximum(window.point)),
            )  # fmt: skip

    def plan_around(self, study: Study, scene: Scene, window: WindowPlan) -> Iterator[Step]:
        """As around each window of a load; what a fault may have changed is checked, too."""
        level = str(window.point.values[FAULT])
        examines = level != NONE and get_fault(level).examines
        for step in super().plan_around(study, scene, window):
            longer = examines and step.kind == "window"
            yield replace(step, cost=step.cost.add_time(*EXAMINED_S)) if longer else step


PLUGINS = (FailureScenario(),)
