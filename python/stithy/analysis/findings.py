"""What a run says, as values: the comparison that answers the question, then what explains it.

A finding holds numbers and names; `report.findings` has its sentence, by its `kind`, and those
findings on which nothing else rests. No finding rests on an invalid window.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stithy.analysis.bottlenecks.judge import Cause, Limited
from stithy.analysis.capacity import CapacityFinding, count_users_within, find_capacities
from stithy.analysis.comparisons import ComparedPair, compare_levels, compare_primary, find_causes
from stithy.analysis.effect import Effect
from stithy.analysis.evidence import Evidence
from stithy.analysis.verdict import Verdict, find_farthest_pair
from stithy.metrics import P95, Quantity
from stithy.point import Point
from stithy.search import ResponseTarget
from stithy.statements import Statement, join_parts
from stithy.validity import Flag

MAIN = 3
"""Own: as many as a person keeps in mind; printed at the end of a run and on top of the page."""


@dataclass(frozen=True)
class Comparison:
    """Candidate `b` against `a` at one level; `value_a`, `value_b` are means or medians.

    `verdict` is that on `b`. `instead_of` is the level that
    was asked about, where it has no block in which both are valid. `limits`: what limited the two,
    of the comparison that answers the question alone; empty where nothing shows it. `flags`: what
    disturbed their windows by so much that the interval includes it. `meets`: which of the two meet
    the response-time target of the study at the point; empty if it has none, or one is not known.
    """

    kind: ClassVar[str] = "comparison"
    metric: Quantity
    a: str
    b: str
    point: Point
    value_a: float | None
    value_b: float | None
    effect: Effect
    verdict: Verdict
    instead_of: Point | None = None
    limits: "Limits | None" = None
    flags: tuple[Flag, ...] = ()
    target: ResponseTarget | None = None
    meets: tuple[tuple[str, bool], ...] = ()

    @property
    def is_floor(self) -> bool:
        """Whether CPUs were full, so that better storage might have shown a larger ratio.

        Of throughputs alone: response times grow with the load of a CPU, and have no such bound.
        """
        full = self.limits is not None and bool(self.limits.full)
        return full and self.metric.known.source == "window"


@dataclass(frozen=True)
class Alone:
    """What a single candidate reached at its highest valid level, `windows` of them.

    `limits`: what limited it; None where nobody asked, empty where nothing shows it.
    """

    kind: ClassVar[str] = "alone"
    candidate: str
    point: Point
    metric: Quantity
    value: float
    p95_s: float | None
    windows: int
    limits: "Limits | None" = None


@dataclass(frozen=True)
class Limits:
    """What limited each candidate at a level, by its valid windows there.

    `is_open`: the load was an open loop, in which a rate is asked for. `ahead`: who was shown to do
    more than another; a limit of its throughput hides nothing but how much more.
    """

    kind: ClassVar[str] = "limits"
    point: Point
    of: tuple[tuple[str, Cause], ...]
    is_open: bool = False
    ahead: str | None = None

    @property
    def full(self) -> tuple[tuple[str, Cause], ...]:
        """Those whose CPUs were so busy that faster storage could hardly show."""
        return tuple((name, cause) for name, cause in self.of if cause.is_full)

    def only(self, *names: str) -> "Limits":
        """The same of these candidates alone."""
        of = tuple((name, cause) for name, cause in self.of if name in names)
        return replace(self, of=of)


@dataclass(frozen=True)
class LimitedCapacity(CapacityFinding):
    """How many users each candidate serves, and what limited them at the highest common level."""

    limits: Limits | None = None


@dataclass(frozen=True)
class Nothing:
    """There is nothing to say, and why."""

    kind: ClassVar[str] = "nothing"
    because: str


Finding = Comparison | CapacityFinding | Alone | Limits | Nothing


def list_findings(
    evidence: Evidence, limited: Mapping[str, Limited] | None, target: ResponseTarget | None = None
) -> tuple[Finding, ...]:
    """All findings, the most important first; the first answers the study's question.

    `limited`: what limited each window, by its id; may be empty. None where nobody asks that.
    `target`: the response-time target of the study.
    Own: the primary question, how many users are served where that was searched for, the same pair
    by the other metric, what limited.
    """
    answer, found = _make_answer(evidence), find_capacities(evidence)
    limits = None if limited is None else find_limits(evidence, limited)
    others = [each for each in found if each != answer]
    answer = _add_target(evidence, answer, target)
    answer = answer if limited is None else _add_limits(answer, limits)
    rest: list[Finding | None] = [*others, _compare_other_metric(evidence, answer), limits]
    return (answer, *(finding for finding in rest if finding is not None))


def _add_target(evidence: Evidence, answer: Finding, target: ResponseTarget | None) -> Finding:
    if not isinstance(answer, Comparison) or target is None:
        return answer
    level, meets = answer.point.level, []
    for name in (answer.a, answer.b):
        within = count_users_within(evidence, name, target)
        if within.level is not None and within.level >= level:
            meets.append((name, True))
        elif within.not_at is not None and within.not_at <= level:
            meets.append((name, False))
    return replace(answer, target=target, meets=tuple(meets)) if len(meets) == 2 else answer


def _add_limits(answer: Finding, limits: Limits | None) -> Finding:
    if isinstance(answer, Comparison):
        names: tuple[str, ...] = (answer.a, answer.b)
    elif isinstance(answer, Alone):
        names = (answer.candidate,)
    elif isinstance(answer, CapacityFinding):
        here = limits is not None and answer.setting in (None, Point(limits.point.others))
        of = (answer.search, answer.of, answer.most, answer.setting)
        return LimitedCapacity(*of, limits) if here else answer
    else:
        return answer
    known = limits is not None and limits.point == answer.point
    return replace(
        answer, limits=limits.only(*names) if limits and known else Limits(answer.point, ())
    )


def answer_question(evidence: Evidence) -> ComparedPair | None:
    """The comparison that answers the study's question; None where nothing can be compared.

    None, too, where the question is who serves more users: brackets answer that.

    Own: the pair that was asked about, else the slowest and the fastest candidate, at the level
    that was asked about; where that has no valid block, at the highest of the others that has.
    """
    if evidence.primary.by_search:
        return None
    asked = _find_level(evidence) if evidence.levels else None
    for point in sorted(evidence.levels, key=lambda each: (each == asked, each), reverse=True):
        if (pair := _choose_pair(evidence, point)) is not None:
            return compare_primary(evidence, *pair, point)
    return None


def choose_answer_level(evidence: Evidence) -> Point | None:
    """The level at which candidates are reported side by side; None where no window is valid.

    Own: that of the question's answer; without one the level that was asked about or else the
    highest, where as many candidates as anywhere have a valid window.
    """
    if (answered := answer_question(evidence)) is not None:
        return answered.point
    valid = {
        point: sum(bool(evidence.valid_at(name, point)) for name in evidence.candidates)
        for point in evidence.levels
    }
    most = max(valid.values(), default=0)
    known = [point for point, candidates in valid.items() if candidates == most > 0]
    return max(known, key=lambda point: (point == evidence.primary.point, point), default=None)


def _find_level(evidence: Evidence) -> Point:
    return evidence.primary.point or max(evidence.levels)


def _make_comparison(evidence: Evidence, compared: ComparedPair) -> Comparison:
    a, b, point, metric = compared.a, compared.b, compared.point, compared.metric
    return Comparison(
        metric, a, b, point,
        evidence.level_of(a, point, metric), evidence.level_of(b, point, metric),
        compared.effect, compared.verdict,
        None if point == _find_level(evidence) else _find_level(evidence),
        flags=tuple(dict.fromkeys(
            reason.flag for name in (a, b) for window in evidence.valid_at(name, point)
            for reason in window.reasons if reason.delay_share
        )),
    )  # fmt: skip


def _make_answer(evidence: Evidence) -> Finding:
    if not evidence.windows:
        return Nothing("the run has no window yet")
    is_compared = len(evidence.candidates) > 1 and not evidence.primary.by_search
    if not is_compared and (found := find_capacities(evidence)):
        return found[0]
    if len(evidence.candidates) == 1:
        return _make_alone(evidence)
    if (answered := answer_question(evidence)) is not None:
        return _make_comparison(evidence, answered)
    if not any(window.valid for window in evidence.windows):
        return _explain_none_valid(evidence)
    pair = evidence.primary.pair or (evidence.candidates[0], evidence.candidates[-1])
    return _make_comparison(evidence, compare_primary(evidence, *pair, _find_level(evidence)))


def _explain_none_valid(evidence: Evidence) -> Nothing:
    """Nothing to say, with what made the windows invalid, the most frequent first, and how."""
    flags = Counter(flag for window in evidence.windows for flag in {*window.failures})
    counts = sorted(flags.items(), key=lambda each: (-each[1], each[0].value))
    if not counts:
        return Nothing("no window is valid")
    shown = [
        Statement("{failed_by} by “{flag}”", failed_by=count, flag=flag.value)
        for flag, count in counts
    ]
    reasons = [reason for window in evidence.windows for reason in window.reasons]
    first = (next(each for each in reasons if each.flag == flag) for flag, _ in counts[:2])
    *others, last = (reason.sentence for reason in first)
    last = Statement(last.template.rstrip("."), **last.values)
    return Nothing(Statement(
        "no window is valid ({counts}). {because}", counts=join_parts(shown),
        because=join_parts([*others, last], " "),
    ))  # fmt: skip


def _choose_pair(evidence: Evidence, point: Point) -> tuple[str, str] | None:
    """The candidates that are compared at a level; None where no block of it has both.

    Own: in the order of the study, so that all metrics are reported in one direction.
    """
    metric = evidence.primary.metric
    values = {
        name: value
        for name in evidence.candidates
        if (value := evidence.level_of(name, point, metric)) is not None
    }
    pair = evidence.primary.pair or find_farthest_pair(values)
    if pair is not None and evidence.primary.pair is None:
        first, second = sorted(pair, key=evidence.candidates.index)
        pair = first, second
    known = pair is not None and evidence.effect(*pair, point, metric).value is not None
    return pair if known else None


def _make_alone(evidence: Evidence) -> Finding:
    name = evidence.candidates[0]
    asked = evidence.primary.metric
    metric = asked if asked.known.source == "values" else evidence.throughput
    for point in reversed(evidence.levels):
        value = evidence.level_of(name, point, metric)
        if value is not None:
            p95_s = evidence.printable_level(name, point, "response_p95_s")
            return Alone(name, point, metric, value, p95_s, len(evidence.valid_at(name, point)))
    if not any(window.valid for window in evidence.windows):
        return _explain_none_valid(evidence)
    # Nothing to say, though windows are valid: why the highest of them has no value.
    valid = (each for point in reversed(evidence.levels) for each in evidence.valid_at(name, point))
    reasons = [evidence.value_of(window, metric).missing_because for window in valid]
    if not reasons:
        return Nothing("no window is valid where the question is asked")
    because = next((reason for reason in reasons if reason), None)
    return Nothing(f"{metric.noun} is missing{f' ({because})' if because else ''}")


def _compare_other_metric(evidence: Evidence, answer: Finding) -> Finding | None:
    if not isinstance(answer, Comparison) or answer.metric.known.source == "values":
        return None
    other = P95 if answer.metric.known.source == "window" else evidence.throughput
    levels = compare_levels(evidence, answer.a, answer.b, other)
    shown = next(
        _make_comparison(evidence, level) for level in levels if level.point == answer.point
    )
    known = shown.value_a is not None and shown.value_b is not None
    # Without a common block neither says more than the answer.
    told = any(each.effect.value is not None for each in (answer, shown))
    return shown if known and told else None


def find_limits(evidence: Evidence, limited: Mapping[str, Limited]) -> Limits | None:
    """What limited each candidate at the level of the answer.

    Own: by the valid windows, without what a verdict refutes; None where none was watched.
    """
    if (point := choose_answer_level(evidence)) is None:
        return None
    found = find_causes(evidence, limited, point)
    if not found.of:
        return None
    windows = evidence.valid_at(found.of[0][0], point)
    return Limits(point, found.of, windows[0].row["pace"] == "rate", found.ahead)
