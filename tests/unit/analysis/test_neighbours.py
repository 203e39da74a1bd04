"""What tenants lose to a neighbour: shares of seconds, fairness, and what pairs of windows say."""

import random
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stithy.activities.hammer.judge import count_backup_commits, find_commits
from stithy.analysis.comparisons import compare_with_alone, pair_windows
from stithy.analysis.effect import (
    Effect,
    Paired,
    compare_losses,
    estimate_paired_difference,
    estimate_paired_ratio,
    make_unknown_effect,
)
from stithy.analysis.invariants import count_servers
from stithy.engines.engine import declaration
from stithy.metrics import Quantity
from stithy.point import Point
from stithy.registry import plugins
from stithy.scenarios.noisy_neighbour.disturbance import (
    ACHIEVED_SHARE,
    GROWTH_MOST,
    Disturbance,
    measure_disturbance,
)
from stithy.scenarios.noisy_neighbour.reactions import (
    Moments,
    compare_pair,
    find_first_percentile,
    find_worst_second,
    measure_fairness,
    measure_isolation,
)
from stithy.workloads.workload import Workload

P99 = Quantity("p99")
BESIDE, ALONE = Point.of(users=4, neighbour=500), Point.of(users=4, neighbour=0)


def test_shares_are_of_the_mean_alone_of_all_tenants_together() -> None:
    """One tenant halved and one untouched: three quarters of the work of two alike."""
    found = compare_pair({"a": [10, 30], "b": [20, 20]}, {"a": [10, 10], "b": [20, 20]})
    assert found is not None
    assert found.kept == (0.75, 0.75)
    assert found.alone_kept == (0.75, 1.25)
    assert found.slowdowns == {"a": 0.5, "b": 1.0}
    assert found.goodput == 0.75


def test_seconds_in_which_a_neighbour_rests_do_not_count_for_isolation() -> None:
    """It worked in the second of two seconds; what tenants did in all still counts as theirs."""
    found = compare_pair({"a": [10, 10]}, {"a": [10, 4]}, (False, True))
    assert found is not None
    assert found.kept == (0.4,)
    assert found.all_kept == (1.0, 0.4)
    assert found.goodput == 0.7
    assert measure_isolation(found.kept) == 0.0


def test_without_seconds_of_anybody_there_is_no_pair() -> None:
    """Nor with a tenant that had no work alone: there is nothing to be a share of."""
    assert compare_pair({"a": [10]}, {}) is None
    assert compare_pair({"a": [0, 0]}, {"a": [9]}) is None


def test_isolation_counts_seconds_and_the_first_percentile_is_the_worst_of_a_hundred() -> None:
    """A second with exactly nine tenths is isolated. Of fewer seconds it is the worst, named so."""
    assert measure_isolation([0.9, 1.2, 0.89, 1.0]) == 0.75
    many = [float(each) for each in range(200, 0, -1)]
    assert (find_first_percentile(many), find_worst_second(many)) == (2.0, None)
    assert (find_first_percentile([0.5, 0.2]), find_worst_second([0.5, 0.2])) == (None, 0.2)
    assert (measure_isolation([]), find_first_percentile([]), find_worst_second([])) == (
        None,
        None,
        None,
    )


@given(st.lists(st.floats(0.01, 10), min_size=1, max_size=20), st.floats(0.1, 10))
def test_fairness_lies_between_one_of_n_and_one_and_knows_no_unit(
    shares: list[float], factor: float
) -> None:
    """It says how alike tenants slow down, not how much."""
    found = measure_fairness(shares)
    assert found is not None
    assert 1 / len(shares) - 1e-9 <= found <= 1 + 1e-9
    assert found == pytest.approx(measure_fairness([each * factor for each in shares]))


def test_fairness_is_one_of_n_where_one_tenant_gets_all_that_is_left() -> None:
    """And unknown where nobody gets anything."""
    assert measure_fairness([0.0, 0.0, 0.7, 0.0]) == pytest.approx(0.25)
    assert measure_fairness([0.0, 0.0]) is None


TIGHT = estimate_paired_ratio([1.0] * 4, [1.5, 1.51, 1.52, 1.5])
LOST_NOTHING = estimate_paired_difference([0.9] * 4, [0.95, 0.85, 0.9, 0.92])


def _disturbance(growth: Effect = TIGHT, **known: Any) -> Disturbance:
    """Beside a neighbour of which 500 were asked and 400 let through."""
    usual: dict[str, Any] = {
        "asked": 500.0, "offered": 400.0, "achieved": 400.0, "isolation": 0.95,
        "alone_isolation": 0.99, "goodput": 0.9, "lost": LOST_NOTHING,
    }  # fmt: skip
    return Disturbance("a", BESIDE, {P99: Paired(growth)}, **usual | known)


def test_a_neighbour_is_borne_by_the_upper_end_of_the_interval() -> None:
    """It is not where the interval lies beyond; what holds both is not decided."""
    wide = estimate_paired_ratio([1.0] * 4, [1.2, 2.0, 1.1, 1.9])
    assert _disturbance().is_bearable(P99) is True
    assert _disturbance(wide).is_bearable(P99) is None
    assert (
        _disturbance(estimate_paired_ratio([1.0] * 4, [3.0, 3.1, 3.2, 3.0])).is_bearable(P99)
        is False
    )
    assert _disturbance(estimate_paired_ratio([1.0], [1.5])).is_bearable(P99) is None


def test_a_plain_interval_gives_no_claim() -> None:
    """Three blocks say neither that a neighbour is borne nor that it is not."""
    assert (
        _disturbance(estimate_paired_ratio([1.0] * 3, [1.5, 1.51, 1.52])).is_bearable(P99) is None
    )
    assert _disturbance(estimate_paired_ratio([1.0] * 3, [3.0, 3.1, 3.2])).is_bearable(P99) is None
    clear = estimate_paired_difference([0.9] * 3, [0.5, 0.51, 0.52])
    assert _disturbance(isolation=0.51, alone_isolation=0.9, lost=clear).isolated is None


def test_a_neighbour_is_refused_by_the_interval_that_is_shown() -> None:
    """The plain one of the same four blocks lies beyond the bound, and is narrower."""
    growth = estimate_paired_ratio([1.0] * 4, [2.6, 3.4, 2.7, 3.3])
    assert growth.plain_bounds is not None
    assert growth.low is not None
    assert growth.plain_bounds[0] > GROWTH_MOST > growth.low
    assert _disturbance(growth).is_bearable(P99) is None
    lost = estimate_paired_difference([0.9] * 4, [0.5, 0.7, 0.75, 0.55])
    assert lost.plain_bounds is not None
    assert lost.high is not None
    assert lost.plain_bounds[1] < 0 < lost.high
    assert _disturbance(isolation=0.625, alone_isolation=0.9, lost=lost).isolated is None


def test_isolation_that_is_lost_decides_without_a_percentile() -> None:
    """A tenant that keeps a tenth has too few transactions for one. All blocks may be alike."""
    ruined = estimate_paired_difference([1.0] * 4, [0.0] * 4)
    nothing = make_unknown_effect("it needs 1,000 answers")
    assert _disturbance(nothing, isolation=0.0, lost=ruined).is_bearable(P99) is False
    assert _disturbance(nothing).is_bearable(P99) is None


def test_isolation_is_judged_by_what_chance_leaves_of_it_alone() -> None:
    """0.85 of 0.9 is nothing lost; too little is only lost where it differs between blocks."""
    assert _disturbance(isolation=0.85, alone_isolation=0.9).isolated is True
    unclear = estimate_paired_difference([0.9] * 4, [0.5, 0.95, 0.9, 0.8])
    assert _disturbance(isolation=0.79, alone_isolation=0.9, lost=unclear).isolated is None
    clear = estimate_paired_difference([0.9] * 4, [0.5, 0.55, 0.6, 0.5])
    assert _disturbance(isolation=0.54, alone_isolation=0.9, lost=clear).isolated is False
    assert _disturbance(isolation=0.75, alone_isolation=0.75).isolated is None
    assert _disturbance(isolation=0.5, alone_isolation=0.75, lost=clear).isolated is False
    assert _disturbance(isolation=0.5, alone_isolation=None).isolated is None


def test_a_percentile_that_need_not_show_the_neighbour_says_nothing_of_it() -> None:
    """It worked in one of a hundred seconds: the slowest hundredth may be all that it touched."""
    assert _disturbance(worked=0.01).is_bearable(P99) is None
    assert _disturbance(worked=0.5).is_bearable(P99) is True


def test_a_neighbour_is_saturated_by_what_was_offered_and_works_by_what_it_asked() -> None:
    """A limit that holds it back is no saturation of the storage."""
    held = _disturbance(achieved=390.0)
    assert (held.saturated, held.limited) == (False, True)
    assert held.work == pytest.approx(0.9 + 390 / 500)
    assert _disturbance(achieved=379.0).saturated


def test_a_neighbour_is_limited_only_where_it_achieved_less_than_was_asked() -> None:
    """A limit that nobody meets holds nobody back; of one without a rate it is not known."""
    assert not _disturbance(offered=None, achieved=490.0, has_limit=True).limited
    assert _disturbance(offered=None, achieved=300.0, has_limit=True).limited
    assert not _disturbance(asked=None, offered=None, has_limit=True).limited
    assert not _disturbance(offered=500.0 * ACHIEVED_SHARE, achieved=475.0).limited


def _counted_window(client: int, server: int, job_s: float, users: int = 1) -> dict[str, Any]:
    """A window in which both sides counted so many commits."""
    return {
        "client_commits": client, "server_commits": server, "started_at_s": 0.0,
        "measure_to_s": job_s, "users": users, "connections_opened": users,
        "connections_reopened": 0, "maintenance_runs": 0,
    }  # fmt: skip


def test_what_servers_commit_by_themselves_is_allowed_to_each_of_them() -> None:
    """Of twelve tenants twelve times as much, of a tenant that was lost nothing."""
    window = _counted_window(168, 422, 7.0, users=12)
    rates = {("tenant.tpm", f"tenant-{n}"): {"value": 120.0} for n in range(12)}
    engine = declaration("postgresql")
    assert find_commits(window, engine, count_servers(rates)) is None
    one = find_commits(window, engine, count_servers({}))
    assert one is not None
    assert one.invalidates
    assert count_servers({**rates, ("tenant.tpm", "tenant-0"): {"value": None}}) == 11


@pytest.mark.parametrize(("engine", "options", "is_compared"), [
    ("postgresql", "mix=read_write", True),
    ("postgresql", "mix=point_select", True),
    ("postgresql", "mix=read_write, skip_trx=true", False),
    ("mariadb", "mix=read_write, skip_trx=false", True),
    ("mariadb", "mix=point_select", False),
])  # fmt: skip
def test_commits_are_compared_where_a_transaction_counts_once(
    engine: str, options: str, is_compared: bool
) -> None:
    """MariaDB counts COMMIT, and no statement that is a transaction of its own."""
    window = _counted_window(100, 0, 1.0) | {"options": options}
    reason = find_commits(window, declaration(engine), workload=plugins(Workload)["oltp"])
    assert (reason is not None) is is_compared


def test_what_the_programs_of_backups_commit_is_allowed_beside_it() -> None:
    """Of two dumps by two processes each; without them the same count is too much."""
    window = _counted_window(100, 200, 0.0)
    engine, values = declaration("postgresql"), {("backup.commits", "all"): {"value": 144.0}}
    assert find_commits(window, engine) is not None
    assert find_commits(window, engine, backups=count_backup_commits({})) is not None
    assert find_commits(window, engine, backups=count_backup_commits(values)) is None


class _Blocks:
    """Evidence of two candidates: by candidate and point, the p99 of each block."""

    def __init__(self, p99_s: dict[tuple[str, int], list[float]]) -> None:
        self._p99_s = p99_s

    def effect(self, _: str, name: str, point: Point, __: Quantity, alone: Point) -> Effect:
        """Over the blocks of both."""
        both = list(pair_windows(cast(Any, self), name, point, alone))
        windows: Any = both  # of its own
        return estimate_paired_ratio([a.p99_s for a, _ in windows], [b.p99_s for _, b in windows])

    def level_of(self, *_: Any) -> float | None:
        """Nothing is known of the neighbour."""
        return None

    def valid_at(self, candidate: str, point: Point) -> list[Any]:
        """A window for each block."""
        every = self._p99_s[candidate, int(point.values["neighbour"])]
        point_id = point.values["neighbour"]
        return [
            SimpleNamespace(id=f"{point_id}-{n}", block=n, attempt=0, p99_s=each)
            for n, each in enumerate(every)
        ]

    def value_of(self, window: Any, _: Quantity) -> Any:
        """What the window has."""
        return SimpleNamespace(number=window.p99_s)


def _absorbed(p99_s: dict[tuple[str, int], list[float]]) -> Effect:
    of_a, of_b = (
        compare_with_alone(cast(Any, _Blocks(p99_s)), name, BESIDE, ALONE, P99) for name in "ab"
    )
    return compare_losses(of_a, of_b)


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


def _counted(draw: random.Random, seconds: int, per_s: float) -> list[int]:
    """Arrivals by Poisson, near enough by the normal distribution."""
    return [max(0, round(draw.gauss(per_s, per_s**0.5))) for _ in range(seconds)]


def _isolated(draw: random.Random, keeps: float, blocks: int = 4) -> bool | None:
    """Of a study as those that come with it: two tenants of 75 a second, blocks of 16 s."""
    seconds = {
        f"{at}-{block}": {name: _counted(draw, 16, 75 * share) for name in "ab"}
        for at, share in ((0, 1.0), (500, keeps))
        for block in range(blocks)
    }
    evidence = cast(Any, _Blocks({("a", 0): [1.0] * blocks, ("a", 500): [1.0] * blocks}))
    return measure_disturbance(evidence, seconds, "a", BESIDE, ALONE, {}).isolated


def test_a_harmless_neighbour_is_seldom_said_to_disturb_and_a_harmful_one_seldom_to_do_not() -> (
    None
):
    """200 of each. Chance takes a tenth of the seconds alone, which decides nothing.

    Four blocks leave one harmful neighbour of four undecided, and six next to none.
    """
    draw = random.Random(5)
    harmless = [_isolated(draw, 1.0) for _ in range(200)]
    harmful = [_isolated(draw, 0.85) for _ in range(200)]
    assert harmless.count(False) <= 2
    assert harmless.count(True) >= 170
    assert harmful.count(True) == 0
    assert harmful.count(False) >= 140
    assert [_isolated(draw, 0.85, blocks=6) for _ in range(200)].count(False) >= 190


def test_the_tenant_that_keeps_least_is_seen_among_many() -> None:
    """One of twelve starves; all together keep more than nine tenths."""
    names = [f"tenant-{n}" for n in range(1, 13)]
    alone = {name: [10, 10] for name in names}
    seconds = {"0-0": alone, "500-0": {**alone, "tenant-7": [1, 1]}}
    evidence = cast(Any, _Blocks({("a", 0): [1.0], ("a", 500): [1.0]}))
    found = measure_disturbance(evidence, seconds, "a", BESIDE, ALONE, {})
    assert (found.isolation, found.least_kept) == (1.0, 0.1)


def test_what_chance_alone_would_seem_to_do_is_asked_at_the_same_moments_alone() -> None:
    """A cycle in the seconds 2 to 6; the window alone had three poor seconds there by itself."""
    at_s = [float(each) for each in range(100, 110)]
    poor = [10, 10, 10, 2, 2, 2, 10, 10, 10, 10]
    seconds = {"0-0": {"a": poor}, "500-0": {"a": poor}}
    moments = {"500-0": Moments(at_s, [(102.5, 106.5)], failed=1)}
    evidence = cast(Any, _Blocks({("a", 0): [1.0], ("a", 500): [1.0]}))
    found = measure_disturbance(evidence, seconds, "a", BESIDE, ALONE, {}, moments)
    assert found.felt is not None
    assert found.felt == found.by_chance
    assert (found.felt.felt, found.failed) == (1, 1)
