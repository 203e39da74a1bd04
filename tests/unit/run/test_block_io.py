"""Block I/O: what follows from its requests, its parts of volumes, rounds before it, its space."""

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from stithy.errors import InfrastructureError
from stithy.fio import library
from stithy.fio.load import CHECK_BYTES, FioTarget, plan
from stithy.fio.logs import LoggedSecond
from stithy.fio.measure import Measured as FioMeasured
from stithy.fio.output import FioAnswer, Histogram, ServedRequests
from stithy.fio.profile import Pattern
from stithy.fio.streamjob import RenderedStream
from stithy.plan.expand import expand
from stithy.results.files import read_rows, read_run
from stithy.results.tables import SPACE
from stithy.run import drives
from stithy.run.activity import WindowValue
from stithy.run.context import Context
from stithy.run.events import Note, StepProgress
from stithy.scenarios.block_io.activity import load_of, repeat_until_steady
from stithy.scenarios.block_io.declared import PRECONDITIONING
from stithy.scenarios.block_io.keys import BlockIoSpec
from stithy.scenarios.block_io.outcome import (
    count_in_flight,
    divide_by_seconds,
    measure_evenness,
    size_errors,
)
from stithy.scenarios.block_io.targets import list_all_targets, list_targets, list_working_sets
from stithy.study.load import parse_study
from stithy.units import format_size
from support.faked_run import FakedRun

KIB8 = 8192


def measured(counts: dict[int, int], *, mean_s: float = 2e-3, size: int = KIB8) -> FioMeasured:
    """A closed loop of reads with so many requests in each second."""
    count, duration_s = sum(counts.values()), float(max(counts) + 1)
    latency = Histogram(counts_by_ns={int(mean_s * 1e9): count}, sum_s=mean_s * count)
    served = ServedRequests(
        latency=latency, moved_bytes=count * size, duration_s=duration_s, iops_max=1,
        bytes_per_s_max=1,
    )  # fmt: skip
    rows = tuple(
        LoggedSecond(s, s * 1.0, "read", n, n * size, mean_s, None) for s, n in counts.items()
    )
    stream = RenderedStream("data", "psync", 4, 4, is_open=False, mean_bytes={"read": KIB8})
    answer = FioAnswer("data", served, None, None, 1.0, duration_s)
    return FioMeasured((stream,), (answer,), {"data": rows}, {})


def values(found: Iterable[WindowValue]) -> dict[str, float | None]:
    """By metric."""
    return {each.metric: each.value for each in found}


def test_little_s_law_gives_the_requests_in_flight_of_all_workers() -> None:
    """2,000 a second for 2 ms each are 4."""
    pattern = library.find("sql").patterns[0]
    found = values(count_in_flight(pattern, measured({0: 2000, 1: 2000}), workers=2))
    assert found["fio.in_flight"] == pytest.approx(4.0)
    assert found["fio.outstanding"] == 8.0


@pytest.mark.parametrize("name", ["oracle", "checkpoint-bursts"])
def test_a_pattern_that_holds_back_has_no_such_number(name: str) -> None:
    """Streams of a fixed mix wait for each other, and bursts pause."""
    pattern = library.find(name).patterns[0]
    assert values(count_in_flight(pattern, measured({0: 1}), workers=1)) == {}


def test_a_size_that_is_not_the_profile_s_is_an_error_beyond_chance() -> None:
    """Of one size there is no chance."""
    pattern = library.find("four-corners/random-read-4k").patterns[0]
    stream = pattern.streams[0].model_copy(update={"name": "data", "read_sizes": {KIB8: 1.0}})
    own = pattern.model_copy(update={"streams": (stream,)})
    assert values(size_errors(own, measured({0: 100}), 0))["fio.size_error_share"] == 0.0
    wrong = values(size_errors(own, measured({0: 100}, size=9011), 0))
    assert wrong["fio.size_error_share"] == pytest.approx(0.1, abs=1e-3)
    one_more = values(size_errors(own, measured({0: 100}, size=KIB8 * 101 // 100), 1))
    assert one_more["fio.size_error_share"] == 0.0


def test_seconds_without_a_row_are_seconds_without_an_answer() -> None:
    """fio writes no row where it answered nothing, in the last second neither."""
    found = measured({0: 100, 2: 300, 3: 200})
    assert list(divide_by_seconds(found, 4.0).values()) == [100, 0, 300, 200]
    assert list(divide_by_seconds(found, 5.9).values()) == [100, 0, 300, 200, 0]
    known = values(measure_evenness(found, 4.0))
    assert known["fio.worst_iops"] == 0.0
    assert known["fio.idle_s"] == 1.0
    assert known["fio.variation"] == pytest.approx(129.1 / 150, rel=1e-3)


MIB = 2**20
LARGEST_BYTES = 4150 * 4096  # of 16600.5 KiB
SEVERAL = (
    "study: x?\ncandidates: {a: {path: '{root}/a'}, b: {path: '{root}/b'}}\n"
    "scenario: {block-io: {profiles: [sql], size: 16 MiB, volumes: [data, data, log]}}\n"
    "vary: {scenario.block-io.size: [16 MiB, 16600.5 KiB]}\n"
)


def volumes(tmp_path: Path) -> Context:
    """A run of two candidates: `a` has a file system, `b` two block devices."""
    context = FakedRun(tmp_path, text=SEVERAL).start()
    made = context.volumes.provision("a")
    log = replace(made, raw=True, path=Path("/dev/log"))
    context.volumes.made["b"] = replace(made, raw=True, path=Path("/dev/data"), others={"log": log})
    return context


def test_each_volume_has_a_file_in_a_directory_of_its_role(tmp_path: Path, own_state: Path) -> None:
    """Two of one role have two names."""
    found = list_targets(volumes(tmp_path), "a", ["data", "data", "log"], 16 * MIB)
    names = [str(Path(each.path).relative_to(tmp_path)) for each in found]
    assert names == ["a/data/target", "a/data/target-2", "a/log/target"]
    assert {(each.begin_bytes, each.size_bytes) for each in found} == {(0, 16 * MIB)}


def test_volumes_on_one_block_device_are_parts_that_do_not_overlap(
    tmp_path: Path, own_state: Path
) -> None:
    """A smaller window reads what was written: its parts begin where those of the largest do."""
    context = volumes(tmp_path)
    assert list_all_targets(context, "b") == (
        FioTarget("/dev/data", LARGEST_BYTES, 0),
        FioTarget("/dev/data", LARGEST_BYTES, LARGEST_BYTES),
        FioTarget("/dev/log", LARGEST_BYTES, 0),
    )
    assert list_targets(context, "b", ["data", "data"], 16 * MIB)[1].begin_bytes == LARGEST_BYTES


def test_a_profile_with_a_rule_says_how_much_of_a_volume_it_would_use(
    tmp_path: Path, own_state: Path
) -> None:
    """A third of the capacity and at most 80 % of what is free; a block device has no such room."""
    text = SEVERAL.replace("[sql]", "[sql, hcibench-easy-run/random-read-4k]")
    context = FakedRun(tmp_path, text=text).start()
    made = context.volumes.provision("a")
    place = shutil.disk_usage(made.path)
    size = int(min(0.3333 * place.total, 0.8 * place.free)) // MIB * MIB
    said = list_working_sets(context, "a")
    assert said.startswith("; by its rule hcibench-easy-run uses ")
    # Others write to the same file system meanwhile.
    assert format_size(size)[:2] in said
    context.volumes.made["b"] = replace(made, raw=True)
    assert list_working_sets(context, "b") == ""


PLAN = plan("snia", is_device=False)


@pytest.fixture
def faked(tmp_path: Path, own_state: Path) -> FakedRun:
    """A run of which only its session is used."""
    return FakedRun(
        tmp_path,
        text="study: x?\ncandidates: {a: {path: '{root}/a'}, b: {path: '{root}/b'}}\n"
        "scenario: {block-io: {profiles: [sql], size: 16 MiB, precondition: snia}}\n",
    )


def falling(pattern: Pattern, number: int) -> tuple[float, float]:
    """Fresh storage gets slower until its sixth round."""
    return 1000.0 + 500.0 * max(0, 6 - number), 1e-3


def test_rounds_go_on_until_the_last_five_of_each_test_are_steady(faked: FakedRun) -> None:
    """From the sixth round on nothing changes: the tenth is the first with five alike."""
    context = faked.start()
    assert repeat_until_steady(context, "a", PLAN, falling) == "steady after 10 rounds"
    rows = read_rows(context.session.directory.table("preconditioning"), PRECONDITIONING)
    assert [row["round"] for row in rows] == [n for n in range(1, 11) for _ in PLAN.patterns]
    assert {row["steady"] for row in rows if row["round"] == 10} == {True}
    assert not any(row["steady"] for row in rows if row["round"] < 10)
    context.session.directory.windows.mkdir()
    assert read_run(faked.out).detail("preconditioning").height == len(rows)
    assert [each.done for each in faked.events if isinstance(each, StepProgress)] == list(range(10))
    notes = [event.text for event in faked.events if isinstance(event, Note)]
    assert "a: round 4 of at most 25, at most 1 h 24 min left" in notes


def test_after_25_rounds_the_state_is_what_it_is(faked: FakedRun) -> None:
    """It is said, and what was measured stays."""
    context = faked.start()
    unsteady = repeat_until_steady(context, "b", PLAN, lambda _, number: (100.0 * number, None))
    assert unsteady == "not steady after 25 rounds"
    rows = read_rows(context.session.directory.table("preconditioning"), PRECONDITIONING)
    assert len(rows) == 25 * len(PLAN.patterns)


@pytest.mark.parametrize("is_checked", [False, True])
def test_rounds_write_checksums_where_all_is_read_back_at_the_end(*, is_checked: bool) -> None:
    """Blocks without one were taken for damaged, on storage that was sound."""
    spec = BlockIoSpec(profiles=("sql",), precondition="snia", verify=is_checked)
    assert load_of(spec, 7, "libaio").verify is is_checked
    for pattern in PLAN.patterns:
        sizes = {size for stream in pattern.streams for size in stream.write_sizes}
        assert all(size % CHECK_BYTES == 0 for size in sizes)


@pytest.mark.parametrize(("how", "kinds"), [("fill", 0), ("snia", 2)])
def test_a_study_plans_rounds_for_each_candidate_where_it_asks_for_them(
    how: str, kinds: int
) -> None:
    """Before the first window, five rounds at the least and 25 at the most."""
    text = (
        "study: x?\ncandidates: {a: {path: /var/tmp/a}, b: {path: /var/tmp/b}}\n"
        f"scenario: {{block-io: {{profiles: [sql], precondition: {how}}}}}\n"
    )
    steps = expand(parse_study("study.yaml", text.encode())).steps
    found = [step for step in steps if step.kind == "precondition"]
    assert len(found) == kinds
    assert all(step.cost.time_s_max == 5 * step.cost.time_s for step in found)


def test_each_volume_is_asked_once_a_moment(faked: FakedRun) -> None:
    """A directory has files; nothing is set aside for it, which has a reason."""
    context = faked.start()
    volume = context.volumes.provision("a")
    (volume.path / "file").write_bytes(b"x" * MIB)
    for moment in ("loaded", "loaded", "end"):
        drives.record(context, "a", moment)
    drives.record(context, "b", "end")  # which was not made
    rows = context.state.rows[SPACE.name]
    assert [(row["candidate"], row["role"], row["moment"]) for row in rows] == [
        ("a", "data", "loaded"), ("a", "data", "end"),
    ]  # fmt: skip
    assert rows[0]["logical_bytes"] >= MIB
    assert rows[0]["provisioned_bytes"] is None
    assert rows[0]["missing_because"]
    assert len(read_rows(context.session.directory.table(SPACE.name), SPACE)) == 2


def test_what_cannot_be_read_has_its_reason_and_fails_no_run(
    faked: FakedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An array may not say what it holds."""
    context = faked.start()
    context.volumes.provision("a")

    def refuse(*_: object) -> None:
        raise InfrastructureError("no books", where="a", remedy="none")

    monkeypatch.setattr(context.volumes.providers["a"], "measure_space", refuse)
    drives.record(context, "a", "end")
    [row] = context.state.rows[SPACE.name]
    assert row["physical_bytes"] is None
    assert "no books" in row["missing_because"]
