"""How a run learns which level its search tries next: `analysis` says it, `plan` makes windows."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stithy.analysis.evidence import Evidence
    from stithy.analysis.search.course import Wanted
    from stithy.plan.further import Further
    from stithy.plan.steps import Step
    from stithy.run.deciding.further import SoFar


def searched(so_far: "SoFar") -> "Further | None":
    """The windows that a search wants next, once all others were measured; None: no further ones.

    It follows from the study and the windows alone, so that a run which is resumed goes on with a
    search as if it had never been cut off.
    """
    from stithy.analysis.search.course import next_wanted
    from stithy.analysis.search.served import trials
    from stithy.plan.further import Further
    from stithy.plan.search import tried
    from stithy.report.context import evidence_of
    from stithy.results.read import read_run

    search, study = so_far.plan.search, so_far.file.study
    if search is None or so_far.has_windows_left:
        return None
    windows = [step for step in so_far.steps if step.kind == "window"]
    evidence = evidence_of(read_run(so_far.directory.root))
    if _is_any_lost(windows, evidence):
        return None
    known = {name: trials(evidence, name, search) for name in study.candidates}
    if (wanted := next_wanted(known, search)) is None:
        return None
    found = tried(study, so_far.plan, so_far.steps, wanted.users, wanted.candidates)
    after = windows[-1].id if windows else _before_windows(so_far)
    measured = wanted.users in {step.window.users for step in windows if step.window}
    return Further(after, found, _because(wanted, again=measured))


def _is_any_lost(windows: "Sequence[Step]", evidence: "Evidence") -> bool:
    """Whether a window that was tried cannot be read: trying again would not make it better."""
    known = {window.id for window in evidence.windows}
    tried = {step.id for step in windows if step.window and step.window.tried}
    return not tried <= known


def _before_windows(so_far: "SoFar") -> str:
    """The step after which windows may begin, where the plan has none."""
    return next(step.id for step in so_far.steps if step.kind == "snapshot")


def _because(wanted: "Wanted", *, again: bool) -> str:
    """What the search asks for, in words."""
    from stithy.report.words.wording import listing, plural

    level, names = plural(wanted.users, "user"), listing(wanted.candidates)
    return f"the search {'measures' if again else 'tries'} {level} {'again ' * again}on {names}"
