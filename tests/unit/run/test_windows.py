"""A window: its request, its memory, its ledger, what was around it, and what the driver can do."""

import os
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest

from fakes.engine import FakeEngine
from fakes.hammer import FakeHammer
from stithy.activities.hammer import activity as request
from stithy.activities.hammer import preparation
from stithy.activities.hammer.activity import HammerActivity
from stithy.activities.hammer.declared import UNASKED
from stithy.activities.hammer.rows import verify_after_end
from stithy.engines.instance import CheckpointRule, MaintenanceCounters
from stithy.errors import InfrastructureError
from stithy.hosts.activity import ActivityCounters, BusyProgram, MachineActivity, Process
from stithy.hosts.devices import DiskCounters
from stithy.plan.expand import expand
from stithy.results.layout import RunDirectory, WindowDirectory
from stithy.results.tables import Row
from stithy.run import surroundings, window
from stithy.run.context import Context, make_choice
from stithy.run.context import find_pause_s as find_pause_s
from stithy.run.events import Note
from stithy.storage.provider import EmulatedDrive
from stithy.storage.volume import describe
from stithy.wire.jobs import BackToBack, Keyed, WireRate, WireThink
from stithy.wire.messages import SecondMessage, TransactionSecond
from stithy.workloads.order_entry import ORDER_ENTRY
from support.faked_run import FakedRun
from support.points import at
from support.running import left_by, manifest, window_row
from support.studies import study, workload

pytestmark = pytest.mark.usefixtures("own_state")
MIB = 2**20
CALIBRATED, LEDGER = {"calibrate": "true"}, {"ledger": "true"}
FIRST = "w-a-u1-b0"
FAULT = InfrastructureError("the drive is gone", where="somewhere", remedy="none")
POOLED = "  connections: 2\n  touch: 50%\n"
OTHER = workload("profile: hammerdb")


def test_users_are_driven_as_the_study_has_it() -> None:
    """Pace, pool, homes, reach and profile; the driver is tried with so many users who pause."""
    for line, more, pace, pause_s in (
        ("", POOLED, BackToBack(), None),
        ("pace: {think: 2 s}", POOLED, WireThink(mean_s=2), 2.0),
        ("pace: keyed", "", Keyed(), pytest.approx(20.7, abs=0.01)),
        ("rate: 30000/min", "", WireRate(per_s=500), None),
        ("rate: 5/s\n  arrivals: constant", "", WireRate(per_s=5, arrivals="constant"), None),
    ):
        own = [OTHER] if more else []
        made = study(("  users: [1, 4]\n", f"  users: [1, 4]\n  {line}\n{more}"), *own)
        plan = next(step.window for step in expand(made).steps if step.window)
        asked = request.make_request(made, plan, WindowDirectory(Path("w")))
        assert (asked.users, asked.ramp_up_s, asked.duration_s, asked.pace) == (1, 2.0, 3.0, pace)
        choice: Any = make_choice(made)
        assert (asked.ledger, choice.users_per_warehouse) == (None, 10 if "keyed" in line else None)
        pool = (asked.connections, choice.warehouses_touched, choice.profile)
        assert pool == ((2, 1, "hammerdb") if more else (None, None, "specification"))
        assert find_pause_s(made) == pause_s


def test_a_second_tells_no_percentile_that_too_few_orders_bear() -> None:
    """As everywhere: 100 values lie beyond what is shown; every transaction counts per minute."""
    of = TransactionSecond(
        name="new-order", committed=2_000, rolled_back=0, errors=0, retries=0,
        live_p50_s=0.004, live_p95_s=0.012, live_p99_s=0.05,
    )  # fmt: skip
    few = of.model_copy(update={"committed": 1_999})
    other = of.model_copy(update={"name": "payment", "committed": 1, "rolled_back": 2})
    context: Any = SimpleNamespace(workload=ORDER_ENTRY)
    activity = HammerActivity(context, cast("Any", None))
    many = of.model_copy(update={"rolled_back": 8_000})
    for each, percentiles, done in (
        ((few, other), (0.004, None, None), 2_002), ((of,), (0.004, 0.012, None), 2_000),
        ((many,), (0.004, 0.012, 0.05), 10_000), ((), (None, None, None), 0),
    ):  # fmt: skip
        second = SecondMessage(second=3, at_s=1.0, phase="measure", transactions=each)
        shown = activity._second(second)
        assert (shown.p50_s, shown.p95_s, shown.p99_s) == percentiles
        assert shown.rate == 60.0 * done


@pytest.mark.parametrize(("cpu_s", "is_busy"), [(0.5, False), (0.51, True)])
def test_what_others_used_during_the_calibration_is_kept_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cpu_s: float, is_busy: bool
) -> None:
    """A busy host makes the driver look slow; here its users pause, so that they are counted."""
    make = BusyProgram("make", 7, 0.1, 0.0)
    others = MachineActivity(10.0, 0, 0, (make,), {}, cpu_s=cpu_s * len(os.sched_getaffinity(0)))
    monkeypatch.setattr(preparation, "compare_counters", lambda before, after: others)
    load = {**CALIBRATED, "pace": "{think: 2 s}"}
    faked = FakedRun(tmp_path, load=load, users=(1,), hammer=FakeHammer(users_max=500))
    faked.run()
    shown, row = manifest(faked.out)["calibration"], window_row(faked.out, FIRST)
    assert (shown["users_max"], row["driver_users_max"]) == (500, 500)
    assert shown["others_share"] == row["driver_others_share"] == pytest.approx(cpu_s / 10)
    notes = [event.text for event in faked.events if isinstance(event, Note)]
    assert any("during the calibration of the driver (make)" in text for text in notes) is is_busy


def test_whoever_wants_an_end_is_why_a_ledger_was_not_compared(tmp_path: Path) -> None:
    """The server that a fault had killed says nothing of the database then."""
    stop = threading.Event()
    stop.set()
    ledger = tmp_path / "ledger"
    ledger.touch()
    load = SimpleNamespace(ledger=True)
    measured: Any = SimpleNamespace(
        context=SimpleNamespace(
            file=SimpleNamespace(study=SimpleNamespace(load=load)),
            volumes=SimpleNamespace(lost={"a": "its repair was cut short"}),
            session=SimpleNamespace(stop=SimpleNamespace(asked=stop)),
        ),
        directory=SimpleNamespace(ledger=ledger), window=SimpleNamespace(candidate="a"),
        ended_because="the server was killed", ledger=None,
        ledger_unverified_because="the server was killed",
    )  # fmt: skip
    verify_after_end(measured)
    assert measured.ledger_unverified_because in UNASKED


FAULTS = dict.fromkeys(("baseline", "calibrate", "verify-ledger"), FAULT)
LATE = "the driver was late at every rate that was tried over 1 connection"


@pytest.mark.parametrize(("load", "hammer", "because"), [
    (CALIBRATED, FakeHammer(rate_per_s_max=None), LATE),
    ({}, FakeHammer(), "the study did not ask for it"),
    (CALIBRATED | LEDGER, FakeHammer(FAULTS), "somewhere: the drive is gone: none"),
], ids=["late", "not asked", "all fails"])  # fmt: skip
def test_what_is_not_known_of_driver_machine_and_ledger_ends_no_run(
    load: dict[str, str], hammer: FakeHammer, because: str, tmp_path: Path
) -> None:
    """It is missing with the reason; the windows are measured."""
    faked = FakedRun(tmp_path, users=(1,), load=load, hammer=hammer)
    assert faked.run().end == "finished"
    shown, row = manifest(faked.out)["calibration"], window_row(faked.out, FIRST)
    assert (shown["rate_per_s_max"], shown["missing_because"]) == (None, because)
    assert (row["complete"], row["driver_rate_per_s_max"]) == (True, None)
    [check] = pl.read_parquet(faked.out / "tables/baseline.parquet").to_dicts()
    failed = because if "gone" in because else None
    assert (check["missing_because"], check["one_rounds_per_s"] is None) == (failed, bool(failed))
    assert row["ledger_unverified_because"] == failed


@pytest.mark.parametrize(("broken", "faults", "because"), [
    ((), {}, None),
    ((4,), {}, "after the server's end, fake server: it fell over: none"),
    ((), {"run": FAULT}, "the window wrote no ledger"),
], ids=["it starts again", "it does not", "there is no ledger"])  # fmt: skip
def test_a_server_that_ended_is_started_once_more_to_compare_its_ledger(
    broken: tuple[int, ...], faults: dict[str, InfrastructureError], because: str, tmp_path: Path
) -> None:
    """Starts: loading, the check after it, the first window, and that window's once more."""
    engine = FakeEngine(frozenset(broken), ended_starts=frozenset({3}))
    faked = FakedRun(tmp_path, users=(1,), load=LEDGER, engine=engine, hammer=FakeHammer(faults))
    assert faked.run().end == "finished"
    first = manifest(faked.out)["plan"]["windows"][0]
    directory = RunDirectory(faked.out).window(first)
    assert (engine.starts[3].log == directory.recovery_log) is not bool(faults)
    assert window_row(faked.out, first)["ledger_unverified_because"] == because
    assert pl.read_parquet(directory.table("ledger")).height == (0 if because else 2)
    assert left_by(faked.out) == []


def _around(
    context: Context, candidate: str, moved: dict[str, int], others_moved: int = 0, ticks: int = 0
) -> Row:
    """The row of ten seconds in which devices moved so many bytes, and others did so much."""

    def snapshot(at_s: int) -> surroundings.MachineSnapshot:
        ended = min(at_s, 1)
        others = {(9, 1): Process("backup", 1, ticks * ended, others_moved * ended)}
        counted = {
            name: DiskCounters({"read": 1, "write": 0}, {"read": n * ended, "write": 0}, {}, 0, 0)
            for name, n in moved.items()
        }
        return surroundings.MachineSnapshot(
            ActivityCounters(at_s, others, {}, devices=counted), frozenset({(7, at_s)})
        )

    plans = [step.window for step in context.plan.steps if step.kind == "window" and step.window]
    log = [MaintenanceCounters(0, 0, 0.0, 0, position, position // 10) for position in (100, 5100)]
    plan = next(each for each in plans if each.candidate == candidate)
    activity = HammerActivity(context, plan, maintenance=log)
    activity.checkpoint_rule = CheckpointRule(300.0, 2**28)
    measured = window.MeasuredWindow(plan, (activity,), snapshots=(snapshot(0), snapshot(10)))
    return surroundings.make_row(context, measured)


def test_what_was_around_a_window_is_told_apart_by_disks_and_candidates(tmp_path: Path) -> None:
    """`a` on a file of disk sda, `b` in memory. What others did elsewhere they did not do here."""
    context = FakedRun(tmp_path, keys={"b": "memory: 256 MiB"}).start()
    volumes, volume = context.volumes.made, replace(describe(tmp_path), memory_backed=False)
    drive = cast(EmulatedDrive, SimpleNamespace(device="/dev/loop1"))  # all that matters here
    volumes["a"] = replace(volume, devices=("loop1", "sda1", "sda"), emulated=(drive,))
    volumes["b"] = replace(volume, devices=("loop2",))
    moved = {"sda": 50 * MIB, "sdb": 30 * MIB, "loop1": 40 * MIB}
    found = _around(context, "a", moved, 40 * MIB, 250)
    assert found.items() >= {
        "others_bytes": 40 * MIB, "others_here_bytes": 10 * MIB, "others_cpu_s": 2.5,
        "others_names": "backup", "disks_bytes": 50 * MIB, "span_s": 10, "log_bytes": 5000,
        "pages_written": 500, "log_files_made": 1, "checkpoint_after_s": 300.0,
        "checkpoint_after_bytes": 2**28,
    }.items()  # fmt: skip
    assert _around(context, "a", {"sda": 5 * MIB}, 9 * MIB)["others_here_bytes"] == 5 * MIB
    found = _around(context, "b", {"sda": 9 * MIB}, 9 * MIB)
    assert (found["others_here_bytes"], found["disks_bytes"]) == (0, None)
    for loop1, shown in ((3 * MIB, (3 * MIB, "a")), (0, (0, None))):
        found = _around(context, "b", {"loop1": loop1, "loop2": MIB, "sda": 4 * MIB})
        assert (found["idle_bytes"], found["idle_names"]) == shown
    volumes["b"] = replace(volumes["b"], devices=("sdb",))
    found = _around(context, "a", {"sdb": 9 * MIB})
    assert (found["idle_bytes"], found["idle_names"]) == (None, None)
    # The limit of memory grows by the server's files only where they are memory.
    assert context.servers.limit_of("a", at(1)) == (192 * MIB, None)
    assert context.servers.limit_of("b", at(1)) == (256 * MIB, None)
    volumes["a"] = replace(volumes["a"], memory_backed=True, filesystem="tmpfs")
    limit, note = context.servers.limit_of("a", at(1))
    assert limit == 192 * MIB + context.plan.database_bytes + context.plan.datasets[0].growth_bytes
    assert str(note).startswith("the limit of 192 MiB was widened by ")
    context.session.books.register.close(remove=True)
    context.servers.scratch.rmdir()
