"""Whatever is compared, and in whatever unit: the verdict is that of the ratios alone."""

import math
from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from stithy.analysis.answers.findings import decision_status
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.values.measures import Measure, Value
from stithy.analysis.verdict.decide import Call, PrimaryComparison, Verdict
from stithy.metrics import Quantity, find, names

USERS = 4
SERIES = [
    Quantity(metric.name, metric.subjects[0] if metric.subjects else None)
    for name in names()
    if (metric := find(name)) is not None and metric.source == "series" and metric.compared
]
MIRRORED = {
    Call.BETTER: Call.WORSE, Call.WORSE: Call.BETTER, Call.HIGHER: Call.LOWER,
    Call.LOWER: Call.HIGHER,
}  # fmt: skip


def window(candidate: str, block: int) -> Window:
    """A valid window; its value lies beside it."""
    row = {
        "window_id": f"{candidate}{block}", "candidate": candidate, "users": USERS,
        "block": block, "position": 0, "missing_because": None, "tpm": 1.0, "nopm": 1.0,
    }  # fmt: skip
    return Window(row, {}, ())


def verdict(quantity: Quantity, a: list[float], b: list[float], scale: float = 1.0) -> Verdict:
    """The verdict on B against A by a quantity whose values were told in another unit."""
    values = {"a": a, "b": b}
    windows = tuple(window(name, block) for name in values for block in range(len(a)))
    measure = Measure(
        {f"{name}{block}": Value(scale * each) for name, of in values.items()
         for block, each in enumerate(of)}
    )  # fmt: skip
    asked = PrimaryComparison(quantity, USERS, ("a", "b"))
    evidence = Evidence(("a", "b"), (USERS,), windows, primary=asked, measures={quantity: measure})
    return decision_status(evidence).progress.verdict


LOGS = st.lists(st.floats(-0.3, 0.3), min_size=4, max_size=10)
SHIFTS = st.sampled_from([0.0, 0.01, 0.5, -0.5])
QUANTITIES = st.sampled_from(SERIES)


@given(QUANTITIES, LOGS, SHIFTS, st.sampled_from([1e-9, 1e-3, 1 / 60, 60.0, 2.0**30]))
def test_the_verdict_is_the_same_whatever_the_unit(
    quantity: Quantity, logs: list[float], shift: float, scale: float
) -> None:
    """Milliseconds or hours, bytes or GiB: a ratio has no unit."""
    a, b = [5.0] * len(logs), [5.0 * math.exp(each + shift) for each in logs]
    assume(not on_an_edge(quantity, a, b))
    assert verdict(quantity, a, b, scale) == verdict(quantity, a, b)


def on_an_edge(quantity: Quantity, a: list[float], b: list[float]) -> bool:
    """Whether the last digit of a value decides, which a unit may change."""
    slightly = [each * (1 + 1e-9) for each in b], [each * (1 - 1e-9) for each in b]
    return len({verdict(quantity, a, each).call for each in (b, *slightly)}) > 1 or len(set(b)) == 1


@given(QUANTITIES, LOGS, SHIFTS)
def test_a_mirrored_metric_has_the_mirrored_verdict(
    quantity: Quantity, logs: list[float], shift: float
) -> None:
    """Seconds a request and requests a second say the same the other way round."""
    a, b = [5.0] * len(logs), [5.0 * math.exp(each + shift) for each in logs]
    turned = [1 / each for each in a], [1 / each for each in b]
    assume(not on_an_edge(quantity, a, b))
    assume(not on_an_edge(quantity, *turned))
    plain, mirrored = verdict(quantity, a, b), verdict(quantity, *turned)
    assert mirrored == replace(plain, call=MIRRORED.get(plain.call, plain.call))


@given(QUANTITIES, LOGS)
def test_what_is_neither_good_nor_bad_is_never_called_so(
    quantity: Quantity, logs: list[float]
) -> None:
    """And what is, is never only called higher."""
    a, b = [5.0] * len(logs), [5.0 * math.exp(each + 1) for each in logs]
    call = verdict(quantity, a, b).call
    one_sided = {Call.BETTER, Call.WORSE} if quantity.known.better else {Call.HIGHER, Call.LOWER}
    assert call in {*one_sided, Call.UNDECIDED, Call.EQUIVALENT, Call.NEGLIGIBLE}
