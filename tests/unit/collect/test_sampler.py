"""Every collector is sampled once a second, its samples become rows, and one that dies says so."""

import threading
from dataclasses import replace
from typing import Any

import pytest

from fakes.clock import HurriedClock
from stithy.collectors.collector import (
    Collector,
    InstanceScope,
    Sample,
    Scope,
    TimedSample,
    Unavailable,
)
from stithy.errors import InfrastructureError
from stithy.metrics import SAMPLER as NAME
from stithy.metrics import CollectedMetric
from stithy.results.files import make_frame
from stithy.results.tables import SERIES, STOPPED, UNANSWERED
from stithy.run.sampler import Sampler, count_checkpoints_inside, make_series_rows

LEAVE_PATIENCE_S = 0.5
"""So long a busy machine may leave a thread that does not hang."""


class _Steady:
    """Counts its samples; at the `fails_at`-th it fails with an error, or hangs on an event.

    `enough`: once it has said what is asked of it here.
    """

    def __init__(self, fails_at: int = -1, failure: Exception | threading.Event | None = None):
        self.enough, self.turn, self.closed = threading.Event(), -1, False
        self._fails_at, self._failure = fails_at, failure or OSError("the source is gone")

    def sample(self) -> list[Sample]:
        self.turn += 1
        if self.turn in (2, self._fails_at):
            self.enough.set()
        if self.turn == self._fails_at:
            if isinstance(self._failure, Exception):
                raise self._failure
            self._failure.wait(30)
        return [Sample("x", "level_bytes", float(self.turn))] if self.turn else []

    def close(self) -> None:
        self.closed = True


def _kind(name: str, live: Any, metric: str = "level_bytes", **more: Any) -> Collector:
    def create(_scope: Scope) -> Any:
        if isinstance(live, Exception):
            raise live
        return live

    metrics = (CollectedMetric(metric, "B", "a level"),)
    return Collector(name, "levels", metrics, **{"create": create, **more})


def _of_each(create: Any, **more: Any) -> Collector:
    return _kind("of_each", None, create=None, create_for=create, **more)


def test_readings_come_every_second_and_what_fails_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the reason; a stalled server has stopped no collector, a fault of the collector has."""
    monkeypatch.setattr("stithy.run.sampler.LEAVE_PATIENCE_S", LEAVE_PATIENCE_S)
    release, steady, mortal, asks = threading.Event(), _Steady(), _Steady(2), _Steady()
    hanging = _Steady(0, release), _Steady(0, release)
    gone = InfrastructureError("the server is gone", where="here", remedy="none")
    kinds = {kind.name: kind for kind in (
        _kind("steady", steady), _kind("mortal", mortal), _kind("broken", _Steady(1)),
        _kind("absent", Unavailable("there is no such thing")),
        _kind("undeclared", _Steady(), "other_bytes"), _kind("asks", asks, blocks=True),
        _kind("hangs", hanging[0], blocks=True),
        _kind("stalled", hanging[1], blocks=True, is_under_test=True),
        _kind("gone", _Steady(0, gone), is_under_test=True),
    )}  # fmt: skip
    sampler = Sampler(Scope((), clock=HurriedClock()), kinds)
    sampler.start()
    assert all(live.enough.wait(30) for live in (steady, mortal, asks, *hanging))
    readings = sampler.stop()
    release.set()
    found = {name: [r for r in readings if r.collector == name] for name in kinds}
    values = {name: [each.sample.value for each in shown] for name, shown in found.items()}
    why = {name: shown[-1].sample.missing_because or "" for name, shown in found.items()}
    assert values["steady"][:2] == [1.0, 2.0]
    assert found["steady"][1].at_s - found["steady"][0].at_s > 0.5
    assert {each.unit for each in found["steady"]} == {"B"}
    assert (values["mortal"], why["mortal"]) == ([1.0, None], f"{STOPPED}the source is gone")
    assert (steady.closed, mortal.closed) == (True, True)
    assert why["absent"] == "there is no such thing"
    assert all(values[name] == [None] for name in found.keys() - {"steady", "mortal", "asks"})
    assert all(why[name].startswith(UNANSWERED) for name in ("stalled", "gone")), why
    assert all(why[name].startswith(STOPPED) for name in ("hangs", "broken", "undeclared")), why
    own = {(each.sample.subject, each.sample.metric) for each in readings if each.collector == NAME}
    assert {("", "lateness_s"), ("", "cpu_s"), ("", "duration_s"), ("asks", "cpu_s")} <= own


@pytest.mark.parametrize("blocks", [False, True])
def test_samples_name_their_server(monkeypatch: pytest.MonkeyPatch, blocks: bool) -> None:
    """One that fails or hangs ends alone; the machine is sampled once, whoever works on it."""
    monkeypatch.setattr("stithy.run.sampler.LEAVE_PATIENCE_S", LEAVE_PATIENCE_S)
    release = threading.Event()
    failure = release if blocks else None
    made = {"t1": _Steady(), "t2": _Steady(1, failure)}
    of_each, machine = _of_each(lambda _, at: made[at.name], blocks=blocks), _Steady()
    scope = Scope((), tuple(map(InstanceScope, made)), clock=HurriedClock())
    sampler = Sampler(scope, {"of_each": of_each, "machine": _kind("machine", machine)})
    sampler.start()
    assert all(live.enough.wait(30) for live in (machine, *made.values()))
    readings = sampler.stop()
    release.set()
    found = {name: [r.sample for r in readings if (r.collector, r.instance) == ("of_each", name)]
             for name in made}  # fmt: skip
    assert [each.value for each in found["t1"]][:2] == [1.0, 2.0]
    [gone] = found["t2"]
    assert (gone.missing_because or "").startswith(STOPPED)
    assert {each.instance for each in readings if each.collector == "machine"} == {""}
    own = {(each.instance, each.sample.subject) for each in readings if each.collector == NAME}
    assert (("t1", "of_each") in own) == blocks
    rows = make_series_rows("w", readings, None)
    assert {each["instance"] for each in rows if each["collector"] == "of_each"} == {"t1", "t2"}


def test_a_window_without_a_server_says_so_once() -> None:
    """In each metric of a collector that looks at servers."""
    alone = _of_each(lambda _, instance: _refused(instance))
    sampler = Sampler(Scope((), clock=HurriedClock()), {"of_each": alone})
    sampler.start()
    [missing] = [each for each in sampler.stop() if each.collector == "of_each"]
    assert (missing.instance, missing.sample.missing_because) == ("", "there is no server")


def _refused(instance: InstanceScope) -> Any:
    assert instance.database is None
    raise Unavailable("there is no server")


def test_rows_count_seconds_from_the_start() -> None:
    """Without a start there is none. A checkpoint counts that began inside, once."""
    readings = [
        TimedSample(99.0, "cpu", "", Sample("", "user_share", 0.5)),
        TimedSample(101.5, "block", "s", Sample("vda", "read_latency_s", None, "no reads")),
    ]
    frame = make_frame(SERIES, make_series_rows("w-1", readings, started_at_s=100.0))
    assert frame["second"].to_list() == [-1.0, 1.5]
    assert frame["missing_because"].to_list() == [None, "no reads"]
    assert make_series_rows("w-1", readings, None)[0]["second"] is None

    def seen(at_s: float, began_s: float | None) -> TimedSample:
        return TimedSample(at_s, "database", "s", Sample("", "last_checkpoint_at_s", began_s, None))

    readings = [seen(101, 90), seen(105, 103), seen(106, 103), seen(109, 107)]
    readings += [replace(each, instance="tenant-2") for each in (seen(107, 106), seen(110, 109))]
    assert count_checkpoints_inside(readings[4:], 100, 110) is None, "each tenant has its own"
    for start_s, end_s, count in ((100, 110, 2), (104, 110, 1), (100, 104, 0)):
        assert count_checkpoints_inside(readings, start_s, end_s) == count
        assert count_checkpoints_inside([seen(101, None)], start_s, end_s) is None
