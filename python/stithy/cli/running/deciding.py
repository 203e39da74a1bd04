"""Who decides what a run measures next: `analysis` judges, `report` says it, `plan` makes windows.

All of it follows from the study and the results so far, so that a run which is resumed goes on as
if it had never been cut off.
"""

from collections import Counter
from collections.abc import Sequence

from stithy.analysis.answers.findings import decision_status
from stithy.analysis.evidence import Evidence
from stithy.analysis.search.bracket import Wanted, next_wanted
from stithy.analysis.search.capacity import capacity_findings, trials
from stithy.analysis.verdict.decide import DIFFERENT, Next
from stithy.plan.additional import Additional, tried
from stithy.point import Point
from stithy.registry import plugins
from stithy.report.context import Context, context_of, evidence_of
from stithy.report.parts.certainty import state_sentence
from stithy.report.words.wording import listing, plural
from stithy.results.layout import RunDirectory
from stithy.results.read import read_run
from stithy.run.activity import StepKind
from stithy.run.deciding import Deciders, Repeats, SoFar, Status
from stithy.search import Search
from stithy.study.model import Study


def deciders() -> Deciders:
    """Those of every run; a scheduler is asked after those before it have what they need."""
    return Deciders(status, (Repeats(invalid), searched), invalid, advice)


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


def advice(directory: RunDirectory, windows: Sequence[str]) -> str:
    """What the flags of these windows advise, the most frequent two."""
    evidence = evidence_of(read_run(directory.root, windows))
    flags = Counter(flag.advice for window in evidence.windows for flag in window.failures)
    return " ".join(text for text, _ in flags.most_common(2))


def searched(so_far: SoFar) -> Additional | None:
    """The windows that a search wants next, once all others were measured; None: no others."""
    search, study = so_far.plan.search, so_far.file.study
    if search is None or so_far.has_windows_left:
        return None
    windows = [step for step in so_far.steps if step.kind == "window"]
    evidence = evidence_of(read_run(so_far.directory.root))
    were_tried = {step.id for step in windows if step.window and step.window.tried}
    if not were_tried <= {window.id for window in evidence.windows}:
        # One of them cannot be read: trying it again would not make it better.
        return None
    every = {setting: _wanted(evidence, setting, search, study) for setting, _ in study.settings}
    known = {setting: wanted for setting, wanted in every.items() if wanted is not None}
    if not known:
        return None
    # Of several searches the one that is behind: so they meet the same drift.
    setting = min(known, key=lambda each: known[each].level)
    wanted = known[setting]
    point = setting.at_level(wanted.level)
    found = tried(study, so_far.steps, point, wanted.candidates)
    after = windows[-1].id if windows else _before_windows(so_far)
    measured = point in {step.window.point for step in windows if step.window}
    level, names = plural(wanted.level, "user"), listing(wanted.candidates)
    where = f" with {setting.in_words()}" if setting.factors else ""
    does = "measures" if measured else "tries"
    because = f"the search {does} {level}{where} {'again ' * measured}on {names}"
    return Additional(after, found, because)


def _wanted(evidence: Evidence, setting: Point, search: Search, study: Study) -> Wanted | None:
    """What the search at a setting of what varies wants next; None where it has ended."""
    here = evidence.at_setting(setting)
    return next_wanted({name: trials(here, name, search) for name in study.candidates}, search)


def answered(context: Context) -> bool:
    """Whether the measurement supports what it was made for.

    A comparison needs a block in which both are valid, at the level that is asked about; a single
    candidate a valid window; a search alone a level of each candidate that says something; and a
    null study must not find a difference.
    """
    found = capacity_findings(context.evidence) if context.evidence.primary.by_search else ()
    if found:
        return all(of.low or of.high for each in found for of in each.of)
    if len(context.evidence.candidates) < 2:
        return any(window.valid for window in context.evidence.windows)
    stands = decision_status(context.evidence)
    if context.is_null and stands.progress.verdict.call in DIFFERENT:
        return False
    return stands.blocks > 0


def _before_windows(so_far: SoFar) -> str:
    """The step after which windows may begin, where the plan has none."""
    copying = [step for step in so_far.steps if plugins(StepKind)[step.kind].phase == "copying"]
    return copying[-1].id
