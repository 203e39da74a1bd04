"""Windows that are decided while a study runs: which they are, after which step, and why.

A plan is made from the study alone. What was measured may ask for more. A block with an invalid
window is measured once more: the whole block, as candidates are compared only if they were measured
back to back; in the same order and from the same seed, so that it stands for the block that was
drawn; and once, as what fails twice will fail again. A search tries another level. Both are values:
from the study, its plan and these values the same steps follow whenever somebody asks.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from stithy.plan.expand import surround_groups
from stithy.plan.scenario import find_scenario
from stithy.plan.steps import Plan, Step, WindowPlan, block, make_window_id, select_windows
from stithy.point import Point
from stithy.search import Search
from stithy.study.model import Study


@dataclass(frozen=True)
class Additional:
    """Windows that come next after the step with the id `after`; `because` says why, in words.

    `after` may be a step of the plan or an additional one. Of several that come after the same
    step, those that were decided first come first.
    """

    after: str
    windows: tuple[WindowPlan, ...]
    because: str


def list_steps(study: Study, plan: Plan, additional: Sequence[Additional]) -> tuple[Step, ...]:
    """The steps of the plan, with those of additional windows where they belong.

    Raises ValueError for windows that come after a step that there is not, or that there are
    already.
    """
    if not additional:
        return plan.steps
    behind: dict[str, list[Step]] = {}
    around = surround_groups(study, [one.windows for one in additional], null=plan.null)
    for one, steps in zip(additional, around, strict=True):
        behind.setdefault(one.after, []).extend(steps)
    found = tuple(_add_followers(plan.steps, behind))
    if len(found) != len(plan.steps) + sum(map(len, behind.values())):
        lost = set(behind) - {step.id for step in found}
        raise ValueError(f"windows come after what is no step: {', '.join(sorted(lost))}")
    if len({step.id for step in found}) != len(found):
        raise ValueError("an additional window has the id of another")
    return found


def _add_followers(steps: Iterable[Step], behind: Mapping[str, Sequence[Step]]) -> Iterator[Step]:
    for step in steps:
        yield step
        yield from _add_followers(behind.get(step.id, ()), behind)


Block = tuple[WindowPlan, ...]
"""The windows of one block in their order."""


def list_finished_blocks(steps: Iterable[Step], done: Collection[str]) -> Iterator[Block]:
    """The blocks whose windows are all over, without those of which a second attempt is known.

    Nor are the windows of a search among them: it compares nobody within a block, and measures
    those that say nothing again by itself.
    """
    windows = [window for window in select_windows(steps) if not window.tried]
    repeated = {(window.point, window.block) for window in windows if window.attempt}
    blocks: dict[tuple[Point, int], list[WindowPlan]] = {}
    for window in windows:
        blocks.setdefault((window.point, window.block), []).append(window)
    for key, each in blocks.items():
        if key not in repeated and all(window.id in done for window in each):
            yield tuple(each)


def repeat_block(block: Block) -> Block:
    """The same windows in the same order from the same seed, as the block's second attempt."""
    return tuple(
        replace(
            each, id=make_window_id(each.candidate, each.point, each.block, attempt=1), attempt=1
        )
        for each in block
    )


FUTILE_BLOCKS = 3
"""Own: each was measured twice, so one that a passing disturbance hit is not among them."""


def find_hopeless(
    windows: Iterable[WindowPlan], invalid: Collection[str]
) -> dict[tuple[str, Point], list[str]]:
    """Find who has no valid window at a point, in `FUTILE_BLOCKS` that were measured twice.

    By candidate and point, with the ids of the windows. `windows`: all that were measured.
    """
    known: dict[tuple[str, Point], list[WindowPlan]] = {}
    for window in windows:
        known.setdefault((window.candidate, window.point), []).append(window)
    return {
        setting: [window.id for window in own] for setting, own in known.items()
        if sum(window.attempt for window in own) >= FUTILE_BLOCKS
        and all(window.id in invalid for window in own)
    }  # fmt: skip


ENDS = 2
"""The ends of a bracket, each of which is measured a second time."""


def list_tried(
    study: Study, steps: Sequence[Step], point: Point, candidates: Sequence[str]
) -> tuple[WindowPlan, ...]:
    """The windows of these candidates at a point, in an order drawn from the seed.

    `steps` are all that the run has so far: windows of a level that was measured before are its
    next block. All draws are those of any other block of that level and number.
    """
    known = [step.window.block for step in steps if step.window and step.window.point == point]
    drawn = block(list(study.candidates), point, max(known, default=-1) + 1, study.seed)
    windows = find_scenario(study).plan_windows(study, drawn, tried=True)
    wanted = (window for window in windows if window.candidate in candidates)
    return tuple(replace(window, position=place) for place, window in enumerate(wanted))


def plan_trial(study: Study, plan: Plan) -> tuple[Step, ...]:
    """The steps of one level that every candidate is tried at, at every setting of what varies.

    None where nothing is searched for. All levels cost the same.
    """
    if plan.search is None:
        return ()
    names, most = list(study.candidates), plan.search.users_most
    levels = [setting.at_level(most) for setting, _ in study.settings]
    windows = [window for level in levels for window in list_tried(study, plan.steps, level, names)]
    [steps] = surround_groups(study, [windows])
    return steps


def count_windows_most(search: Search) -> int:
    """The most windows of each candidate at a setting, where levels agree and all are valid."""
    return search.levels_most + ENDS
