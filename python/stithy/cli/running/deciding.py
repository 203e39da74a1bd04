"""Who decides what a run measures next: `analysis` judges, `report` says it, `plan` makes windows.

All of it follows from the study and the results so far, so that a run which is resumed goes on as
if it had never been cut off.
"""

from collections.abc import Sequence

from stithy.analysis.answers.findings import decision_status
from stithy.analysis.evidence import Evidence
from stithy.analysis.search.bracket import Wanted, next_wanted
from stithy.analysis.search.capacity import capacity_finding, trials
from stithy.analysis.verdict.decide import DIFFERENT, Next
from stithy.plan.additional import Additional, tried
from stithy.plan.steps import Step
from stithy.registry import plugins
from stithy.report.context import Context, context_of, evidence_of
from stithy.report.parts.certainty import state_sentence
from stithy.report.words.wording import listing, plural
from stithy.results.layout import RunDirectory
from stithy.results.read import read_run
from stithy.run.deciding import Deciders, Repeats, SoFar, Status


def deciders() -> Deciders:
    """Those of every run; a scheduler is asked after those before it have what they need."""
    return Deciders(status, (Repeats(invalid), searched))


def status(directory: RunDirectory) -> Status:
    """How the primary question stands, by the windows so far and as the report will judge them."""
    context = context_of(read_run(directory.root))
    stands = decision_status(context.evidence)
    return Status(
        decided=stands.progress.step is Next.DECIDED,
        blocks=stands.blocks,
        text=state_sentence(context, stands),
        is_interim=stands.is_interim,
        blocks_needed=stands.blocks_needed,
    )


def invalid(directory: RunDirectory, windows: Sequence[str]) -> dict[str, str]:
    """Those of these windows that the report will call invalid, with the flags that make them so.

    A window that was not steady is valid: that is the storage's doing.
    """
    evidence = evidence_of(read_run(directory.root, windows))
    return {
        window.id: ", ".join(flag.value for flag in window.failures)
        for window in evidence.windows
        if window.failures
    }


def searched(so_far: SoFar) -> Additional | None:
    """The windows that a search wants next, once all others were measured; None: no others."""
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
    measured = wanted.users in {step.window.point.users for step in windows if step.window}
    return Additional(after, found, _because(wanted, again=measured))


def answered(context: Context) -> bool:
    """Whether the measurement supports what it was made for.

    A comparison needs a block in which both are valid, at the level that is asked about; a single
    candidate a valid window; a search alone a level of each candidate that says something; and a
    null study must not find a difference.
    """
    found = capacity_finding(context.evidence) if context.evidence.primary.by_search else None
    if found is not None:
        return all(each.low or each.high for each in found.of)
    if len(context.evidence.candidates) < 2:
        return any(window.valid for window in context.evidence.windows)
    stands = decision_status(context.evidence)
    if context.is_null and stands.progress.verdict.call in DIFFERENT:
        return False
    return stands.blocks > 0


def _is_any_lost(windows: Sequence[Step], evidence: Evidence) -> bool:
    """Whether a window that was tried cannot be read: trying again would not make it better."""
    known = {window.id for window in evidence.windows}
    were_tried = {step.id for step in windows if step.window and step.window.tried}
    return not were_tried <= known


def _before_windows(so_far: SoFar) -> str:
    """The step after which windows may begin, where the plan has none."""
    return next(step.id for step in so_far.steps if plugins("step")[step.kind].PHASE == "copying")


def _because(wanted: Wanted, *, again: bool) -> str:
    """What the search asks for, in words."""
    level, names = plural(wanted.users, "user"), listing(wanted.candidates)
    return f"the search {'measures' if again else 'tries'} {level} {'again ' * again}on {names}"
