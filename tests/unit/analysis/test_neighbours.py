"""What tenants lose to a neighbour: shares of seconds, fairness, and what pairs of windows say."""

import random
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stithy.analysis.answers.neighbours import (
    Disturbance,
    absorbed,
    disturbed,
    fairness,
    first_percentile,
    isolation,
)
from stithy.analysis.validity.checks.work import commits, of_backups, servers
from stithy.analysis.verdict.effect import Effect, paired_ratio
from stithy.engines import declaration
from stithy.metrics import Quantity
from stithy.point import Point

P99 = Quantity("p99")


def test_shares_are_of_the_mean_alone_of_all_tenants_together() -> None:
    """One tenant halved and one untouched: three quarters of the work of two alike."""
    found = disturbed({"a": [10, 30], "b": [20, 20]}, {"a": [10, 10], "b": [20, 20]})
    assert found is not None
    assert found.kept == (0.75, 0.75)
    assert found.alone_kept == (0.75, 1.25)
    assert found.slowdowns == {"a": 0.5, "b": 1.0}
    assert found.goodput == 0.75


def test_seconds_in_which_a_neighbour_rests_do_not_count_for_isolation() -> None:
    """It worked in the second of two seconds; what tenants did in all still counts as theirs."""
    found = disturbed({"a": [10, 10]}, {"a": [10, 4]}, (False, True))
    assert found is not None
    assert found.kept == (0.4,)
    assert found.all_kept == (1.0, 0.4)
    assert found.goodput == 0.7
    assert isolation(found.kept) == 0.0


def test_a_tenant_that_was_lost_in_one_window_is_left_out_of_both() -> None:
    """Else the others' work would look lost; without anybody there is nothing to say."""
    found = disturbed({"a": [10], "b": [30]}, {"a": [9]})
    assert found is not None
    assert found.goodput == 0.9
    assert disturbed({"a": [10]}, {"b": [9]}) is None
    assert disturbed({"a": [0, 0]}, {"a": [9]}) is None


def test_isolation_counts_seconds_and_the_first_percentile_is_the_worst_of_a_hundred() -> None:
    """A second with exactly nine tenths is isolated."""
    assert isolation([0.9, 1.2, 0.89, 1.0]) == 0.75
    assert first_percentile([float(each) for each in range(200, 0, -1)]) == 2.0
    assert first_percentile([0.5, 0.2]) == 0.2
    assert (isolation([]), first_percentile([])) == (None, None)


@given(st.lists(st.floats(0.01, 10), min_size=1, max_size=20), st.floats(0.1, 10))
def test_fairness_lies_between_one_of_n_and_one_and_knows_no_unit(
    shares: list[float], factor: float
) -> None:
    """It says how alike tenants slow down, not how much."""
    found = fairness(shares)
    assert found is not None
    assert 1 / len(shares) - 1e-9 <= found <= 1 + 1e-9
    assert found == pytest.approx(fairness([each * factor for each in shares]))


def test_fairness_is_one_of_n_where_one_tenant_gets_all_that_is_left() -> None:
    """And unknown where nobody gets anything."""
    assert fairness([0.0, 0.0, 0.7, 0.0]) == pytest.approx(0.25)
    assert fairness([0.0, 0.0]) is None


def _disturbance(growth: Effect, achieved: float, isolated: float | None = 0.95) -> Disturbance:
    return Disturbance(
        "a", Point.of(users=4, neighbour=500), {P99: growth}, 500.0, 400.0, achieved,
        isolated, 0.99, 0.8, 1.0, 0.9,
    )  # fmt: skip


def test_a_neighbour_is_borne_by_the_upper_end_of_the_interval() -> None:
    """Nothing is said where there is no interval."""
    tight, wide = paired_ratio([1.0] * 4, [1.5] * 4), Effect(1.5, 0.9, 2.1, 4)
    assert _disturbance(tight, 400.0).bearable(P99) is True
    assert _disturbance(wide, 400.0).bearable(P99) is False
    assert _disturbance(tight, 400.0, 0.89).bearable(P99) is False
    assert _disturbance(paired_ratio([1.0], [1.5]), 400.0).bearable(P99) is None


def test_a_neighbour_is_saturated_by_what_was_offered_and_works_by_what_it_asked() -> None:
    """A limit that holds it back is no saturation of the storage."""
    held = _disturbance(Effect(1.5, 1.0, 2.0, 4), 390.0)
    assert (held.saturated, held.limited) == (False, True)
    assert held.work == pytest.approx(0.9 + 390 / 500)
    assert _disturbance(Effect(1.5, 1.0, 2.0, 4), 379.0).saturated


def test_what_servers_commit_by_themselves_is_allowed_to_each_of_them() -> None:
    """Of twelve tenants twelve times as much, of a tenant that was lost nothing."""
    window = {
        "client_commits": 168, "server_commits": 422, "started_at_s": 0.0, "measure_to_s": 7.0,
        "users": 12, "connections_opened": 12, "connections_reopened": 0, "maintenance_runs": 0,
    }  # fmt: skip
    rates = {("tenant.tpm", f"tenant-{n}"): {"value": 120.0} for n in range(12)}
    engine = declaration("postgresql")
    assert commits(window, engine, servers(rates)) is None
    one = commits(window, engine, servers({}))
    assert one is not None
    assert one.invalidates
    assert servers({**rates, ("tenant.tpm", "tenant-0"): {"value": None}}) == 11


def test_what_the_programs_of_backups_commit_is_allowed_beside_it() -> None:
    """Of two dumps by two processes each; without them the same count is too much."""
    window = {
        "client_commits": 100, "server_commits": 200, "started_at_s": 0.0, "measure_to_s": 0.0,
        "users": 1, "connections_opened": 1, "connections_reopened": 0, "maintenance_runs": 0,
    }  # fmt: skip
    engine, values = declaration("postgresql"), {("backup.commits", "all"): {"value": 144.0}}
    assert commits(window, engine) is not None
    assert commits(window, engine, backups=of_backups({})) is not None
    assert commits(window, engine, backups=of_backups(values)) is None


class _Blocks:
    """Evidence of two candidates: by candidate and point, the p99 of each block."""

    def __init__(self, p99_s: dict[tuple[str, int], list[float]]) -> None:
        self._p99_s = p99_s

    def valid_at(self, candidate: str, point: Point) -> list[Any]:
        """A window for each block."""
        every = self._p99_s[candidate, int(point.values["neighbour"])]
        return [SimpleNamespace(block=n, attempt=0, p99_s=each) for n, each in enumerate(every)]

    def value_of(self, window: Any, _: Quantity) -> Any:
        """What the window has."""
        return SimpleNamespace(number=window.p99_s)


BESIDE, ALONE = Point.of(users=4, neighbour=500), Point.of(users=4, neighbour=0)


def _absorbed(p99_s: dict[tuple[str, int], list[float]]) -> Effect:
    return absorbed(cast(Any, _Blocks(p99_s)), "a", "b", BESIDE, ALONE, P99)


def test_who_absorbs_better_is_a_ratio_of_growths_in_the_same_blocks() -> None:
    """A grows to twice and to three times, B to one and a half and to 2.25: three quarters."""
    found = _absorbed({
        ("a", 0): [1.0, 2.0], ("a", 500): [2.0, 6.0],
        ("b", 0): [4.0, 4.0], ("b", 500): [6.0, 9.0],
    })  # fmt: skip
    assert found.ratio == pytest.approx(0.75)
    nothing = _absorbed({("a", 0): [1.0], ("a", 500): [], ("b", 0): [1.0], ("b", 500): [1.0]})
    assert nothing.ratio is None
    assert "no block" in str(nothing.missing_because)


def _study(draw: random.Random, better: float) -> dict[tuple[str, int], list[float]]:
    """Ten blocks; the neighbour doubles p99, on B by so much less; blocks drift, windows vary."""
    rows: dict[tuple[str, int], list[float]] = {(n, at): [] for n in "ab" for at in (0, 500)}
    for _ in range(10):
        drift = draw.lognormvariate(0, 0.3)
        for (name, at), values in rows.items():
            growth = (2.0 * (better if name == "b" else 1.0)) if at else 1.0
            values.append(drift * growth * draw.lognormvariate(0, 0.1))
    return rows


def test_of_studies_without_a_difference_few_find_one_and_with_one_nearly_all() -> None:
    """200 of each: at most 9 of 100 alarms, and a difference of 1.5 found by 90 of 100."""
    draw = random.Random(3)
    alarms = sum(bool(_absorbed(_study(draw, 1.0)).distinguishable) for _ in range(200))
    found = sum(bool(_absorbed(_study(draw, 1 / 1.5)).distinguishable) for _ in range(200))
    assert alarms <= 18
    assert found >= 180
