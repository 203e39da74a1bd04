"""What became of each candidate under each fault, in sentences for whoever must choose one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar

from stithy.analysis.analyze import Analysis
from stithy.analysis.effect import Effect
from stithy.registry import plugins
from stithy.report.drawing.points import drop_factor
from stithy.report.findings import FindingKind
from stithy.report.words.wording import CONSERVATIVE, T_INTERVAL
from stithy.scenarios.failure.fault import NONE, FaultKind
from stithy.scenarios.failure.keys import FAULT
from stithy.scenarios.failure.levels import get_fault, list_parts
from stithy.scenarios.failure.survival import Fate, Survival, list_faults, list_survivals
from stithy.statements import Ends, Statement, Styled, join_list, join_parts
from stithy.units import format_measured_duration, format_share
from stithy.validity import make_clause

KIND = "survival"

HOWS = {
    "lost": "lost {count:1 acknowledged deal|# acknowledged deals}",
    "differing": "changed {count:1 acknowledged deal|# acknowledged deals}",
    "returned": "kept {count:1 refused deal|# refused deals}",
}
"""What a candidate did to transactions, by the column of the table `ledger`."""


@dataclass(frozen=True)
class SurvivalFinding:
    """All candidates under all faults, those faults first that lost something; their loads."""

    kind: ClassVar[str] = KIND
    of: tuple[Survival, ...]
    loads: int


def find_survival(analysis: Analysis) -> Iterator[SurvivalFinding]:
    """Find what became of the candidates; nothing in a run without faults."""
    if survivals := list_survivals(analysis):
        order = list_faults(analysis.evidence, survivals)
        loads = {drop_factor(each.point, FAULT) for each in survivals}
        ordered = sorted(survivals, key=lambda each: order.index(each.point))
        yield SurvivalFinding(tuple(ordered), len(loads))


def describe_survival(finding: SurvivalFinding, unit: str) -> str:
    """Say first what was lost, and by whom; without a loss what came of the fault asked about."""
    sentences, faults = [], {each.point for each in finding.of if each.fate is Fate.LOST}
    for point, group in groupby(finding.of, key=lambda each: each.point):
        leading, *others = group
        name = leading.fault
        through = "without a fault" if name == NONE else f"through {name_fault(name)}"
        if finding.loads > 1:
            through += f" {drop_factor(point, FAULT).at(unit)}"
        parts = [describe_one(leading, through), *map(describe_one, others)]
        sentences.append(join_parts(parts, "; "))
    first = max(1, len(faults))
    parts = [join_parts(sentences[:first], "; "), *sentences[first:]]
    ended = [Statement("{said}.", said=part) for part in parts]
    return join_parts([*ended, *_explain_losses_and_bounds(finding)], " ")


def _explain_losses_and_bounds(finding: SurvivalFinding) -> Iterator[Statement]:
    for of in (each for each in finding.of if each.unreadable):
        yield Statement(
            "{candidate} lost the database: it could not be read after {fault}: {because}.",
            candidate=of.candidate, fault=name_fault(of.fault),
            because=make_clause(of.because or "no reason is known"),
        )  # fmt: skip
    proven = [of for of in finding.of if of.fate is Fate.KEPT and of.counted]
    written = [of.pause for of in proven if of.is_paused is not False]
    written += [of.degraded for of in proven if any(_describe_degraded(of))]
    kinds = []
    for is_plain, kind in ((True, f"plain {T_INTERVAL}"), (False, CONSERVATIVE)):
        if counts := [of.pairs for of in written if of.plain is is_plain and of.low is not None]:
            kinds.append(Statement(f"{kind} intervals of {{windows}} valid windows",
                                   windows=Ends(min(counts), max(counts))))  # fmt: skip
    if kinds:
        yield Statement("Bounds are {kinds}.", kinds=join_list(kinds))


def name_fault(name: str) -> str:
    """Name a fault in a sentence; by its name where nobody declares it any more."""
    known = set(list_parts(name)) <= set(plugins(FaultKind))
    return get_fault(name).text if known else name


def describe_one(of: Survival, through: str = "") -> Statement:
    """Say what became of a candidate; `through`: the fault, where it was not said just before."""
    # A value of a factor may have braces, which are none of the template's.
    at = f" {through}".replace("{", "{{").replace("}", "}}") if through else ""
    if of.fate is Fate.UNREACHED:
        return Statement(
            f"{{candidate}} was not measured{at or ' under it'}", candidate=of.candidate
        )
    if of.fate is Fate.LOST:
        return _describe_loss(of, at)
    if of.fate is Fate.UNPROVEN:
        because = f" ({make_clause(of.because)})" if of.because else ""
        template = f"{{candidate}} is not proven to have kept every commit{at}"
        what = "no whole ledger was compared after it"
        if of.unchecked == of.windows:
            what = "its files could not be checked"
        return Statement(f"{template}: {what}{{because}}", candidate=of.candidate,
                         because=because)  # fmt: skip
    return Statement(
        f"{{candidate}} kept every commit{at}{write_part(of)}{{felt}}", candidate=of.candidate,
        compared=of.compared, windows=of.windows, felt=_describe_felt(of), point=str(of.point),
    )  # fmt: skip


def write_part(of: Survival) -> str:
    """Write the part of a template that says in which windows it is proven, where not in all."""
    return "" if of.compared == of.windows else " in {compared} of {windows:+window}"


def list_losses(of: Survival) -> list[Statement]:
    """List what a candidate lost or changed, each as what it did."""
    parts = [Statement(HOWS[gone.how].replace("deal", gone.deal), count=gone.count, how=gone.how,
                       deal=gone.deal) for gone in of.gone]  # fmt: skip
    if of.unreadable:
        parts.append(Statement("lost the database"))
    if of.damaged:
        parts.append(Statement("damaged the database"))
    if of.broken:
        parts.append(Statement("broke consistency conditions"))
    return parts or [Statement("counted other work than it had acknowledged")]


def _describe_loss(of: Survival, at: str) -> Statement:
    promise = {
        True: ", although it promises to survive that",
        None: "",
        False: ", which it does not promise to survive",
    }[of.promised]
    within = " in {lost} of {windows:+window}" if of.windows > 1 else ""
    return Statement(
        f"{{candidate}} {{losses}}{at}{within}{promise}", candidate=of.candidate,
        losses=join_list(list_losses(of)), lost=of.lost, windows=of.windows, point=str(of.point),
    )  # fmt: skip


def _describe_felt(of: Survival) -> str:
    if not of.counted:
        return "; no window of it is valid, so its pause is not known"
    pauses = []
    if of.pause.value is not None and of.is_paused is False:
        same = "no noticeably longer pause ({value:measured})"
        pauses.append(Statement(same, value=of.pause.value))
    elif of.pause.value is not None:
        pauses.append(Statement("a pause of {pause}", pause=write_effect(of.pause, write_time)))
    parts = [*pauses, *_describe_degraded(of)]
    return join_parts([", with ", join_list(parts)], "") if parts else ""


def _describe_degraded(of: Survival) -> Iterator[Statement]:
    effect = of.degraded
    if effect.ratio is None or of.degraded_s is None or effect.distinguishable is False:
        return
    less = effect.ratio < 1
    ends = [end for end in (effect.low, effect.high) if end is not None]
    shares = [abs(1 - effect.ratio), *sorted(abs(1 - end) for end in ends)]
    yield Statement(
        f"{{share}} {'less' if less else 'more'} throughput for {{lasted:measured}}",
        share=write_bounded(shares, format_share), lasted=of.degraded_s,
    )  # fmt: skip


def write_time(seconds: float) -> str:
    """Write a time; an interval may reach below 0, and no time does."""
    return format_measured_duration(max(0.0, seconds))


def write_effect(effect: Effect, write: Callable[[float], str]) -> Statement | None:
    """Write a value with its interval, its unit once: `4.10 s (3.60 to 4.70)`; None without."""
    ends = [end for end in (effect.value, effect.low, effect.high) if end is not None]
    return write_bounded(ends, write) if ends else None


def write_bounded(ends: Sequence[float], write: Callable[[float], str]) -> Statement:
    """The same of a value and its bounds, if there are any."""
    texts = [write(end) for end in ends]
    units = {text.partition(" ")[2] for text in texts}
    unit = f" {units.pop()}" if len(units) == 1 else ""
    short = [text.removesuffix(unit) if index else text for index, text in enumerate(texts)]
    values = dict(zip(("value", "low", "high"), map(Styled, ends, short), strict=False))
    return Statement("{value} ({low} to {high})" if len(values) == 3 else "{value}", **values)


PLUGINS = (FindingKind(KIND, describe_survival, lead=find_survival),)
