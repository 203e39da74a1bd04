"""What the windows of a run answer: values, effects, comparisons, findings, thresholds, changes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from stithy.analysis.bottlenecks.judge import Limited, judge
from stithy.analysis.bottlenecks.observation import Cpus
from stithy.analysis.comparisons import (
    compare_levels,
    compare_primary,
    compare_values,
    list_comparisons,
)
from stithy.analysis.decision import Outcome, ThresholdJudgement, judge_question, judge_thresholds
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.findings import (
    Alone,
    Comparison,
    Limits,
    Nothing,
    answer_question,
    list_findings,
)
from stithy.analysis.measures import Measure, Value
from stithy.analysis.verdict import Call, Next, PrimaryComparison, decide
from stithy.metrics import ERROR_SHARE, P95, TPM, Quantity, find_error_share, parse_quantity
from stithy.point import Point
from stithy.report.findings.changes import find_growth
from stithy.search import ResponseTarget
from stithy.thresholds import Constant, MeasuredSide, Threshold
from stithy.validity import Reason
from support import flags
from support.points import at
from support.sample_observation import observed

Row = dict[str, Any]

LATE, ERRORS, AGAIN = map(Reason, (flags.DRIVER_LATE, flags.ERRORS, flags.MEASURED_AGAIN))
SLIGHT = (1.030, 1.034, 1.027, 1.029, 1.033, 1.027)
"""Ratios that six blocks alone just tell from 1."""


def window(
    candidate: str, nopm: float | None, *reasons: Reason, users: int = 4, **row: Any
) -> Window:
    """A window with this throughput and response times to match."""
    place = {"block": 0, "attempt": 0, "position": 0, "tried": False, "pace": "none"}
    made = {
        **place,
        "candidate": candidate,
        "missing_because": None,
        "activity": "hammer",
        "headline_per_min": nopm,
        **row,
    }
    made["point"] = str(Point.of(users=users))
    made["window_id"] = f"{candidate}-{users}-{made['block']}-{made['attempt']}"
    made["tpm"] = None if nopm is None else nopm
    times = {"response_p95_s": 1 / nopm if nopm else None, "committed": 4000, "rolled_back": 1000}
    return Window(made, {"all": times}, reasons)


def run(ratios: Mapping[int, tuple[float, ...]], **fields: Any) -> Evidence:
    """Candidates `a` and `b`, of which `b` does so many times as much in the blocks of a level."""
    windows = tuple(
        window(name, 1000.0 * (ratio if name == "b" else 1.0), users=users, block=block,
               position=int((name == "b") == (block % 2 == 0)))
        for users, each in ratios.items() for block, ratio in enumerate(each) for name in "ab"
    )  # fmt: skip
    return replace(Evidence(("a", "b"), tuple(map(at, ratios)), windows), **fields)


def changed(evidence: Evidence, *gone: str, **reasons: Reason) -> Evidence:
    """The same without some windows, by their ids, and with reasons beside others (`a_4_0_0`)."""
    flagged = {name.replace("_", "-"): reason for name, reason in reasons.items()}
    windows = tuple(
        replace(each, reasons=(flagged[each.id],) if each.id in flagged else each.reasons)
        for each in evidence.windows if each.id not in gone
    )  # fmt: skip
    return replace(evidence, windows=windows)


@pytest.mark.parametrize(("gone", "reasons", "pairs", "because"), [
    ((), {}, 3, None), (("a-4-1-0",), {"b_4_2_0": LATE}, 1, None),
    ((), {f"a_4_{n}_0": ERRORS for n in range(3)}, 0, "no window of a is valid (3 of 3: errors)"),
    ((), {f"a_4_{n}_0": AGAIN for n in range(3)}, 0,
     "no window of a is valid (3 of 3: block measured again)"),
    (("b-4-0-0", "b-4-1-0", "b-4-2-0"), {}, 0, "b has no window"),
    (("a-4-0-0", "b-4-1-0"), {"a_4_2_0": LATE}, 0, "no block has a valid window of both"),
])  # fmt: skip
def test_an_effect_pairs_blocks_with_both(
    gone: tuple[str, ...], reasons: Row, pairs: int, because: str | None
) -> None:
    """A block that lost a window is left out; without any the reason is named."""
    effect = changed(run({4: (2.0, 4.0, 8.0)}), *gone, **reasons).effect("a", "b", at(4), TPM)
    assert (effect.pairs, effect.missing_because) == (pairs, because)
    known = {3: 4.0, 1: 2.0}.get(pairs)
    assert effect.ratio == (None if known is None else pytest.approx(known))
    assert effect.b_later == (True, False, True)[:pairs]


def test_the_value_of_a_level_is_a_mean_of_rates_and_a_percentile_of_merged_values() -> None:
    """Valid windows alone; without merged ones the median; too few values are not printed."""
    whole = run({4: (1.0, 1.0, 2.0)})
    assert whole.level_value("b", at(4), "headline_per_min") == pytest.approx(4000 / 3)
    assert whole.level_value("b", at(4), "response_p95_s") == 1 / 1000
    merged = {("b", at(4)): {"all": {"response_p95_s": 0.7, "response_p99_s": 0.9}}}
    known = replace(whole, merged=merged)
    assert known.level_value("b", at(4), "response_p95_s") == 0.7
    assert known.printable_level("b", at(4), "response_p99_s") == 0.9
    two = changed(known, "b-4-0-0", "b-4-1-0")
    assert two.level_value("b", at(4), "response_p95_s") == 1 / 2000
    assert two.printable_level("b", at(4), "response_p99_s") is None
    none = changed(whole, b_4_0_0=LATE, b_4_1_0=LATE, b_4_2_0=ERRORS)
    assert none.level_value("b", at(4), "headline_per_min") is None
    dead = window("a", None, missing_because="it died")
    assert (dead.measured, dead.value("headline_per_min")) == (False, None)


def test_a_collected_metric_whose_best_value_is_0_is_compared_as_a_difference() -> None:
    """Nothing waits on one candidate: there is no ratio, but so much more waits on the other."""
    waits = Quantity("pressure.some_share", "io")
    found = run({4: (1.0, 1.0, 1.0, 1.0)})
    shares = {each.id: 0.0 if each.candidate == "a" else 0.2 + each.block / 100
              for each in found.windows}  # fmt: skip
    measure = Measure({name: Value(share) for name, share in shares.items()})
    effect = replace(found, measures={waits: measure}).effect("a", "b", at(4), waits)
    assert (effect.ratio, effect.missing_because) == (None, None)
    assert effect.difference is not None
    assert effect.difference.mean == pytest.approx(0.215)


def test_what_failed_is_compared_as_a_difference_of_shares() -> None:
    """One candidate fails in none; the level is the mean of windows, of which nothing is left out.

    A row of which none ended has no share.
    """
    found = run({4: (1.0, 1.0, 1.0, 1.0)})
    shares = {"a": [0.0] * 4, "b": [0.01, 0.02, 0.03, 0.02]}
    windows = tuple(
        replace(each, transactions={"all": {
            **each.transactions["all"], ERROR_SHARE: shares[each.candidate][each.block],
        }})
        for each in found.windows
    )  # fmt: skip
    failing = replace(found, windows=windows)
    errors = Quantity(ERROR_SHARE)
    effect = failing.effect("a", "b", at(4), errors)
    assert (effect.ratio, effect.is_difference, effect.pairs) == (None, True, 4)
    assert effect.value == pytest.approx(0.02)
    assert failing.level_of("b", at(4), errors) == pytest.approx(0.02)
    assert failing.level_of("a", at(4), errors) == 0.0
    assert find_error_share({"errors": 1, "committed": 2, "rolled_back": 1}) == 0.25
    assert find_error_share({"errors": 0, "committed": 0, "rolled_back": 0}) is None


@pytest.mark.usefixtures("fakes")
def test_a_sum_counts_every_block_as_if_it_had_its_window() -> None:
    """A candidate that lost a window does not seem to have lost less; the largest is what it is."""
    whole = run({4: (1.0, 1.0, 2.0)})
    lost = {("note.lost", "all"): {"value": 6.0, "missing_because": None, "count": None}}
    windows = tuple(replace(each, values=lost) for each in whole.windows)
    summed = replace(whole, windows=windows)
    invalid, gone = changed(summed, b_4_1_0=ERRORS), changed(summed, "b-4-1-0")
    for evidence in (summed, invalid, gone):
        assert evidence.level_of("b", at(4), Quantity("note.lost")) == 18.0


@pytest.mark.parametrize(("text", "because"), [
    ("p95", None), ("p99", "p99 needs 10,000 values in each window, and one window has"),
    ("p50", "a window has no complete latency log"), ("p50 of refund", "a window completed no"),
    ("cpu.user_share", "cpu.user_share was not measured in a window"),
])  # fmt: skip
def test_a_window_without_a_percentile_says_why(text: str, because: str | None) -> None:
    """Too few transactions, none of the type, or no log of them."""
    one = window("a", 100.0)
    rows = {"all": {**one.transactions["all"], "response_p99_s": 0.1, "response_p50_s": None}}
    found = run({}).value_of(replace(one, transactions=rows), parse_quantity(text))
    assert (found.number is None) == (because is not None)
    assert (because or "") in (found.missing_because or "")


def test_a_slight_difference_at_one_of_many_levels_is_undecided() -> None:
    """By itself it would be claimed; a level with too few blocks takes no chance from others."""
    nothing = (1.03, 0.97, 1.02, 0.98, 1.04, 0.96)
    slight = (1.030, 1.046, 1.016, 1.024, 1.040, 1.020)
    evidence = run({1: slight, **dict.fromkeys((2, 4, 8, 16, 32), nothing)})
    [alone] = compare_levels(evidence, "a", "b", TPM, without=tuple(map(at, (2, 4, 8, 16, 32))))
    calls = [each.verdict.call for each in (alone, *compare_levels(evidence, "a", "b", TPM))]
    assert calls == [Call.BETTER, *[Call.UNDECIDED] * 6]
    six, one = compare_levels(run({1: SLIGHT, 2: SLIGHT[:1]}), "a", "b", TPM)
    assert (six.verdict.call, one.chance_share) == (Call.BETTER, None)
    assert one.verdict.because == "1 block, at least 4 are needed"


def test_a_step_of_a_factor_is_paired_by_round_within_each_candidate() -> None:
    """What drifts from round to round falls out; an invalid window takes its round alone.

    One whose block was measured once more is paired as the first would have been.
    """
    sizes = [Point((("users", 4), ("database.memory", f"{n} GiB"))) for n in (1, 2, 4)]
    gain = {"a": (1.0, 2.0, 2.0), "b": (1.0, 1.0, 0.5)}
    windows = tuple(
        replace(made, row={**made.row, "point": str(point), "window_id": f"{name}{n}{block}"})
        for name in "ab" for n, point in enumerate(sizes) for block in range(5)
        for made in [window(name, 1000.0 * 1.3**block * gain[name][n], block=block)]
    )  # fmt: skip
    evidence = Evidence(("a", "b"), tuple(sizes), windows)
    assert (evidence.axis, evidence.levels) == ("database.memory", tuple(sizes))
    found = compare_values(evidence, "database.memory")
    assert [(each.b, each.against, each.point, each.effect.pairs) for each in found] == [
        (name, *step, 5) for name in "ab" for step in pairwise(sizes)
    ]  # fmt: skip
    assert [each.effect.ratio for each in found] == pytest.approx([2.0, 1.0, 1.0, 0.5])
    assert [each.verdict.call for each in found] == [
        Call.BETTER, Call.EQUIVALENT, Call.EQUIVALENT, Call.WORSE,
    ]  # fmt: skip
    lost = tuple(replace(w, reasons=(LATE,)) if w.id == "a13" else w for w in windows)
    fewer = compare_values(replace(evidence, windows=lost), "database.memory")
    assert [each.effect.pairs for each in fewer] == [4, 4, 5, 5]
    assert fewer[0].effect.ratio == pytest.approx(2.0)
    third = next(w for w in windows if w.id == "a13")
    measured_again = replace(third, row={**third.row, "window_id": "again", "attempt": 1})
    whole = compare_values(replace(evidence, windows=(*lost, measured_again)), "database.memory")
    assert [each.effect.pairs for each in whole] == [5, 5, 5, 5]


def test_the_answer_comes_first_and_is_judged_by_itself() -> None:
    """Then the other levels of its metric, then response times, of which less is better."""
    evidence = run({4: SLIGHT, 8: SLIGHT})
    found = list_comparisons(evidence, answer_question(evidence))
    assert [(each.metric, each.point.level, each.primary) for each in found] == [
        (TPM, 8, True), (TPM, 4, False), (P95, 4, False), (P95, 8, False),
    ]  # fmt: skip
    assert found[0].verdict == decide(found[0].effect.apart)
    assert {each.verdict.call for each in found} == {Call.BETTER}
    [back] = compare_levels(evidence, "b", "a", P95, without=(at(8),))
    assert back.verdict.call is Call.WORSE
    alone = replace(evidence, candidates=("a",))
    assert (
        list_comparisons(alone, answer_question(alone))
        == list_comparisons(Evidence((), (), ()), None)
        == ()
    )


def test_a_pair_chosen_among_many_must_differ_more_unless_it_was_named_before() -> None:
    """As the report will judge it, so that no study ends with an undecided question."""
    logs = (0.052, 0.019, 0.061, 0.044, 0.023, 0.046)
    two = run({4: tuple(math.exp(each) for each in logs)})
    others = [window(name, 1000.0, block=block) for name in "cdef" for block in range(6)]
    many = replace(two, candidates=tuple("abcdef"), windows=(*two.windows, *others))
    named = replace(many, primary=PrimaryComparison(point=Point.of(users=4), pair=("a", "b")))
    steps = [judge_question(each).progress.step for each in (two, many, named)]
    assert steps == [Next.DECIDED, Next.ANOTHER_BLOCK, Next.DECIDED]
    chosen, alone = compare_primary(many, "a", "b", at(4)), compare_primary(two, "a", "b", at(4))
    assert chosen.chance_share == pytest.approx(15 * (alone.chance_share or 0))
    assert chosen.verdict == decide(chosen.effect.apart, among=15)


CLEAR = (1.50, 1.51, 1.49, 1.50, 1.52, 1.50)


def test_the_question_stands_where_its_own_level_has_blocks_with_both() -> None:
    """Blocks elsewhere answer nothing, a lost window drops its block, less time is better."""
    asked = PrimaryComparison(point=Point.of(users=4), pair=("a", "b"))
    stands = judge_question(run({1: CLEAR[:4]}, primary=asked, points=(at(1), at(4))))
    assert (stands.compared, stands.blocks) == (None, 0)
    assert stands.progress.step is Next.ANOTHER_BLOCK
    whole = run({4: CLEAR[:5]}, primary=asked)
    after = judge_question(changed(whole, "b-4-2-0"))
    assert (judge_question(whole).blocks, after.blocks) == (5, 4)
    assert after.progress.step is Next.DECIDED
    times = replace(whole, primary=replace(asked, metric=P95))
    assert judge_question(times).progress.verdict.call is Call.BETTER


def shown(evidence: Evidence, limited: Mapping[str, Limited]) -> Sequence[Any]:
    """The findings, of which a test knows the kinds."""
    return list_findings(evidence, limited)


@pytest.mark.parametrize(("limit_s", "meets"), [
    (0.002, (True, True)), (0.0008, (False, True)), (0.0001, (False, False)),
])  # fmt: skip
def test_the_comparison_knows_who_meets_the_target(
    limit_s: float, meets: tuple[bool, bool]
) -> None:
    """By the valid windows at its level; without a valid window of one nothing is claimed."""
    target = ResponseTarget("p95", "all", limit_s)
    evidence = run({1: CLEAR[:4], 4: CLEAR[:4]})
    answer = list_findings(evidence, None, target)[0]
    assert isinstance(answer, Comparison)
    assert answer.meets == tuple(zip("ab", meets, strict=True))


def test_findings_tell_slowest_and_fastest_at_the_highest_level_first() -> None:
    """Then response time and limits, and growth; in the order of the study, whatever is asked."""
    evidence = run({1: (2.0,), 4: (0.5,)})
    names = ("c", *evidence.candidates)
    third = [window("c", 700.0, users=users) for users in (1, 4)]
    evidence = replace(evidence, candidates=names, windows=(*evidence.windows, *third))
    limited = {each.id: judge(observed(server=Cpus(1, 0.95))) for each in evidence.windows}
    found = shown(evidence, limited)
    assert [type(each) for each in found] == [Comparison, Comparison, Limits]
    answer, times, limits = found
    assert (answer.a, answer.b, answer.point, answer.metric) == ("a", "b", at(4), TPM)
    assert (answer.value_a, answer.value_b) == (1000.0, 500.0)
    assert (answer.effect.ratio, answer.instead_of, answer.is_floor) == (0.5, None, True)
    assert (times.a, times.b, times.metric, times.is_floor) == ("a", "b", P95, False)
    assert [name for name, _ in limits.of] == list(names)
    grown = find_growth(evidence)
    assert grown is not None
    assert grown.factors == (("c", 1.0), ("a", 1.0), ("b", 0.25))
    asked = replace(evidence, primary=PrimaryComparison(P95, point=Point.of(users=1)))
    found = shown(asked, limited)
    assert (found[0].a, found[0].b, found[0].point.level, found[0].metric) == ("c", "b", 1, P95)
    found = shown(replace(asked, windows=evidence.windows[:-2]), limited)
    below = found[2]
    assert (below.point.level, below.of[0][1].windows_all) == (1, 1)


def test_what_cannot_be_compared_is_told_of_another_level_alone_or_not_at_all() -> None:
    """With its reason; nothing rests on an invalid window."""
    both = run({1: (2.0,), 4: (3.0,)})
    found = shown(changed(both, a_4_0_0=ERRORS), {})
    assert (found[0].point, found[0].instead_of) == (at(1), at(4))
    found = shown(changed(both, "b-1-0-0", "b-4-0-0"), {})
    assert found[0].effect.missing_because == "b has no window"
    assert not any(isinstance(each, Comparison) for each in found[1:])
    one, late = window("a", 80.0), window("a", 9.0, LATE, users=9)
    [alone, *_] = list_findings(Evidence(("a",), (at(4), at(9)), (one, late)), {})
    assert alone == Alone("a", at(4), TPM, 80.0, 1 / 80, 1, limits=Limits(at(4), ()))
    failed = Reason(flags.ERRORS, {"errors": 79, "text": "gone"})
    [none] = list_findings(Evidence(("a",), (at(4),), (window("a", 8.0, failed),)), {})
    seen = "Unexpected errors: 79; the most frequent: gone"
    assert none == Nothing(f"no window is valid (1 by “errors”). {seen}")
    assert list_findings(Evidence(("a",), (at(4),), ()), {}) == (
        Nothing("the run has no window yet"),
    )


def test_a_candidate_alone_whose_valid_windows_lack_the_value_is_answered_with_the_reason() -> None:
    """Such as that of backups which all failed: its windows are valid all the same."""
    asked = PrimaryComparison(Quantity("backup.duration_s"), at(4))
    failed = {("backup.duration_s", "all"): {"count": None, "value": None,
                                             "missing_because": "no backup succeeded"}}  # fmt: skip
    valid = replace(window("a", 80.0), values=failed)
    [none, *_] = list_findings(Evidence(("a",), (at(4),), (valid,), primary=asked), {})
    assert none == Nothing("time of a backup is missing (no backup succeeded)")
    elsewhere = (window("a", 8.0, LATE), window("a", 9.0, users=9))
    evidence = Evidence(("a",), (at(4), at(9)), elsewhere, factor="backup", primary=asked)
    [none, *_] = list_findings(evidence, {})
    assert none == Nothing("no window is valid where the question is asked")


def test_thresholds_are_judged_by_valid_windows_and_say_why_they_cannot_be() -> None:
    """A factor counts; without a valid window nothing is met and nothing failed."""
    evidence = changed(run({4: (2.0,)}, candidates=("a", "b", "c")), a_4_0_0=ERRORS)
    sides = [("b", "nopm"), ("a", "nopm"), ("c", "nopm"), ("b", "cpu.user_share"), ("b", "p95")]
    asked = [
        Threshold(MeasuredSide(name, metric, at(4), factor=3.0), "<=", Constant(6000.0, "1/min"))
        for name, metric in sides
    ]
    found = judge_thresholds(asked, evidence)
    assert [(each.left, each.because) for each in found] == [
        (6000.0, None), (None, "no window of a at 4 users is valid"),
        (None, "there is no window of c at 4 users"),
        (None, "b at 4 users: cpu.user_share was not measured in a window"), (3 / 2000, None),
    ]  # fmt: skip
    met, silent = Outcome.MET, Outcome.NOT_JUDGED
    assert [each.outcome for each in found] == [met, silent, silent, silent, met]
    assert ThresholdJudgement(asked[0], 6000.1, 6000.0).outcome is Outcome.NOT_MET
