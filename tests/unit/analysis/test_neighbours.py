"""What tenants lose to a neighbour: shares of seconds, fairness, and what pairs of windows say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stithy.analysis.answers.neighbours import (
    Disturbance,
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
