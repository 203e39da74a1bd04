"""What is asked of a drive and in which time; histograms merged; a machine that had other work."""

import random

import pytest

from fakes.clock import FakeClock
from fakes.fio import FioRunner, SimulatedDrive
from stithy.drives.measure.fio import Fio, Place
from stithy.drives.measure.measurement import Histogram, PointResult, Served, merged, together
from stithy.drives.measure.measuring import Plan, Watch, busy, measure, unsteady
from stithy.drives.measure.points import OVERHEAD_S, Point, Schedule, matrix, order, schedule
from stithy.errors import UserError
from support.measured_drive import measured


def test_nothing_is_written_unless_it_is_allowed() -> None:
    """Without writing the matrix has reads only."""
    assert not any(point.writes for point in matrix(writing=False))
    assert any(point.writes for point in matrix(writing=True))


def test_the_matrix_has_every_size_and_depth_once() -> None:
    """From 4 KiB to 1 MiB, from 1 to 64 under way."""
    points = matrix(writing=True)
    assert len(set(points)) == len(points)
    assert {point.length_bytes for point in points} == {4096, 16384, 131072, 1048576}
    assert {point.depth for point in points} >= {1, 2, 4, 8, 16, 32, 64}


@pytest.mark.parametrize("duration_s", [80.0, 180.0, 600.0, 3600.0])
def test_a_schedule_takes_its_time_and_no_more(duration_s: float) -> None:
    """All rounds of all points, their overhead, and writing without a pause fill the duration."""
    points = len(matrix(writing=True))
    made = schedule(duration_s, points, sustained=True)
    each_s = made.point_s + made.settle_s + OVERHEAD_S
    assert made.rounds * points * each_s + made.sustained_s == pytest.approx(duration_s)
    assert 0.5 <= made.point_s <= 5.0


def test_more_time_becomes_more_rounds() -> None:
    """What changes slowly reaches all points alike."""
    assert schedule(80.0, 46, sustained=True).rounds == 1
    assert schedule(600.0, 46, sustained=True).rounds == 3
    assert schedule(3600.0, 46, sustained=True).rounds > 3


def test_too_short_a_time_is_refused_with_the_least_that_will_do() -> None:
    """The remedy can be taken at its word."""
    with pytest.raises(UserError) as refused:
        schedule(5.0, 20, sustained=False)
    assert "give at least 27 s" in refused.value.remedy
    assert schedule(27.0, 20, sustained=False).rounds == 1


def test_each_round_has_all_points_in_an_order_that_follows_from_the_seed() -> None:
    """The same seed gives the same orders, another one others."""
    points = matrix(writing=False)
    rounds = order(points, 3, seed=7)
    assert all(set(each) == set(points) for each in rounds)
    assert rounds[0] != rounds[1]
    assert rounds == order(points, 3, seed=7)
    assert rounds != order(points, 3, seed=8)


def test_a_point_names_itself() -> None:
    """People read the name in tables."""
    assert Point(1.0, 4096, 16).name == "read 4 KiB, depth 16"
    assert Point(0.7, 4096, 1).name == "70% read 4 KiB, depth 1"
    flushed = Point(0.0, 131072, 1, sequential=True, flushed_every=32)
    assert flushed.name == "write 128 KiB in sequence, depth 1, flushed every 32"


def histogram(times_ns: list[int]) -> Histogram:
    """One of these times."""
    counts = {each: times_ns.count(each) for each in sorted(set(times_ns))}
    return Histogram(counts_by_ns=counts, sum_s=sum(times_ns) / 1e9)


def test_the_parts_merged_are_the_whole_in_any_order() -> None:
    """Quantiles and mean are those of all times together."""
    draw = random.Random(4)
    times = [draw.randrange(1, 500) for _ in range(300)]
    parts = [histogram(times[:10]), histogram(times[10:250]), histogram(times[250:])]
    whole = merged(parts)
    assert whole.counts_by_ns == histogram(times).counts_by_ns
    assert merged(reversed(parts)).counts_by_ns == whole.counts_by_ns
    for share in (0.01, 0.5, 0.99, 1.0):
        rank = max(1, -(-int(share * 1000) * len(times) // 1000))
        assert whole.quantile_s(share) == sorted(times)[rank - 1] / 1e9


def test_an_empty_histogram_has_no_figures() -> None:
    """Missing is None, never 0."""
    empty = merged([])
    assert empty.mean_s is None
    assert empty.quantile_s(0.5) is None


def served(count: int, duration_s: float) -> Served:
    """Some requests."""
    return Served(
        latency=histogram([1000] * count),
        moved_bytes=4096 * count,
        duration_s=duration_s,
        iops_max=count / duration_s,
        bytes_per_s_max=4096 * count / duration_s,
    )


def test_the_rate_of_rounds_is_that_of_their_whole_time() -> None:
    """A longer round weighs more; the best half second stays the best."""
    both = together([PointResult(read=served(100, 1.0)), PointResult(read=served(500, 3.0))]).read
    assert both is not None
    assert both.iops == 150
    assert both.iops_max == 500 / 3
    assert together([PointResult(read=served(1, 1.0))]).write is None


MIB = 2**20
PLACE = Place("/dev/x", "x", 256 * MIB, may_write=True)
POINTS = (Point(1.0, 4096, 1), Point(0.7, 4096, 16))


class Passing(FakeClock):
    """A clock on which a second passes whenever someone looks."""

    def monotonic_s(self) -> float:
        """A second later than at the last look."""
        self.sleep_s(1.0)
        return super().monotonic_s()


def test_every_point_is_measured_once_a_round() -> None:
    """Each time at other places, and merged."""
    runner = FioRunner()
    fio = Fio("fio", "fio-3.33", "libaio", runner)
    facts = measured(SimulatedDrive(), writing=False).target
    plan = Plan(POINTS, Schedule(0.1, 3, 0.0), seed=1)
    done = measure(fio, PLACE, plan, facts, Watch())
    assert len(runner.commands) == 6
    assert len({each["randseed"] for each in runner.commands}) == 6
    assert [len(each.iops_by_round) for each in done.matrix] == [3, 3]
    assert done.at.endswith("Z")
    assert done.sustained == ()


def test_writing_without_a_pause_goes_on_where_it_ended() -> None:
    """All over the place, and not at its beginning again and again."""
    runner = FioRunner()
    fio = Fio("fio", "fio-3.33", "libaio", runner)
    facts = measured(SimulatedDrive(), writing=False).target
    plan = Plan(POINTS, Schedule(0.1, 1, 10.0), seed=1)
    done = measure(fio, PLACE, plan, facts, Watch(), Passing())
    offsets = [int(each["offset"]) for each in runner.commands[2:]]
    assert len(done.sustained) == len(offsets) > 2
    assert len(set(offsets)) > 1
    assert all(each % (64 * MIB) == 0 and each < PLACE.span_bytes for each in offsets)


def test_rounds_that_differ_are_named() -> None:
    """By more than a tenth of their mean."""
    whole = measured(SimulatedDrive(), writing=False)
    first = whole.matrix[0].model_copy(update={"iops_by_round": (100.0, 130.0)})
    second = whole.matrix[1].model_copy(update={"iops_by_round": (100.0, 101.0)})
    assert unsteady(whole.model_copy(update={"matrix": (first, second)})) == ["read 4 KiB, depth 1"]


@pytest.mark.parametrize(("load", "told"), [(0.2, False), (0.6, True), (9.0, True)])
def test_other_work_on_the_machine_is_told(load: float, told: bool) -> None:
    """It would be measured too."""
    assert (busy(load, cpus=2) is not None) == told
