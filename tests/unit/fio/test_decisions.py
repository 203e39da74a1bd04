"""Sweeps and steady states are judged as written; preconditioning follows SNIA's rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stithy.fio.jobfile import make_job_file
from stithy.fio.load import (
    ROUNDS_MOST,
    FioLoad,
    FioTarget,
    decide,
    find_steady_round,
    judge_steadiness,
    plan,
)
from stithy.fio.variants import is_past, judge

LONG_S = 1e6
"""So many requests that chance is none."""


@pytest.mark.parametrize(("share", "achieved_share", "duration_s", "state"), [
    (0.5, 1.0, LONG_S, "kept"),
    (0.5, 0.981, LONG_S, "kept"),
    (0.5, 0.979, LONG_S, "missed"),
    (0.5, 1.021, LONG_S, "missed"),
    (1.0, 0.95, LONG_S, "saturated"),
    (1.2, 0.83, LONG_S, "saturated"),
    (1.2, 1.0, LONG_S, "kept"),
    (1.2, 1.1, LONG_S, "missed"),
    (0.5, 0.92, 1.0, "kept"),
    (0.5, 0.80, 1.0, "missed"),
])  # fmt: skip
def test_a_point_misses_its_rate_by_two_percent_or_by_more_than_chance(
    share: float, achieved_share: float, duration_s: float, state: str
) -> None:
    """1000 arrivals a second for 1 s differ by 9.5 % only by chance."""
    assert judge(share, 1000.0, 1000 * achieved_share, duration_s) == state


def test_a_sweep_stops_past_its_latency_if_it_has_a_limit() -> None:
    """What is not known is past nothing."""
    assert (is_past(2e-3, 1e-3), is_past(1e-3, 1e-3)) == (True, False)
    assert (is_past(None, 1e-3), is_past(5.0, None)) == (False, False)


@pytest.mark.parametrize(("values", "is_steady"), [
    ([104.0, 88, 104, 102, 105], True),  # not, where each value must be within a tenth
    ([94.0, 97, 100, 103, 106], False),  # steady, where the slope is that of one sample
    ([106.0, 103, 100, 97, 94], False),  # steady, where each value must be within a tenth
    ([85.0, 115, 100, 115, 85], False),  # steady, where a fifth is allowed both ways
])  # fmt: skip
def test_steady_is_as_snia_says_where_others_differ(values: list[float], is_steady: bool) -> None:
    """SSSPT's verify_steady_state.py, StorPerf and fio's own rules say the contrary of each."""
    assert judge_steadiness(values).is_steady is is_steady


def test_both_bounds_of_the_rule_are_inclusive() -> None:
    """A range of 20 %, a rise of 10 % in the window; a mean of 0 and four rounds are not steady."""
    rising = judge_steadiness([95.0, 97.5, 100, 102.5, 105])
    assert rising.is_steady
    assert rising.excursion_share == pytest.approx(0.1)
    assert not judge_steadiness([94.9, 97.5, 100, 102.5, 105.1]).is_steady
    wide = judge_steadiness([90.0, 110, 100, 110, 90])
    assert wide.is_steady
    assert wide.range_share == pytest.approx(0.2)
    assert not judge_steadiness([0.0] * 5).is_steady
    assert judge_steadiness([1.0] * 4).range_share is None


@given(st.lists(st.floats(1, 1e6), min_size=5, max_size=5), st.floats(0.01, 100))
def test_the_rule_knows_no_unit_and_no_direction_of_time(values: list[float], unit: float) -> None:
    """Only near a bound may an error of floats decide."""
    found = judge_steadiness(values)
    assert found.range_share is not None
    assert found.excursion_share is not None
    if min(abs(found.range_share - 0.2), abs(found.excursion_share - 0.1)) > 1e-6:
        assert judge_steadiness([value * unit for value in values]).is_steady == found.is_steady
        assert judge_steadiness(values[::-1]).is_steady == found.is_steady


def test_rounds_go_on_until_all_tracked_values_are_steady_or_25_are_done() -> None:
    """The window slides: what was unsteady before it does not matter."""
    early, late = [50.0, 100, 100, 100, 100, 100, 100], [9.0, 60.0, 100, 100, 100, 100, 100]
    assert find_steady_round({"a": early}) == 6
    assert find_steady_round({"a": early, "b": late}) == 7
    assert decide({"a": early[:5], "b": late[:5]}).goes_on
    ended = decide({"a": early, "b": late})
    assert (ended.goes_on, ended.rounds, ended.steady_after) == (False, 7, 7)
    never = [float(10**at) for at in range(ROUNDS_MOST)]
    assert decide({"a": never[:-1]}).goes_on
    assert not decide({"a": never}).goes_on
    assert decide({"a": never}).steady_after is None


def test_snias_round_has_56_tests_and_tracks_three() -> None:
    """The database's has four, all tracked; all of them become job files."""
    full = plan("snia", "full", is_device=True)
    assert (len(full.patterns), full.passes, full.purge) == (56, 2, "discard")
    names = {each.name for each in full.patterns}
    assert set(full.tracked) == {"0-100-4k", "65-35-64k", "100-0-1m"} <= names
    short = plan("snia", is_device=False)
    assert (len(short.patterns), len(short.tracked), short.purge) == (4, 4, "recreate")
    for pattern in full.patterns:
        assert (
            make_job_file(pattern, FioTarget("/x", 2**30), FioLoad(60, 0, 1)).streams[0].outstanding
            == 128
        )


def test_without_rounds_a_target_is_only_filled_or_left() -> None:
    """So that nothing is read from where nothing was written."""
    fill = plan("fill", is_device=True)
    assert (fill.passes, fill.purge, fill.patterns) == (1, "none", ())
    assert fill.count_written_bytes(1000) == 1000
    assert plan("none", is_device=True).passes == 0
