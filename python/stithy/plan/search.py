"""What a search for users is as steps: the windows of a level that it tries, and what it may cost.

Which level comes next only the windows can say, so a plan holds the search and none of its windows.
"""

from collections.abc import Sequence
from dataclasses import replace

from stithy.plan.expand import around
from stithy.plan.order import blocks
from stithy.plan.steps import Plan, Step, WindowPlan
from stithy.registry import plugins
from stithy.search import Search
from stithy.study.model import Study

ENDS = 2
"""The ends of a bracket, each of which is measured a second time."""


def tried(
    study: Study, plan: Plan, steps: Sequence[Step], users: int, candidates: Sequence[str]
) -> tuple[WindowPlan, ...]:
    """The windows of these candidates at a level, in an order drawn from the seed.

    `steps` are all that the run has so far: windows of a level that was measured before are its
    next block. All draws are those of any other block of that level and number.
    """
    known = [step.window.block for step in steps if step.window and step.window.users == users]
    index = max(known, default=-1) + 1
    names = list(study.candidates)
    block = blocks(names, [(users, index + 1)], study.seed)[-1]
    windows = plugins("scenario")["load"].windows_of(study, block, tried=True)
    wanted = (window for window in windows if window.candidate in candidates)
    return tuple(replace(window, position=place) for place, window in enumerate(wanted))


def trial(study: Study, plan: Plan) -> tuple[Step, ...]:
    """The steps of one level that every candidate is tried at; none where nothing is searched for.

    All levels cost the same.
    """
    if plan.search is None:
        return ()
    names = list(study.candidates)
    return around(study, tried(study, plan, plan.steps, plan.search.users_most, names))


def windows_most(search: Search) -> int:
    """The most windows of each candidate, where those of a level agree and all are valid."""
    return search.levels_most + ENDS
