"""A window: its request, its memory, its ledger, and what was around it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest

from fakes.engine import FakeEngine
from fakes.hammer import FakeHammer
from stithy.database.engine import CheckpointRule, MaintenanceCounters
from stithy.errors import InfrastructureError
from stithy.hosts.activity import OthersReading, Process
from stithy.hosts.devices import DiskCounters
from stithy.plan.expand import expand
from stithy.report.context import context_of
from stithy.results.layout import RunDirectory, WindowDirectory
from stithy.results.read import read_run
from stithy.results.tables import Row
from stithy.run.context import Context
from stithy.run.events import Note
from stithy.run.windows.driving import pace_of, request_of
from stithy.run.windows.surroundings import Snapshot, row
from stithy.run.windows.window import MeasuredWindow, _second, limit_of
from stithy.storage.provider import EmulatedDrive
from stithy.storage.volume import describe
from stithy.wire.jobs import Arrivals, BackToBack, Keyed, Pace, Profile, Rate, Think
from stithy.wire.messages import Phase, Second, TransactionSecond
from stithy.workload.program import RunRequest
from support.faked_run import FakedRun
from support.running import entries, manifest, window_row
from support.studies import study


@pytest.mark.parametrize(("orders", "p95_s"), [(1_999, None), (2_000, 0.012), (None, None)])
def test_a_second_tells_no_percentile_that_too_few_orders_bear(
    orders: int | None, p95_s: float | None
) -> None:
    """As everywhere: 100 values lie beyond what is told."""
    each = TransactionSecond(
        name="new-order", committed=orders or 0, rolled_back=0, errors=0, retries=0,
        response_p50_s=0.004, response_p95_s=0.012, response_p99_s=0.02,
    )  # fmt: skip
    of = () if orders is None else (each,)
    second = Second(second=3, at_s=1.0, phase=Phase.MEASURE, transactions=of)
    context: Any = SimpleNamespace(workload=SimpleNamespace(headline="new-order"))
    assert _second(context, cast("Any", None), second).p95_s == p95_s


def request(*lines: str) -> RunRequest:
    """What is asked in the first window of a study with these lines in its load."""
    text = "".join(f"  {line}\n" for line in lines)
    made = study(("  users: [1, 4]\n", f"  users: [1, 4]\n{text}"))
    [window, *_] = [step.window for step in expand(made).steps if step.kind == "window"]
    assert window is not None
    return request_of(made, window, WindowDirectory(Path("w")))


PACES: list[tuple[tuple[str, ...], Pace]] = [
    ((), BackToBack()),
    (("pace: keyed",), Keyed()),
    (("pace: {think: 2 s}",), Think(mean_s=2)),
    (("rate: 500/s",), Rate(per_s=500)),
    (("rate: 500/s", "arrivals: constant"), Rate(per_s=500, arrivals=Arrivals.CONSTANT)),
]


@pytest.mark.parametrize(("lines", "pace"), PACES)
def test_the_pace_is_that_of_the_study(lines: tuple[str, ...], pace: Pace) -> None:
    """A rate is a pace on the wire."""
    assert request(*lines).pace == pace
    text = "".join(f"  {line}\n" for line in lines)
    assert pace_of(study(("  users: [1, 4]\n", f"  users: [1, 4]\n{text}")).load) == pace


def test_pool_homes_reach_and_profile_are_those_of_the_study() -> None:
    """And ten users are at home in each warehouse with keyed pace."""
    asked = request("connections: 2", "touch: 50%", "profile: hammerdb", "users_per_warehouse: 4")
    assert (asked.connections, asked.warehouses_touched) == (2, 1)
    assert (asked.profile, asked.users_per_warehouse) == (Profile.HAMMERDB, 4)
    assert request("pace: keyed").users_per_warehouse == 10
    plain = request()
    assert (plain.connections, plain.warehouses_touched, plain.users_per_warehouse) == (None,) * 3


MIB = 2**20


def test_the_limit_grows_by_the_servers_files_only_where_they_are_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The note says by how much and why; the master copy does not count."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))
    faked = FakedRun(tmp_path)
    context = faked.start()
    volume = replace(describe(tmp_path), memory_backed=False)
    context.state.volumes["a"] = volume
    assert limit_of(context, "a") == (192 * MIB, None)
    context.state.volumes["a"] = replace(volume, memory_backed=True, filesystem="tmpfs")
    limit, note = limit_of(context, "a")
    assert limit == 192 * MIB + context.plan.database_bytes + context.plan.growth_bytes
    assert note is not None
    assert note.startswith("the limit of 192 MiB was widened by ")
    assert note.endswith("because the pages of tmpfs are memory")
    context.books.register.close(remove=True)
    context.scratch.rmdir()


WITH_LEDGER = {"ledger": "true"}


FIRST = "w-a-u1-b0"


def table(out: Path, name: str) -> pl.DataFrame:
    """A table of the first window."""
    return pl.read_parquet(RunDirectory(out).window(FIRST).table(name))


def fault() -> InfrastructureError:
    """An error from outside."""
    return InfrastructureError("the drive is gone", where="somewhere", remedy="none")


def test_every_window_has_its_ledger_compared(tmp_path: Path) -> None:
    """Orders and payments have a row each; nothing is wrong, so nothing is found."""
    faked = FakedRun(tmp_path, load=WITH_LEDGER)
    faked.run()
    windows = RunDirectory(faked.out)
    assert sorted(faked.hammer.verified) == sorted(
        windows.window(f"w-{name}-u{users}-b0").ledger for name in "ab" for users in (1, 2)
    )
    assert table(faked.out, "ledger")["deal"].to_list() == ["order", "payment"]
    assert table(faked.out, "ledger")["acknowledged"].to_list() == [10, 10]
    assert table(faked.out, "ledger_findings").is_empty()
    assert window_row(faked.out, FIRST)["ledger_acknowledged"] == 20
    result = entries(faked.out, "step-finished", id=FIRST)[0].facts["result"]
    assert result.endswith("; nothing acknowledged is missing")


def test_without_a_ledger_nothing_is_compared_and_the_tables_are_empty(tmp_path: Path) -> None:
    """The tables are there all the same."""
    faked = FakedRun(tmp_path)
    faked.run()
    assert faked.hammer.verified == []
    assert table(faked.out, "ledger").is_empty()
    assert window_row(faked.out, FIRST)["ledger_shares"] is None
    assert not [event for event in faked.events if isinstance(event, Note)]


def test_an_order_that_is_gone_makes_its_window_invalid(tmp_path: Path) -> None:
    """The finding is kept, the step says so, and the window supports no claim."""
    faked = FakedRun(tmp_path, load=WITH_LEDGER, hammer=FakeHammer(lost=1))
    faked.run()
    assert table(faked.out, "ledger_findings")["text"].to_list() == ["order 0"]
    evidence = context_of(read_run(faked.out)).evidence
    assert [window.valid for window in evidence.windows] == [False] * 4
    result = entries(faked.out, "step-finished", id=FIRST)[0].facts["result"]
    assert result.endswith("ACKNOWLEDGED WORK IS GONE")


def test_a_comparison_that_fails_leaves_the_window_and_says_why(tmp_path: Path) -> None:
    """The numbers of the window are there; only the proof is missing."""
    hammer = FakeHammer({"verify-ledger": fault()})
    faked = FakedRun(tmp_path, load=WITH_LEDGER, hammer=hammer)
    assert faked.run().end == "finished"
    row = window_row(faked.out, FIRST)
    assert row["complete"]
    assert row["ledger_unverified_because"] == "somewhere: the drive is gone"


def test_a_window_that_wrote_no_ledger_says_so(tmp_path: Path) -> None:
    """The hammer failed before it could begin."""
    faked = FakedRun(tmp_path, load=WITH_LEDGER, hammer=FakeHammer({"run": fault()}))
    faked.run()
    row = window_row(faked.out, FIRST)
    assert row["missing_because"] == "somewhere: the drive is gone"
    assert row["ledger_unverified_because"] == "the window wrote no ledger"


def test_a_server_that_ended_is_started_once_more_for_the_comparison(tmp_path: Path) -> None:
    """Starts: loading, the check after it, the first window, and that window's once more."""
    engine = FakeEngine(ended_starts=frozenset({3}))
    FakedRun(tmp_path, load=WITH_LEDGER, engine=engine).run()
    first = manifest(tmp_path / "out")["plan"]["windows"][0]
    directory = RunDirectory(tmp_path / "out").window(first)
    assert engine.starts[3].log == directory.recovery_log
    assert window_row(tmp_path / "out", first)["ledger_unverified_because"] is None
    assert pl.read_parquet(directory.table("ledger")).height == 2


def test_a_server_that_does_not_start_again_leaves_its_ledger_uncompared(tmp_path: Path) -> None:
    """The reason is why it did not; the run goes on."""
    engine = FakeEngine(broken_starts=frozenset({4}), ended_starts=frozenset({3}))
    assert FakedRun(tmp_path, load=WITH_LEDGER, engine=engine).run().end == "finished"
    first = manifest(tmp_path / "out")["plan"]["windows"][0]
    because = window_row(tmp_path / "out", first)["ledger_unverified_because"]
    assert because == "after the server's end, fake server: it fell over"


def test_a_person_is_told_at_once_that_ledger_and_candidate_share_a_device(tmp_path: Path) -> None:
    """Here all lies in one directory; each candidate is told of, and each window has it."""
    faked = FakedRun(tmp_path, load=WITH_LEDGER)
    faked.run()
    notes = [event.text for event in faked.events if isinstance(event, Note)]
    assert [note.split(" share ")[0] for note in notes if "share" in note] == [
        "candidate a and its ledgers",
        "candidate b and its ledgers",
    ]
    assert window_row(faked.out, FIRST)["ledger_shares"] is not None


def counters(moved: int) -> DiskCounters:
    """A device that read so many bytes."""
    return DiskCounters({"read": 1, "write": 0}, {"read": moved, "write": 0}, {}, 0, 0)


def snapshot(at_s: float, moved: dict[str, int], others_moved: int = 0, ticks: int = 0) -> Snapshot:
    """A machine with one program of others, whose devices moved so many bytes so far."""
    others = {(9, 1): Process("backup", 1, ticks, others_moved)}
    devices = {name: counters(each) for name, each in moved.items()}
    return Snapshot(OthersReading(at_s, others), devices, frozenset({(7, int(at_s))}))


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Context]:
    """Two candidates on loop devices, `a` on a file of disk sda, `b` in memory."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))
    context = FakedRun(tmp_path).start()
    volume = replace(describe(tmp_path), memory_backed=False)
    drive = cast(EmulatedDrive, object())  # only that there is one matters here
    context.state.volumes["a"] = replace(volume, devices=("loop1", "sda1", "sda"), drive=drive)
    context.state.volumes["b"] = replace(volume, devices=("loop2",))
    yield context
    context.books.register.close(remove=True)
    context.scratch.rmdir()


def around(context: Context, candidate: str, before: Snapshot, after: Snapshot) -> Row:
    """The row of a window of that candidate between these snapshots."""
    windows = [step.window for step in context.plan.steps if step.kind == "window" and step.window]
    window = next(each for each in windows if each.candidate == candidate)
    log = [MaintenanceCounters(0, 0, 0.0, 0, position) for position in (100, 5100)]
    measured = MeasuredWindow(window, snapshots=(before, after), maintenance=(log[0], log[1]))
    measured.checkpoint_rule = CheckpointRule(300.0, 2**28)
    return row(context, measured)


def test_what_others_did_on_other_disks_they_did_not_do_here(context: Context) -> None:
    """What no other device accounts for, and no more than these disks moved; a loop is no disk."""
    before = snapshot(0, {"sda": 0, "sdb": 0, "loop1": 0})
    after = snapshot(10, {"sda": 50 * MIB, "sdb": 30 * MIB, "loop1": 40 * MIB}, 40 * MIB, 250)
    found = around(context, "a", before, after)
    assert (found["others_bytes"], found["others_here_bytes"]) == (40 * MIB, 10 * MIB)
    assert found["disks_bytes"] == 50 * MIB
    assert (found["span_s"], found["others_cpu_s"], found["others_names"]) == (10, 2.5, "backup")
    assert (found["log_bytes"], found["log_files_made"]) == (5000, 1)
    assert (found["checkpoint_after_s"], found["checkpoint_after_bytes"]) == (300.0, 2**28)


def test_a_volume_in_memory_has_no_disk_to_share(context: Context) -> None:
    """Whatever others do to disks."""
    found = around(context, "b", snapshot(0, {"sda": 0}), snapshot(10, {"sda": 9 * MIB}, 9 * MIB))
    assert found["others_here_bytes"] == 0
    assert found["disks_bytes"] is None


def test_storage_of_the_others_is_told_by_its_topmost_device(context: Context) -> None:
    """What is below it does the same again; where nothing moved nobody is named."""
    before = snapshot(0, {"loop1": 0, "loop2": 0, "sda": 0})
    busy = snapshot(10, {"loop1": 3 * MIB, "loop2": 0, "sda": 4 * MIB})
    found = around(context, "b", before, busy)
    assert (found["idle_bytes"], found["idle_names"]) == (3 * MIB, "a")
    quiet = snapshot(10, {"loop1": 0, "loop2": MIB, "sda": 4 * MIB})
    found = around(context, "b", before, quiet)
    assert (found["idle_bytes"], found["idle_names"]) == (0, None)


def test_a_disk_under_a_directory_is_everybodys(context: Context) -> None:
    """What it does tells nothing of the candidate whose directory is on it."""
    volumes = context.state.volumes
    volumes["b"] = replace(volumes["b"], devices=("sdb",))
    found = around(context, "a", snapshot(0, {"sdb": 0}), snapshot(10, {"sdb": 9 * MIB}))
    assert (found["idle_bytes"], found["idle_names"]) == (None, None)


def test_every_window_of_a_run_has_its_row(tmp_path: Path) -> None:
    """As long as its users began."""
    faked = FakedRun(tmp_path, users=(1,))
    assert faked.run().end == "finished"
    for path in faked.out.glob("windows/*/surroundings.parquet"):
        [found] = pl.read_parquet(path).to_dicts()
        assert found["window_id"] == path.parent.name
        assert found["cpus"] >= 1
        assert found["memory_limit_lost"] is None
    assert len(list(faked.out.glob("windows/*/surroundings.parquet"))) == 2
