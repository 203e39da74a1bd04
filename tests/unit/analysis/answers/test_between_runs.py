"""Differences between runs: unpaired, with intervals, and no claim without scatter."""

import math
import random
from dataclasses import replace

import pytest

from stithy.analysis.answers.between_runs import compare_runs, unpaired_ratio
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.validity.reasons import Flag, Reason
from stithy.metrics import Quantity
from stithy.report.between import USUAL


def window(candidate: str, users: int, block: int, nopm: float, *, valid: bool = True) -> Window:
    """A window with its throughput alone."""
    row = {
        "window_id": f"{candidate}-{users}-{block}", "candidate": candidate, "users": users,
        "block": block, "missing_because": None, "tpm": 2 * nopm, "nopm": nopm,
    }  # fmt: skip
    return Window(row, {}, () if valid else (Reason(Flag.ERRORS),))


def evidence(*windows: Window, levels: tuple[int, ...] = (1, 4)) -> Evidence:
    """A run of the candidates `a` and `b`."""
    return Evidence(("a", "b"), levels, windows)


@pytest.mark.parametrize(
    ("base", "other", "because"),
    [
        ([], [1.0], "the base has no valid window"),
        ([1.0], [], "the other run has no valid window"),
        ([0.0, 1.0], [1.0, 2.0], "a window completed nothing"),
    ],
)
def test_what_cannot_be_compared_says_why(
    base: list[float], other: list[float], because: str
) -> None:
    """No ratio is made up."""
    change = unpaired_ratio(base, other)
    assert (change.ratio, change.missing_because) == (None, because)
    assert not change.distinguishable


@pytest.mark.parametrize("values", [([5.0], [9.0, 9.1]), ([5.0] * 3, [9.0] * 3)])
def test_without_scatter_there_is_a_ratio_and_no_claim(
    values: tuple[list[float], list[float]],
) -> None:
    """One window, or equal ones, are no measure of how much windows vary."""
    change = unpaired_ratio(*values)
    assert change.ratio is not None
    assert (change.low, change.high, change.distinguishable) == (None, None, False)


def test_valid_windows_that_do_not_tell_a_metric_are_not_called_invalid() -> None:
    """Throughput is known of them, response times are not."""
    one = evidence(window("a", 1, 0, 10.0), window("a", 1, 1, 12.0), levels=(1,))
    nopm, p95, _ = compare_runs(one, one, USUAL)[::2]
    assert (nopm.change.base, nopm.change.missing_because) == (2, None)
    told = "no valid window of the base has it"
    assert (p95.change.base, p95.change.missing_because) == (0, told)


def test_among_many_rows_without_a_difference_seldom_any_is_told_apart() -> None:
    """At most one comparison in twenty names any row; with each row by itself half would."""
    draw = random.Random("null runs")
    wrong = 0
    for _ in range(200):
        runs = [
            Evidence(("a", "b"), (1, 2, 4, 8, 16, 32), tuple(
                window(name, users, block, 1000 * math.exp(draw.gauss(0, 0.02)))
                for name in ("a", "b") for users in (1, 2, 4, 8, 16, 32) for block in range(4)
            ))
            for _ in range(2)
        ]  # fmt: skip
        wrong += any(row.change.distinguishable for row in compare_runs(runs[0], runs[1], USUAL))
    assert wrong / 200 <= 0.075


def test_an_interval_is_wider_by_what_the_machine_differs() -> None:
    """On both sides; what lies within it is not told apart, what lies beyond still is."""
    base, other = [100.0, 101.0, 99.0, 100.5], [153.0, 154.0, 152.0, 153.5]
    plain, drifted = unpaired_ratio(base, other), unpaired_ratio(base, other, math.log(1.6))
    little = unpaired_ratio(base, other, math.log(1.1))
    assert plain.distinguishable
    assert not drifted.distinguishable
    assert little.distinguishable
    for change, factor in ((drifted, 1.6), (little, 1.1)):
        assert change.ratio == plain.ratio
        assert change.low == pytest.approx((plain.low or 0) / factor)
        assert change.high == pytest.approx((plain.high or 0) * factor)
        assert change.drift_share == pytest.approx(factor - 1)
    assert drifted.low is not None
    assert drifted.low < 1


def test_neighbours_of_one_run_alone_are_seldom_told_as_a_change() -> None:
    """Others take a random share of the CPUs in one of two equal runs; throughput falls with it."""
    draw = random.Random("neighbours")
    wrong = {True: 0, False: 0}
    for _ in range(200):
        share = draw.uniform(0.1, 0.7)
        runs = [
            [replace(window("a", 1, block, 1000 * (1 - own) * math.exp(draw.gauss(0, 0.02))),
                     taken_share=own) for block in range(4)]
            for own in (share, 0.0)
        ]  # fmt: skip
        for seen in wrong:
            both = [
                evidence(*(replace(each, taken_share=each.taken_share if seen else None)
                           for each in run), levels=(1,))
                for run in runs
            ]  # fmt: skip
            rows = compare_runs(both[0], both[1], (Quantity("nopm"),))
            wrong[seen] += any(row.change.distinguishable for row in rows)
    assert wrong[False] / 200 > 0.95
    assert wrong[True] / 200 <= 0.05
