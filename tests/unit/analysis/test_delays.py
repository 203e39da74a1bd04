"""What delays of a busy machine do to those who wait, and what a verdict makes of that."""

import math
import random
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stithy.analysis import instruments as delays
from stithy.analysis.checks.instruments import find_off_profile
from stithy.analysis.effect import (
    Paired,
    compare_losses,
    estimate_paired_difference,
    estimate_paired_ratio,
)
from stithy.analysis.evidence import Window
from stithy.analysis.gathering import WindowRecord
from stithy.analysis.instruments import Delayed, bound_pair, find_delayed_path, find_machine_floors
from stithy.analysis.statistics import bound_repeated_chance, estimate_interval
from stithy.analysis.verdict import DIFFERENT, Call, decide
from stithy.metrics import P95, P99, TPM, Quantity
from stithy.validity import Reason
from support import flags

Row = dict[str, Any]


def times(
    operation: str, asked_us: float, took_us: float, answered: int = 1000, role: str = "data"
) -> Row:
    """What an operation of a drive was to take, and took."""
    return {
        "role": role, "operation": operation, "answered": answered,
        "device_mean_s": took_us * 1e-6, "added_mean_s": (took_us - asked_us) * 1e-6,
        "late_answers": None, "late_mean_s": None,
    }  # fmt: skip


def late(answers: int, mean_us: float, role: str = "data") -> Row:
    """Of 1000 answers of a drive those that were late, and by how much all were in the mean."""
    return {
        "role": role, "operation": "all", "answered": 1000, "device_mean_s": None,
        "added_mean_s": None, "late_answers": answers, "late_mean_s": mean_us * 1e-6,
    }  # fmt: skip


def share_of(rows: Sequence[Row], floors: delays.Floors, *, every_write: bool = False) -> float:
    """The delay of the path that was delayed most."""
    path = find_delayed_path(rows, floors, every_write=every_write)
    assert path is not None
    return path.share


def test_each_operation_counts_by_the_time_that_somebody_waited_for_it() -> None:
    """Measured on two CPUs: what is false of a ratio to 0 is felt by nobody, and 73 % by all."""
    gp3 = [times("read", 5149, 5155, 13_000), times("write", 8075, 8080, 10_000)]
    for rows, floors, share in (
        ([*gp3, times("flush", 0, 144, 1900)], {"flush": 70e-6}, 0.01),
        ([times("read", 350, 359, 45_000), times("write", 850, 900, 34_000),
          times("flush", 0, 144, 4600)], {"flush": 70e-6}, 0.135),
        ([times("read", 350, 605, 45_000), times("flush", 0, 70, 4600)], {"flush": 70e-6}, 0.73),
        ([times("read", 100, 95)], {}, -0.05),
        ([times("read", 100, 300, 199), times("flush", 100, 101)], {}, 0.01),
        ([times("read", 100, 200, 200), times("flush", 9000, 9000, 1000)], {}, 0.002),
    ):  # fmt: skip
        assert share_of(rows, floors) == pytest.approx(share, abs=0.006)


def test_a_write_is_delayed_as_what_comes_one_by_one_and_waited_for_by_a_commit_alone() -> None:
    """Of a checkpoint's burst nobody waits; fio waits for each write."""
    burst = [times("read", 100, 110), times("write", 500, 900, 9000), times("flush", 100, 105)]
    assert share_of(burst, {}) == pytest.approx(0.1)
    assert share_of(burst, {}, every_write=True) == pytest.approx(0.8)
    apart = [*burst, times("write", 300, 330, role="log"), times("flush", 100, 150, role="log")]
    assert share_of(apart, {}) == pytest.approx(80 / 400)


def test_reads_are_spread_over_an_array_and_a_commit_waits_for_the_slowest_drive() -> None:
    """Measured on eight SSDs: 26 % on one drive were 14 % for those who read from all."""
    array = [times("read", 380, took, role=f"data-{number}") for number, took in
             enumerate((480, 418, 418, 418), start=1)]  # fmt: skip
    assert share_of(array, {}) == pytest.approx(214 / 1520)
    mirror = [
        times("flush", 200, took, role=f"log-{number}") for number, took in ((1, 210), (2, 260))
    ]
    assert share_of([*array, *mirror], {}) == pytest.approx(0.3)


def test_lateness_that_a_drive_makes_up_for_is_seen_where_many_answers_are_late() -> None:
    """The mean is right, and one answer of ten is not."""
    right = times("read", 100, 100)
    assert share_of([right, late(10, 30)], {}) == 0
    assert share_of([right, late(11, 30)], {}) == pytest.approx(0.3)
    assert share_of([right, late(500, 30, "log")], {}) == 0


def test_the_machine_replaces_times_that_it_cannot_deliver_by_its_best_for_all_alike() -> None:
    """Unless it is slower than a machine with a CPU to spare."""
    read, [short, middle, long] = (
        times("read", 600, 700),
        [times("flush", 0, 70 * n) for n in (1, 2, 4)],
    )
    assert find_machine_floors([middle, short, read, long]) == {"flush": 70e-6}
    assert find_machine_floors([long, long]) == {"flush": delays.FLOOR_MOST_S}
    assert find_machine_floors([times("flush", 99, 100), times("flush", 99, 140)]) == {}
    assert find_machine_floors([short | {"answered": 199}]) == {}


@pytest.mark.parametrize(("took_us", "attempt", "flag"), [
    (102, 0, None), (103, 0, "DRIVE_OFF"), (125, 0, "DRIVE_OFF"), (126, 0, "DRIVE_SLOWED"),
    (126, 1, "DRIVE_OFF"), (151, 1, "DRIVE_SLOWED"), (70, 0, "DRIVE_SLOWED"),
])  # fmt: skip
def test_a_delay_is_noted_then_measured_again_and_never_counted_beyond_a_half(
    took_us: float, attempt: int, flag: str | None
) -> None:
    """A machine that was busy twice will be so a third time."""
    found = find_off_profile(
        WindowRecord({"attempt": attempt}, drives=[times("read", 100, took_us)])
    )
    assert (found and found.flag) == (flag and getattr(flags, flag))


BURST = times("write", 1000, 5000, 9000)
"""Of a checkpoint: it has most of the added time, and nobody waits for it."""


@pytest.mark.parametrize(("rows", "first"), [
    ([BURST, times("read", 100, 110), times("write", 300, 340, role="log"),
      times("flush", 100, 200, role="log")],
     "commits of log took 35 % longer (allowed: 25 %): 200 µs for flushes of log (asked: 100 µs), "
     "340 µs for writes of log (asked: 300 µs), 5 ms for writes of data (asked: 1 ms), 1 time "
     "more."),
    ([BURST, *(times("read", 100, took, role=f"data-{at}") for at, took in ((1, 180), (2, 120)))],
     "reads of data took 50 % longer (allowed: 25 %): 180 µs for reads of data-1 (asked: 100 µs), "
     "120 µs for reads of data-2 (asked: 100 µs), 5 ms for writes of data"),
    ([BURST | {"role": "log"}, times("read", 100, 110), late(500, 30)],
     "answers of data took 30 % longer (allowed: 25 %): 500 of 1,000 answers of data late, all by "
     "30 µs in the mean, 5 ms for writes of log"),
    ([times("read", 10_000, 10_000), times("flush", 100, 4000)],
     "all that was waited for took 39 % longer (allowed: 25 %): 4 ms for flushes of data"),
    ([times("flush", 100, 200), times("write", 300, 700)],
     "commits of data took 50 % longer (allowed: 25 %): 200 µs for flushes of data (asked: "
     "100 µs), 700 µs for writes of data (asked: 300 µs; a commit counts less of that)."),
])  # fmt: skip
def test_the_path_that_decided_is_named_first(rows: list[Row], first: str) -> None:
    """With its share and what is allowed; the rest by the time that it added."""
    users = WindowRecord({"attempt": 0}, drives=rows, tables=frozenset({"drives", "load"}))
    found = find_off_profile(users)
    assert found is not None
    assert found.sentence.startswith(f"The instrument failed: on emulated drives {first}")


@pytest.mark.parametrize(("metric", "a", "b", "bound"), [
    (TPM, (0.1, 0.1), (0.0, 0.0), (math.log(1.1), 0.0)),
    (TPM, (0.1, 0.9), (0.2, 0.9), (math.log(1.1), math.log(1.2))),
    (P95, (0.1, 0.1), (0.1, 0.2), (math.log(1.6), math.log(1.3))),
    (P99, (0.1, 1.1), (0.0, 0.0), (0.0, math.log(6.5))),
    (TPM, (-0.1, -0.1), (0.2, 0.2), (math.log(1.32),) * 2),
    (Quantity("block.reads_per_s"), (0.1, 0.1), (0.0, 0.0), (math.log(1.1),) * 2),
    (Quantity("error_share"), (0.1, 0.1), (0.0, 0.0), (0.0, 0.2)),
])  # fmt: skip
def test_a_delayed_candidate_can_only_be_better_than_it_looked(
    metric: Quantity, a: tuple[float, float], b: tuple[float, float], bound: tuple[float, float]
) -> None:
    """By as much as the metric can have changed; of which end, its direction says."""
    assert bound_pair(metric, Delayed(*a, 2.0), Delayed(*b, 3.0)) == pytest.approx(bound)


@pytest.mark.parametrize(("is_outside", "share"), [(False, 0.1 * 11), (True, 0.1)])
def test_a_queue_grows_by_what_holds_connections_alone(is_outside: bool, share: float) -> None:
    """Half of a response is the wait for one; the driver is late before it takes one."""
    reason = Reason(flags.DRIVE_OFF, delay_share=0.1, is_outside=is_outside)
    row = {"missing_because": None, "tpm": 1.0, "activity": "hammer"}
    times = {"all": {"response_mean_s": 2.0, "pool_wait_mean_s": 1.0}}
    assert Window(row, times, (reason,)).delayed() == pytest.approx((0.1, share, 1.0))


LOGS = st.lists(st.floats(-0.5, 0.5), min_size=2, max_size=12)
PARTS = st.lists(st.tuples(st.floats(0, 0.5), st.floats(0, 0.5)), min_size=12, max_size=12)


@given(LOGS, PARTS)
def test_bounds_only_widen_an_interval_and_take_claims_away(
    logs: list[float], parts: list[tuple[float, float]]
) -> None:
    """What is decided with them is decided without them, and the chance is no smaller."""
    bounds = parts[: len(logs)]
    plain, wide = estimate_interval(logs), estimate_interval(logs, bounds)
    assert plain is not None
    assert wide is not None
    assert wide.low <= plain.low <= plain.high <= wide.high
    assert wide.mean == plain.mean
    with_bounds, without = decide(logs, bounds=bounds), decide(logs)
    if with_bounds.decided:
        weaker = (
            {without.call, Call.EQUIVALENT} if without.call is Call.NEGLIGIBLE else {without.call}
        )
        assert with_bounds.call in weaker
    if (chance := bound_repeated_chance(logs)) is not None:
        assert (bound_repeated_chance(logs, bounds) or 0.0) >= chance


def test_a_verdict_holds_even_so_or_is_undecided_and_says_why() -> None:
    """The bound of each block counts against it, and what is in favour does not."""
    logs = [0.30, 0.31, 0.29, 0.30]
    for bound, call in (((0.2, 0.0), Call.BETTER), ((0.3, 0.0), Call.UNDECIDED),
                        ((0.0, 9.0), Call.BETTER)):  # fmt: skip
        verdict = decide(logs, bounds=[bound] * 4)
        assert verdict.call is call
        assert (verdict.because or "disturbances").count("disturbances") == 1
    equal = [0.001, -0.001, 0.001, -0.001]
    assert decide(equal, bounds=[(0.0, 0.01)] * 4).call is Call.EQUIVALENT
    assert decide(equal, bounds=[(0.0, 0.02)] * 4).call is Call.UNDECIDED


def test_what_is_lost_on_two_candidates_is_bounded_by_both() -> None:
    """A ratio of ratios is lower where the first one can be higher."""
    a = Paired(estimate_paired_ratio([1.0], [2.0], [(0.1, 0.2)]), (0,))
    b = Paired(estimate_paired_ratio([1.0], [3.0], [(0.3, 0.5)]), (0,))
    [bound] = compare_losses(a, b).bounds
    assert bound == pytest.approx((0.5, 0.6))
    assert (
        estimate_paired_difference([1.0, 2.0], [1.5, 2.25], [(0.0, 1.0)] * 2).bounds
        == ((0.0, 1.0),) * 2
    )


@pytest.mark.parametrize(("ratio", "delayed", "claims"), [
    *product([1.0], [(0.0, 0.0), (0.0, 0.1), (0.15, 0.15), (0.4, 0.0)], [(0, 12)]),
    *product([0.9], [(0.0, 0.0), (0.05, 0.0)], [(300, 300)]),
])  # fmt: skip
def test_simulated_studies_claim_no_delay_and_find_a_slower_drive(
    ratio: float, delayed: tuple[float, float], claims: tuple[int, int]
) -> None:
    """300 studies of eight blocks, noise 1 %: a delay takes any part of its bound."""
    draw, found = random.Random(f"{ratio} {delayed}"), 0
    down, up = bound_pair(TPM, *(Delayed(each, each, 1.0) for each in delayed))
    for _ in range(300):
        logs = [
            math.log(ratio) + draw.gauss(0, 0.01) + draw.random() * down - draw.random() * up
            for _ in range(8)
        ]
        found += decide(logs, bounds=[(down, up)] * 8).call in DIFFERENT
    assert claims[0] <= found <= claims[1]
