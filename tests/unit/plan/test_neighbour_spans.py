"""When a neighbour worked, by its spans."""

from types import SimpleNamespace
from typing import Any

from stithy.scenarios.noisy_neighbour.activity import NeighbourAnalyticScan
from stithy.scenarios.noisy_neighbour.beside import NeighbourCycle
from stithy.scenarios.noisy_neighbour.declared import WHOLE, list_work_times, name_cycle


def _span(name: str, from_s: float, to_s: float | None, outcome: str = "done") -> dict[str, Any]:
    return {"name": name, "from_s": from_s, "to_s": to_s, "outcome": outcome}


ALL = _span(WHOLE, 0.0, 60.0)


def test_who_works_in_cycles_worked_in_these_and_who_has_none_from_begin_to_end() -> None:
    """A cycle that failed, or was cut, was work as well; parts of one are no more of it."""
    several = [
        _span(name_cycle(1), 5.0, 9.0), _span(name_cycle(1, "backup"), 5.0, 7.0),
        _span(name_cycle(2), 15.0, 16.0, "failed"), _span(name_cycle(3), 55.0, 60.0, "cut"),
    ]  # fmt: skip
    assert list_work_times([ALL, *several]) == [(5.0, 9.0), (15.0, 16.0), (55.0, 60.0)]
    assert list_work_times([ALL]) == [(0.0, 60.0)]
    assert list_work_times([]) == []


def test_scans_at_once_of_which_only_one_that_failed_is_a_span_worked_all_the_time() -> None:
    """Else isolation would be that of the seconds of the failure."""
    failed = _span(name_cycle(17), 30.0, 31.0, "failed")
    assert list_work_times([ALL, failed]) == [(0.0, 60.0)]
    assert list_work_times([failed]) == [(30.0, 31.0)]


def test_scans_at_fixed_times_are_spans_so_that_their_pauses_are_known() -> None:
    """Of those that follow at once there may be thousands."""
    scan: Any = NeighbourAnalyticScan.__new__(NeighbourAnalyticScan)
    good, bad = NeighbourCycle(0, 5.0, 6.0), NeighbourCycle(0, 5.0, 6.0, failed_because="gone")
    for every_s, spans in ((10.0, [good, bad]), (0.0, [bad])):
        scan.spec, scan.cycles = SimpleNamespace(every_s=every_s), [good, bad]
        expected = ["failed" if one is bad else "done" for one in spans]
        assert [each.outcome for each in scan.spans()] == expected
