"""Windows that are decided while a study runs: which they are, after which step, and why.

A plan is made from the study alone. What was measured may ask for more, and what it asks for is a
value, too: from the study, its plan and these values the same steps follow whenever somebody asks.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from stithy.plan.expand import around
from stithy.plan.steps import Plan, Step, WindowPlan
from stithy.study.model import Study


@dataclass(frozen=True)
class Further:
    """Windows that come next after the step with the id `after`; `because` says why, in words.

    `after` may be a step of the plan or a further one. Of several that come after the same step,
    those that were decided first come first.
    """

    after: str
    windows: tuple[WindowPlan, ...]
    because: str


def steps_of(study: Study, plan: Plan, further: Sequence[Further]) -> tuple[Step, ...]:
    """The steps of the plan, with those of further windows where they belong.

    Raises ValueError for windows that come after a step that there is not, or that there are
    already.
    """
    if not further:
        return plan.steps
    behind: dict[str, list[Step]] = {}
    for each in further:
        behind.setdefault(each.after, []).extend(around(study, each.windows, null=plan.null))
    found = tuple(_with_what_follows(plan.steps, behind))
    if len(found) != len(plan.steps) + sum(map(len, behind.values())):
        lost = set(behind) - {step.id for step in found}
        raise ValueError(f"windows come after what is no step: {', '.join(sorted(lost))}")
    if len({step.id for step in found}) != len(found):
        raise ValueError("a further window has the id of another")
    return found


def _with_what_follows(
    steps: Iterable[Step], behind: Mapping[str, Sequence[Step]]
) -> Iterator[Step]:
    for step in steps:
        yield step
        yield from _with_what_follows(behind.get(step.id, ()), behind)
