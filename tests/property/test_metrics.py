"""Whatever is compared, and in whatever unit: the verdict is that of the ratios of pairs alone."""

import math
from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from recompute.statistics import around
from stithy.analysis.decision import judge_question
from stithy.analysis.effect import estimate_paired_difference
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.measures import Measure, Value
from stithy.analysis.verdict import Call, PrimaryComparison, Verdict, decide
from stithy.metrics import TPM, Quantity, find, list_names
from stithy.validity import Reason
from support import flags
from support.points import at

USERS = 4
SERIES = [
    Quantity(metric.name, metric.subjects[0] if metric.subjects else None)
    for name in list_names()
    if (metric := find(name)) is not None
    and metric.source == "series" and metric.compared and metric.negligible is None
]  # fmt: skip
"""What is compared by ratios."""
MIRRORED = {
    Call.BETTER: Call.WORSE, Call.WORSE: Call.BETTER, Call.HIGHER: Call.LOWER,
    Call.LOWER: Call.HIGHER,
}  # fmt: skip


def _window(
    candidate: str, block: int, attempt: int = 0, *, nopm: float = 1.0, valid: bool = True
) -> Window:
    row = {
        "window_id": f"{candidate}{block}", "candidate": candidate, "point": str(at(USERS)),
        "block": block, "position": 0, "attempt": attempt, "missing_because": None,
        "activity": "hammer", "tpm": nopm,
        "headline_per_min": nopm,
    }  # fmt: skip
    return Window(row, {}, () if valid else (Reason(flags.DRIVER_LATE),))


KEYS = st.tuples(st.sampled_from("ab"), st.integers(0, 5), st.integers(0, 1))


@given(st.dictionaries(KEYS, st.booleans()))
def test_pairs_are_never_formed_across_attempts(found: dict[tuple[str, int, int], bool]) -> None:
    """Nor across blocks: each has both windows valid; its ratio tells its block and attempt."""
    windows = tuple(
        _window(name, block, attempt, valid=valid,
                nopm=(2.0 if name == "b" else 1.0) * math.exp(7 * block + 3 * attempt))
        for (name, block, attempt), valid in found.items()
    )  # fmt: skip
    effect = Evidence(("a", "b"), (at(USERS),), windows).effect("a", "b", at(USERS), TPM)
    turns = {(block, attempt) for _, block, attempt in found}
    whole = [turn for turn in turns if found.get(("a", *turn)) and found.get(("b", *turn))]
    assert effect.pairs == len(whole)
    assert all(math.isclose(log, math.log(2), abs_tol=1e-9) for log in effect.apart)


def _verdict(quantity: Quantity, a: list[float], b: list[float], scale: float = 1.0) -> Verdict:
    """The verdict on B against A by a quantity whose values were reported in another unit."""
    values = {"a": a, "b": b}
    windows = tuple(_window(name, block) for name in values for block in range(len(a)))
    measure = Measure(
        {f"{name}{block}": Value(scale * each) for name, of in values.items()
         for block, each in enumerate(of)}
    )  # fmt: skip
    asked = PrimaryComparison(quantity, at(USERS), ("a", "b"))
    evidence = Evidence(
        ("a", "b"), (at(USERS),), windows, primary=asked, measures={quantity: measure}
    )
    return judge_question(evidence).progress.verdict


def _on_an_edge(quantity: Quantity, a: list[float], b: list[float]) -> bool:
    """Whether the last digit of a value decides, which a unit may change."""
    slightly = [each * (1 + 1e-9) for each in b], [each * (1 - 1e-9) for each in b]
    calls = {_verdict(quantity, a, each).call for each in (b, *slightly)}
    return len(calls) > 1 or len(set(b)) == 1


COUNTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=4, max_size=10)


@given(COUNTS, st.integers(0, 50), st.sampled_from([2.0**-10, 2.0**20]))
def test_a_difference_is_the_same_wherever_it_lies_in_any_unit_and_mirrored(
    counts: list[tuple[int, int]], offset: int, scale: float
) -> None:
    """0 is a value as any other; what is the same in every block is never decided."""
    a, b = ([float(each[side]) for each in counts] for side in (0, 1))
    plain, effect = _less(a, b), estimate_paired_difference(a, b)
    assert _less([x + offset for x in a], [x + offset for x in b]) == plain
    assert _less([x * scale for x in a], [x * scale for x in b], scale) is plain
    assert _less(b, a) is MIRRORED.get(plain, plain)
    assert (effect.low is None) is (len({y - x for x, y in counts}) == 1)
    if effect.low is None or effect.high is None:
        assert plain is Call.UNDECIDED
    else:
        low, high = around([float(y - x) for x, y in counts]) or (0.0, 0.0)
        assert math.isclose(effect.low, low, abs_tol=1e-9)
        assert math.isclose(effect.high, high, abs_tol=1e-9)
        assert (plain is Call.EQUIVALENT or plain is Call.NEGLIGIBLE) is (low > -0.5 and high < 0.5)


def _less(a: list[float], b: list[float], unit: float = 1.0) -> Call:
    """The call on B less A, of which half a unit counts for nothing."""
    effect = estimate_paired_difference(a, b)
    return decide(effect.apart, better="lower", negligible=unit / 2).call


LOGS = st.lists(st.floats(-0.3, 0.3), min_size=4, max_size=10)
SHIFTS = st.sampled_from([0.0, 0.01, 0.5, -0.5, 1.0])
SCALES = st.sampled_from([1e-9, 1e-3, 1 / 60, 60.0, 2.0**30])


@given(st.sampled_from(SERIES), LOGS, SHIFTS, SCALES)
def test_the_verdict_is_the_same_whatever_the_unit_and_mirrored_where_the_metric_is(
    quantity: Quantity, logs: list[float], shift: float, scale: float
) -> None:
    """A ratio has no unit; what is neither good nor bad is never called so."""
    a, b = [5.0] * len(logs), [5.0 * math.exp(each + shift) for each in logs]
    turned = [1 / each for each in a], [1 / each for each in b]
    assume(not _on_an_edge(quantity, a, b))
    assume(not _on_an_edge(quantity, *turned))
    plain = _verdict(quantity, a, b)
    assert _verdict(quantity, a, b, scale) == plain
    assert _verdict(quantity, *turned) == replace(plain, call=MIRRORED.get(plain.call, plain.call))
    one_sided = {Call.BETTER, Call.WORSE} if quantity.known.better else {Call.HIGHER, Call.LOWER}
    assert plain.call in {*one_sided, Call.UNDECIDED, Call.EQUIVALENT, Call.NEGLIGIBLE}
