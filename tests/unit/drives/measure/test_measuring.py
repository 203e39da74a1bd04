"""Rounds, slices, and what is said of a machine that had other work."""

import pytest

from fakes.clock import FakeClock
from fakes.fio import FioRunner, SimulatedDrive
from stithy.drives.measure.fio import Fio, Place
from stithy.drives.measure.measuring import Plan, Watch, busy, measure, unsteady
from stithy.drives.measure.points import Point, Schedule
from support.measured_drive import measured

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
