"""Every collector is sampled once a second, its samples become rows, and one that dies says so."""

import threading
from types import ModuleType
from typing import Any

from fakes.clock import HurriedClock
from stithy.collect.collector import Sample, Scope, TimedSample, Unavailable
from stithy.collect.sampler import Sampler, checkpoints_inside, series_rows
from stithy.errors import InfrastructureError
from stithy.metrics import SAMPLER as NAME
from stithy.metrics import CollectedMetric
from stithy.results.tables import SERIES, STOPPED, UNANSWERED
from stithy.results.write import frame_of
from stithy.secrets import Secret


class Steady:
    """A collector that counts its samples and dies at the `dies_at`-th."""

    def __init__(self, enough: threading.Event, dies_at: int | None = None) -> None:
        self.enough, self.dies_at, self.turn, self.closed = enough, dies_at, -1, False

    def sample(self) -> list[Sample]:
        """One value; the first call only takes the reading."""
        self.turn += 1
        if self.turn == self.dies_at:
            raise OSError("the source is gone")
        if self.turn == 2:
            self.enough.set()
        return [Sample("x", "level_bytes", float(self.turn))] if self.turn else []

    def close(self) -> None:
        """Remember it."""
        self.closed = True


def module(name: str, collector: Any, **more: Any) -> ModuleType:
    """A collector's module; `collector` may be an exception that `create` raises."""

    def create(_scope: Scope) -> Any:
        if isinstance(collector, Exception):
            raise collector
        return collector

    made: Any = ModuleType(name)
    made.NAME, made.METRICS, made.create = (
        name,
        (CollectedMetric("level_bytes", "B", "a level"),),
        create,
    )
    for key, value in more.items():
        setattr(made, key, value)
    result: ModuleType = made
    return result


def readings_of(*modules: ModuleType, until: threading.Event) -> tuple[TimedSample, ...]:
    """What a sampler kept until the event was set."""
    sampler = Sampler(Scope((), None, clock=HurriedClock()), {each.NAME: each for each in modules})
    sampler.start()
    assert until.wait(30)
    return sampler.stop()


def of(readings: tuple[TimedSample, ...], collector: str) -> list[TimedSample]:
    """The readings of one collector."""
    return [each for each in readings if each.collector == collector]


def test_readings_carry_collector_unit_and_the_time_of_their_second() -> None:
    """Samples come at whole seconds, a second apart."""
    enough = threading.Event()
    steady = Steady(enough)
    found = of(readings_of(module("steady", steady), until=enough), "steady")
    assert [each.sample.value for each in found[:2]] == [1.0, 2.0]
    assert {each.unit for each in found} == {"B"}
    assert found[1].at_s - found[0].at_s > 0.5
    assert steady.closed


def test_a_collector_that_dies_leaves_a_null_and_the_others_go_on() -> None:
    """Its series ends with the reason; it is closed and not asked again."""
    enough = threading.Event()
    mortal = Steady(enough, dies_at=2)
    readings = readings_of(module("mortal", mortal), module("steady", Steady(enough)), until=enough)
    dead = of(readings, "mortal")
    assert [each.sample.value for each in dead] == [1.0, None]
    assert dead[-1].sample.subject == "x"
    assert dead[-1].sample.missing_because == f"{STOPPED}the source is gone"
    assert mortal.closed
    assert len(of(readings, "steady")) >= 2


def test_a_collector_that_has_nothing_to_sample_gives_its_reason_once() -> None:
    """Unavailable is no fault: every metric is null, without the word that marks a death."""
    enough = threading.Event()
    absent = module("absent", Unavailable("there is no such thing"))
    found = of(readings_of(absent, module("steady", Steady(enough)), until=enough), "absent")
    assert [each.sample.missing_because for each in found] == ["there is no such thing"]


def test_a_metric_that_was_not_declared_ends_its_collector() -> None:
    """A value without a unit is never recorded."""
    enough = threading.Event()
    wrong = module(
        "wrong", Steady(enough), METRICS=(CollectedMetric("other_bytes", "B", "another"),)
    )
    readings = readings_of(wrong, module("steady", Steady(enough)), until=enough)
    assert [each.sample.value for each in of(readings, "wrong")] == [None]


def test_the_sampler_tells_its_own_lateness_and_cost() -> None:
    """Each round has them, by thread; a collector that asks a server has its own thread."""
    enough = threading.Event()
    asks = module("asks", Steady(threading.Event()), BLOCKS=True)
    readings = readings_of(asks, module("steady", Steady(enough)), until=enough)
    own = {(each.sample.subject, each.sample.metric) for each in of(readings, NAME)}
    assert {("", "lateness_s"), ("", "cpu_s"), ("", "duration_s")} <= own
    assert ("asks", "cpu_s") in own


def test_a_collector_that_hangs_is_left_behind_with_a_reason(monkeypatch: Any) -> None:
    """Stopping is bounded; the series says that it is not whole."""
    monkeypatch.setattr("stithy.collect.sampler.LEAVE_PATIENCE_S", 0.05)
    enough, release = threading.Event(), threading.Event()

    class Hanging(Steady):
        def sample(self) -> list[Sample]:
            """Never answer."""
            release.wait(30)
            return []

    hangs = module("hangs", Hanging(enough), BLOCKS=True)
    found = of(readings_of(hangs, module("steady", Steady(enough)), until=enough), "hangs")
    release.set()
    assert found[-1].sample.value is None
    assert (found[-1].sample.missing_because or "").startswith(STOPPED)


def test_a_scope_does_not_print_its_password() -> None:
    """The URL of a scope is a Secret."""
    assert "hush" not in repr(Scope((), Secret("postgresql://u:hush@/d")))


def test_what_is_measured_and_does_not_answer_is_told_apart(monkeypatch: Any) -> None:
    """A stalled server has stopped no collector; a fault of the collector has."""
    monkeypatch.setattr("stithy.collect.sampler.LEAVE_PATIENCE_S", 0.05)
    enough, release = threading.Event(), threading.Event()

    class Stalled(Steady):
        def sample(self) -> list[Sample]:
            """Never answer."""
            release.wait(30)
            return []

    class Gone(Steady):
        def sample(self) -> list[Sample]:
            """Nobody is there."""
            raise InfrastructureError("the server is gone", where="here", remedy="none")

    readings = readings_of(
        module("stalled", Stalled(enough), BLOCKS=True, UNDER_TEST=True),
        module("gone", Gone(enough), UNDER_TEST=True),
        module("broken", Steady(enough, dies_at=1), UNDER_TEST=True),
        module("steady", Steady(enough)),
        until=enough,
    )
    release.set()
    why = {
        name: of(readings, name)[-1].sample.missing_because or "" for name in ("stalled", "gone")
    }
    assert all(text.startswith(UNANSWERED) for text in why.values()), why
    assert (of(readings, "broken")[-1].sample.missing_because or "").startswith(STOPPED)


def checkpoint(at_s: float, began_s: float | None) -> TimedSample:
    """What the database's collector says at a moment about the last checkpoint."""
    return TimedSample(at_s, "database", "s", Sample("", "last_checkpoint_at_s", began_s, None))


def test_rows_are_as_the_table_declares_and_count_seconds_from_the_start() -> None:
    """A sample before the users' start has a negative second."""
    readings = [
        TimedSample(99.0, "cpu", "", Sample("", "user_share", 0.5)),
        TimedSample(101.5, "block", "s", Sample("vda", "read_latency_s", None, "no reads")),
    ]
    frame = frame_of(SERIES, series_rows("w-1", readings, started_at_s=100.0))
    assert frame["second"].to_list() == [-1.0, 1.5]
    assert frame["missing_because"].to_list() == [None, "no reads"]


def test_without_a_start_the_second_is_null() -> None:
    """A window whose users never started keeps its series by Unix time."""
    readings = [TimedSample(99.0, "cpu", "", Sample("", "user_share", 0.5))]
    assert series_rows("w-1", readings, None)[0]["second"] is None


def test_checkpoints_count_when_they_begin_and_end_inside() -> None:
    """One that began before does not count; one seen twice counts once."""
    readings = [
        checkpoint(101, 90),
        checkpoint(105, 103),
        checkpoint(106, 103),
        checkpoint(109, 107),
    ]
    assert checkpoints_inside(readings, 100.0, 110.0) == 2
    assert checkpoints_inside(readings, 104.0, 110.0) == 1
    assert checkpoints_inside(readings, 100.0, 104.0) == 0


def test_without_readings_the_number_of_checkpoints_is_not_known() -> None:
    """Not 0: nobody looked."""
    assert checkpoints_inside([checkpoint(101, None)], 100.0, 110.0) is None
