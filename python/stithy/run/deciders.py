"""What `analysis` says a run needs next: another block, a block once more, a level of a search.

All of it follows from the study and the results so far, so that a run which is resumed goes on as
if it had never been cut off.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache

from stithy.analysis.analyze import Analysis, judge_run, judge_windows
from stithy.analysis.capacity import WantedLevel, choose_next_windows, list_trials
from stithy.analysis.comparisons import ComparedPair
from stithy.analysis.decision import DecisionStatus, judge_question
from stithy.analysis.evidence import Evidence
from stithy.analysis.verdict import Next
from stithy.plan.additional import (
    Additional,
    find_hopeless,
    list_finished_blocks,
    list_tried,
    repeat_block,
)
from stithy.plan.steps import select_windows
from stithy.point import Point
from stithy.registry import plugins
from stithy.results.files import read_run
from stithy.results.layout import RunDirectory
from stithy.run.activity import StepKind
from stithy.run.deciding import Deciders, Invalid, Judge, QuestionStatus, SoFar
from stithy.run.events import InterimEffect
from stithy.units import format_list

Describe = Callable[[Analysis, DecisionStatus], str]
"""Says in words how the primary question stands."""


def make_deciders(describe: Describe) -> Deciders:
    """Make those of every run; a scheduler is asked after those before it have what they need."""
    return Deciders(
        judge_by(describe), (Repeats(find_invalid), search_further), find_invalid, give_advice
    )


def judge_by(describe: Describe) -> Judge:
    """Make the judge of the primary question, by the windows so far and as a report judges them."""

    def judge(directory: RunDirectory) -> QuestionStatus:
        analysis = judge_run(read_run(directory.root))
        status = judge_question(analysis.evidence)
        return QuestionStatus(
            decided=status.progress.step is Next.DECIDED,
            blocks=status.blocks,
            text=describe(analysis, status),
            is_interim=status.is_interim,
            blocks_needed=status.blocks_needed,
            effect=_read_effect(status.compared),
        )

    return judge


def _read_effect(compared: ComparedPair | None) -> InterimEffect | None:
    """Read the interval that decides; None where there is none, or one that decides nothing."""
    if compared is None:
        return None
    effect, verdict = compared.effect, compared.verdict
    if effect.value is None or effect.low is None or effect.high is None or effect.plain:
        return None
    share, least = 1.0 + verdict.margin_share, verdict.negligible
    none, margin = (1.0, (1.0 / share, share)) if least is None else (0.0, (-least, least))
    bounds = effect.value, effect.low, effect.high
    return InterimEffect(compared.a, compared.b, *bounds, none, margin)


def find_invalid(directory: RunDirectory, windows: Sequence[str]) -> dict[str, str]:
    """Find those of these windows that are invalid, with the flags that make them so.

    A window that was not steady is valid: that is the storage's doing. One that lost what nobody
    promised to keep has told what it can. They are judged as the report judges them: by what this
    machine delivered in any window of the run.
    """
    return {
        window.id: ", ".join(flag.value for flag in window.failures)
        for window in _judge(directory, directory.list_measured()).windows
        if window.id in windows
        and window.failures
        and not any(reason.flag.is_finding for reason in window.reasons)
    }


def give_advice(directory: RunDirectory, windows: Sequence[str]) -> str:
    """Give what the flags of these windows advise, the most frequent two."""
    judged = _judge(directory, directory.list_measured()).windows
    flags = Counter(flag.advice for of in judged if of.id in windows for flag in of.failures)
    return " ".join(text for text, _ in flags.most_common(2))


@lru_cache(maxsize=1)
def _judge(directory: RunDirectory, measured: tuple[str, ...]) -> Evidence:
    """Judge all windows, once as long as no other one is `measured`, however many ask."""
    return judge_windows(read_run(directory.root))


class Repeats:
    """The scheduler that repeats each block with an invalid window once, unless it is hopeless."""

    def __init__(self, invalid: Invalid) -> None:
        """`invalid` is asked of all finished blocks again: later windows show what was due."""
        self._invalid = invalid
        self._sound: list[str] = []

    def __call__(self, so_far: SoFar) -> Additional | None:
        """Ask for the windows of the first such block once more, between blocks."""
        blocks = [*list_finished_blocks(so_far.steps, so_far.done)]
        windows = [window.id for block in blocks for window in block]
        if windows == self._sound:
            return None
        every = select_windows(so_far.steps)
        over = [window for window in every if window.id in so_far.done]
        inside = over[-1].point, over[-1].block
        if any((of.point, of.block) == inside and of.id not in so_far.done for of in every):
            return None
        found = self._invalid(so_far.directory, [window.id for window in over])
        hopeless = find_hopeless(over, found)
        for block in blocks:
            listed = [f"{of.id} ({found[of.id]})" for of in block
                      if of.id in found and (of.candidate, of.point) not in hopeless]  # fmt: skip
            if listed:
                because = "the block is measured a second time, because this is invalid"
                last = over[-1].id
                return Additional(last, repeat_block(block), f"{because}: {', '.join(listed)}")
        self._sound = windows
        return None


def search_further(so_far: SoFar) -> Additional | None:
    """Ask for the windows that a search wants next, once all others were measured."""
    search, study = so_far.plan.search, so_far.file.study
    if search is None or so_far.has_windows_left:
        return None
    windows = select_windows(so_far.steps)
    evidence = _judge(so_far.directory, so_far.directory.list_measured())
    were_tried = {window.id for window in windows if window.tried}
    if not were_tried <= {window.id for window in evidence.windows}:
        # One of them cannot be read: trying it again would not make it better.
        return None
    unfinished: dict[Point, WantedLevel] = {}
    for setting, _ in study.settings:
        here = evidence.at_setting(setting)
        trials = {name: list_trials(here, name, search) for name in study.candidates}
        if (further := choose_next_windows(trials, search)) is not None:
            unfinished[setting] = further
    if not unfinished:
        return None
    # Of several searches the one that is behind: so they meet the same drift.
    setting = min(unfinished, key=lambda setting: unfinished[setting].level)
    wanted = unfinished[setting]
    point = setting.at_level(wanted.level)
    added = list_tried(study, so_far.steps, point, wanted.candidates)
    earlier = [window.id for window in windows] or [
        step.id for step in so_far.steps if plugins(StepKind)[step.kind].phase == "copying"
    ]
    is_again = point in {window.point for window in windows}
    level = f"{wanted.level:,} user{'' if wanted.level == 1 else 's'}"
    where = f" with {setting.in_words()}" if setting.factors else ""
    because = (
        f"the search {'measures' if is_again else 'tries'} {level}{where} {'again ' * is_again}on "
        f"{format_list(wanted.candidates)}"
    )
    return Additional(earlier[-1], added, because)
