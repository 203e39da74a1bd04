"""Asking, while a run goes on, whether what was measured so far needs further windows.

Who judges that is not known here: `analysis` does, and the command line hands its advisers in. What
they ask for is journalled before anything of it is done; a run that is resumed reads it there, and
asks anew, so that nothing is lost that was measured and not yet judged.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from stithy.plan.further import Further, steps_of
from stithy.plan.steps import Plan, Step, WindowPlan
from stithy.results.layout import RunDirectory
from stithy.run.journal import Journal
from stithy.study.load import StudyFile

ADDED = "windows-added"
"""The journal's event for them."""


@dataclass(frozen=True)
class SoFar:
    """A run until now: its study and plan, the further windows by now, and its results.

    `done` holds the ids of all windows that are measured or left out, and may hold those of other
    steps.
    """

    directory: RunDirectory
    file: StudyFile
    plan: Plan
    further: tuple[Further, ...]
    done: frozenset[str]

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps in their order, done or not."""
        return steps_of(self.file.study, self.plan, self.further)

    @property
    def has_windows_left(self) -> bool:
        """Whether any window that is known by now is still to be measured."""
        return any(step.kind == "window" and step.id not in self.done for step in self.steps)


Adviser = Callable[[SoFar], Further | None]
"""Which windows come next for what was measured; None: none. Asked again until it has none.

It follows from what it is given alone, and asks for no window that is there already. A seam: tests
hand in one that asks for what they like.
"""


def ask(so_far: SoFar, advisers: Sequence[Adviser], journal: Journal) -> tuple[Further, ...]:
    """All further windows with those that are decided now, which are written down."""
    for further in _asked(so_far, advisers):
        journal.write(ADDED, **_facts(further))
        so_far = replace(so_far, further=(*so_far.further, further))
    return so_far.further


def _asked(so_far: SoFar, advisers: Sequence[Adviser]) -> Iterator[Further]:
    """What the advisers ask for, one after the other, each with what was asked for before."""
    for adviser in advisers:
        while (further := adviser(so_far)) is not None:
            so_far = replace(so_far, further=(*so_far.further, further))
            yield further


def _facts(further: Further) -> dict[str, Any]:
    return {
        "after": further.after,
        "because": further.because,
        "windows": [asdict(window) for window in further.windows],
    }


def further_from(facts: Mapping[str, Any]) -> Further:
    """What the journal tells of further windows. Raises KeyError or TypeError where it lacks."""
    windows = tuple(WindowPlan(**each) for each in facts["windows"])
    return Further(facts["after"], windows, facts["because"])
