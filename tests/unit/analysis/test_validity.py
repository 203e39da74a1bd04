"""Which windows may be believed, what is said of the others, and what proves their work."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import factorial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stithy.activity import DeclaredActivity, list_tables
from stithy.analysis import surroundings as baselines
from stithy.analysis.gathering import WindowChecks, WindowRecord, gather, judge
from stithy.analysis.instruments import drop_refuted, list_refuted
from stithy.analysis.invariants import Identity, check_invariants
from stithy.analysis.series import sample_run
from stithy.analysis.steadiness import LevelChange, Steadiness
from stithy.analysis.surroundings import WatchedWindow, read_watched
from stithy.engines.engine import declaration
from stithy.registry import plugins
from stithy.results.files import read_run
from stithy.results.tables import STOPPED, UNANSWERED
from stithy.validity import Flag, Reason, is_valid
from stithy.workloads.brokerage import BROKERAGE
from stithy.workloads.workload import Workload
from support import flags
from support.points import at
from support.reported import frames
from support.sample_ledger import finding_rows, ledger_rows
from support.sample_run import Shape, build_run

Row = dict[str, Any]

ONE = Shape(users=(4,), candidates=("disk",))
HELD = [{"number": 1, "holds": True}]
BROKEN = Identity("a = b", "w", 1.0, 2.0, 1.0, 0.05, False)
UNKNOWN = Identity("c = d", "w", None, None, None, None, None, "not known")
COPY = {"identical": True, "size_bytes": 2**20, "resident_bytes": None}
UNSTEADY = Steadiness(False, 0.5, 0.31, 15, 0.125, (LevelChange(12, 150.0, 300.0),))
STILL = Steadiness(
    False, 0.5, 0.3, 0, 0.0, (LevelChange(12, 0.0, 300.0), LevelChange(40, 300.0, 0.0))
)
ORDER, PAYMENT = ledger_rows("w", 10, lost=0)
ANSWERED = {"transactions": {"all": {"response_mean_s": 0.01}}}
OPEN = {"pace": "rate", "rate_per_s": 500.0, "transactions": 990}
DUE = {"checkpoints_inside": 0, "log_bytes": 2**29, "span_s": 26.4}


def checks(*rates: float | None) -> list[Row]:
    """Baseline checks a minute apart, of so many rounds a second; their reads are as usual."""
    return [
        {"window_id": f"w-{n}", "at_s": 60.0 * n, "point": "users=4", "block": n,
        "one_rounds_per_s": rate,
         "all_rounds_per_s": None, "read_p50_s": 1e-4}
        for n, rate in enumerate(rates)
    ]  # fmt: skip


SLOWED = baselines.judge_baselines(checks(100, 100, 100, 50))[-1]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> tuple[Row, Row]:
    """A window in which all is well, and what was around it: nothing."""
    run = read_run(build_run(tmp_path_factory.mktemp("run"), ONE).root)
    return run.window.to_dicts()[0], run.surroundings.to_dicts()[0]


def judged(good: tuple[Row, Row], changes: Row, **record: Any) -> tuple[Reason, ...]:
    """The reasons after changes to the window or to what was around it; `+1` adds to a number."""
    window, around = ({**each} for each in good)
    for name, value in changes.items():
        row = window if name in window else around
        row[name] = row[name] + int(value) if str(value).startswith("+") else value
    whole: Row = {"conditions": HELD, "around": around, **record}
    return judge(WindowRecord(window, engine=declaration("postgresql"), **whole))


Said = tuple[Flag, Row, Row, str]
INVALID: list[Said] = [
    (flags.NO_NUMBERS, {"missing_because": "the server was killed."}, {}, ""),
    (flags.INCOMPLETE, {"complete": False}, {}, ""),
    (flags.DAMAGED, {}, {"damaged": ["a", "b"]}, "a and b of it cannot be read"),
    (flags.ERRORS, {"errors": 8, "error_text": "cannot extend\nHINT: full."}, {}, "errors: 8"),
    (flags.ERRORS, {"errors": 1, "transactions": None, "error_text": None}, {}, "not known"),
    (flags.DRIVER_LATE, {"lateness_mean_s": 0.00251, "lateness_p99_s": 0.04}, ANSWERED,
     "late by 2.51 ms in the mean (99th percentile 40 ms), 25 % of the mean response time."),
    (flags.DRIVER_LATE, {"lateness_mean_s": 0.0051, "attempt": 1}, ANSWERED, "51 %"),
    (flags.CONTRADICTION, {}, {"laws": [UNKNOWN, BROKEN, BROKEN]},
     "a = b, but 1 is not 2 within 5.0 %"),
    (flags.HEADLINE_COUNT, {"proof_after": "+1"}, {}, ""),
    (flags.HEADLINE_COUNT, {"headline_in_doubt": 1, "proof_after": "+1"}, {}, ""),
    (flags.HEADLINE_COUNT_UNKNOWN, {"proof_after": None}, {}, ""),
    (flags.COMMITS, {"client_commits": "+28"}, {}, ""),
    (flags.COMMITS, {"server_commits": "+350", "connections_opened": 2}, {}, ""),
    (flags.CONDITIONS, {}, {"conditions": [{"number": 3, "holds": False}, *HELD]},
     "Broken consistency conditions: 3."),
    (flags.RESTORE, {}, {"restore": {**COPY, "identical": False}}, ""),
    (flags.MEMORY_LIMIT_LOST, {"memory_limit_lost": "the server left"}, {}, ""),
    *((flags.LEDGER, {}, {"ledger": [{**ORDER, count: 1}, PAYMENT]}, f"gone: 1 order {shown}")
      for count, shown in (("lost", "lost"), ("differing", "with"), ("returned", "there"))),
    (flags.LEDGER, {}, {"ledger": ledger_rows("w", 10, 2), "ledger_findings":
                       finding_rows("w", 2)}, "2 orders lost. Example: order 3000 of"),
    (flags.MEASURED_AGAIN, {}, {"measured_again": True}, ""),
]  # fmt: skip
"""Each of these alone takes the window's claim away."""

NOTED: list[Said] = [
    (flags.COMMITS_UNKNOWN, {"server_commits": None}, {}, ""),
    (flags.FEW_COMMITS, {"server_commits": "+70", "connections_opened": 2}, {}, "allowed are"),
    (flags.FEW_ERRORS, {"errors": 2, "error_text": "deadlock"}, {}, "errors: 2; the most frequent"),
    (flags.DRIVER_AT_TIMES_LATE, {"lateness_mean_s": 0.00021}, ANSWERED, "2 % of the mean"),
    (flags.DRIVER_AT_TIMES_LATE, {"lateness_mean_s": 0.005, "attempt": 1}, ANSWERED, "50 %"),
    (flags.COLLECTOR, {}, {"watched": WatchedWindow(stopped=("cpu", "block"))}, "cpu, block"),
    (flags.COLLECTORS_SILENT, {}, {"watched": WatchedWindow(seconds=13)}, "samples of 13 of 20 s."),
    (flags.CONDITIONS_UNKNOWN, {}, {"conditions": []}, ""),
    (flags.MEMORY_LIMIT, {"memory_limit_enforced": False}, {}, "not known"),
    (flags.NOT_JUDGED, {"memory_limit_enforced": None, "memory_limit_note": "by URL"}, {},
     "be judged: by URL."),
    (flags.MEMORY_LIMIT_WIDENED, {"memory_limit_note": "grown by 2 GiB of tmpfs"}, {}, "grown"),
    (flags.LITTLE_HEADROOM, {"transactions": 1020, "driver_rate_per_s_max": 100.0}, {}, "51 %"),
    (flags.LITTLE_HEADROOM, {"driver_users_max": 7}, {}, "57 % of the 7 users"),
    (flags.RATE_NOT_KEPT, {**OPEN, "backlog": 11}, {}, "1.1 %"),
    (flags.NO_CHECKPOINT, {"checkpoints_inside": 0}, {"around": None}, ""),
    (flags.NO_CHECKPOINT, DUE, {}, "256 MiB of log, and it wrote 512 MiB in 26 s."),
    (flags.NO_CHECKPOINT, {"checkpoints_inside": 0, "checkpoint_after_s": 20.0}, {}, "due"),
    (flags.SHORT_OF_CHECKPOINT, {"checkpoints_inside": 0}, {}, "after 5 min or 256 MiB of log"),
    (flags.AUTOVACUUM, {"maintenance_runs": 1}, {}, "once"),
    (flags.AUTOVACUUM, {"maintenance_runs": 2}, {}, "2 times"),
    (flags.STILL_CACHED, {}, {"restore": {**COPY, "resident_bytes": 2**19}}, "512 KiB of the"),
    (flags.INTERFERENCE, {"others_cpu_s": 12.5, "others_names": "backup, cron"}, {}, "cron"),
    (flags.INTERFERENCE, {"others_here_bytes": 2**28, "others_names": "dd"}, {}, "(dd)"),
    (flags.INTERFERENCE, {}, {"watched": WatchedWindow(steal_share=0.021)}, "gave 2 % of the CPUs"),
    (flags.UNANSWERED, {}, {"watched": WatchedWindow(unanswered=("database",))}, "database"),
    (flags.MACHINE_CHANGED, {}, {"baseline": SLOWED}, "one CPU did 50 % less"),
    (flags.NOT_QUIET, {"idle_bytes": 5 * 2**20, "idle_names": "nvme"}, {}, "on that of nvme."),
    (flags.LOG_FILES_MADE, {"log_files_made": 26}, {}, "created 26 files for its write-ahead"),
    (flags.LOG_FILES_MADE, {"log_files_made": 1}, {}, "created a file for"),
    (flags.LEDGER_UNVERIFIED, {"ledger_unverified_because": "it is gone"}, {}, "it is gone"),
    (flags.LEDGER_CUT, {"ledger_problem": "no room"}, {}, "no room"),
    (flags.LEDGER_SHARES, {"ledger_shares": "the same disk"}, {}, "the same disk"),
    (flags.LEDGER_UNKNOWN, {}, {"ledger": [{**ORDER, "unknown": 1}, {**PAYMENT, "unknown": 2}]},
     "1 order and 2 payments"),
    (flags.NOT_STEADY, {}, {"steady": UNSTEADY},
     "differ by 50 % of their mean (steady: at most 20 %), with a slope of 31 % (steady: at "
     "most 10 %); it settled 15 s into the measurement; without that part its throughput is "
     "12 % higher; its level changed at 12 s (+100 %)."),
    (flags.NOT_STEADY, {}, {"steady": STILL},
     "; its level changed at 12 s (from standstill) and 40 s (-100 %)."),
]  # fmt: skip
"""These stand beside the numbers; the window stays valid."""


@pytest.mark.parametrize(("flag", "changes", "record", "words"), [*INVALID, *NOTED])
def test_what_is_wrong_makes_a_window_invalid_or_is_noted(
    good: tuple[Row, Row], flag: Flag, changes: Row, record: Row, words: str
) -> None:
    """In one sentence on one line with nothing left to fill in, and with an advice."""
    [reason] = judged(good, changes, **record)
    assert (reason.flag, is_valid([reason])) == (flag, (flag, changes, record, words) in NOTED)
    assert words in reason.sentence
    for text in (reason.sentence, reason.advice):
        assert text.endswith(".")
        assert not {"\n", "{"} & {*text}
    assert ".." not in reason.sentence


@pytest.mark.parametrize(("changes", "record"), [
    ({}, {}),
    ({"lateness_mean_s": 0.0002, "lateness_p99_s": 1.0}, ANSWERED),
    ({"lateness_mean_s": None}, ANSWERED),
    ({"headline_in_doubt": 3, "headline_in_doubt_found": 2, "proof_after": "+2"},
     {}),
    ({"client_commits": "+27"}, {}),
    ({"server_commits": "+60", "connections_opened": 2, "connections_reopened": 30}, {}),
    ({"server_commits": "+70", "connections_opened": 2, "agents": "a, b, c"}, {}),
    ({"server_commits": "+60", "connections_opened": None, "users": 100}, {}),
    ({"transactions": 1000, "driver_rate_per_s_max": 100.0}, {}),
    ({**OPEN, "backlog": 10}, {}),
    ({"backlog": 500}, {}),
    ({**DUE, "checkpoints_inside": 2}, {}),
    ({**DUE, "checkpoints_inside": None}, {}),
    ({}, {"restore": {**COPY, "resident_bytes": 2**20 // 100}}),
    ({"others_cpu_s": 0.05 * 2 * 25.0}, {}),
    ({"others_cpu_s": 12.5, "cpus": 64}, {}),
    ({"others_here_bytes": 2**25}, {}),
    ({"others_here_bytes": 2**20, "disks_bytes": 2**20}, {}),
    ({"others_here_bytes": 2**28, "disks_bytes": None}, {}),
    ({"idle_bytes": 2**20}, {}),
    ({"idle_bytes": None, "idle_names": None}, {}),
    ({"log_files_made": None}, {}),
    ({}, {"steady": Steadiness(True, 0.2, 0.1)}),
    ({}, {"ledger": [ORDER, PAYMENT], "watched": WatchedWindow(seconds=14, steal_share=0.02)}),
])  # fmt: skip
def test_what_is_allowed_is_no_reason(good: tuple[Row, Row], changes: Row, record: Row) -> None:
    """Just within each boundary."""
    assert judged(good, changes, **record) == ()


def test_invalidating_reasons_come_first_also_of_a_dead_window(good: tuple[Row, Row]) -> None:
    """A person reads first what takes the claim away; what was acknowledged must be there."""
    both = judged(good, {"checkpoints_inside": 0, "errors": 99})
    assert [each.flag for each in both] == [flags.ERRORS, flags.SHORT_OF_CHECKPOINT]
    dead = judged(good, {"missing_because": "killed"}, ledger=ledger_rows("w", 10, lost=1))
    assert [each.flag for each in dead] == [flags.NO_NUMBERS, flags.LEDGER]


def test_a_check_is_silent_without_the_tables_that_it_needs(good: tuple[Row, Row]) -> None:
    """A run of another kind has no conditions to verify; with the table, none was verified."""
    for tables, expected in (
        ({"window", "surroundings"}, ()),
        ({"conditions"}, (flags.CONDITIONS_UNKNOWN,)),
    ):
        found = judged(good, {}, conditions=[], tables=frozenset(tables))
        assert tuple(each.flag for each in found) == expected


@pytest.mark.parametrize("happened", ["migration-copy", "migration-replication",
                                      "fault-server-killed", "fault-drive-gone"])  # fmt: skip
def test_nothing_explains_a_contradiction(good: tuple[Row, Row], happened: str) -> None:
    """What users wait for while their server is away is in the law, and so is what fails."""
    found = judged(good, {"activity": f"hammer, {happened}", "errors": 1}, laws=[BROKEN])
    assert [each.flag for each in found] == [flags.CONTRADICTION, flags.FEW_ERRORS]


def driven(**changes: Any) -> Row:
    """A window of 100 transactions a second and 4 users, of a driver that can 1,000 and 40."""
    row = {
        "measure_from_s": 10.0, "measure_to_s": 20.0, "transactions": 1000, "users": 4,
        "driver_rate_per_s_max": 1000.0, "driver_users_max": 40, "backlog": 0,
        "window_id": "w", "lateness_p99_s": 1e-5, "service_p50_s": 1e-3,
    }  # fmt: skip
    return {**row, **changes}


@pytest.mark.parametrize(("changes", "shown"), [
    ({"transactions": 10_000}, None),
    ({"transactions": 10_100}, "it did 1,010 transactions per second in w, more than the 1,000"),
    ({"backlog": 50_000}, None),
    ({"users": 41}, "it served 41 users in w, more than the 40 of the calibration"),
    ({"users": 41, "lateness_p99_s": 0.5}, None),
    ({"transactions": 5100, "driver_others_share": 0.06}, "other programs used 6 % of the"),
    ({"transactions": 5100, "driver_others_share": 0.05}, None),
    ({"driver_rate_per_s_max": None, "driver_users_max": None, "lateness_p99_s": 0.5}, None),
    ({"transactions": None, "lateness_p99_s": None}, None),
])  # fmt: skip
def test_a_limit_holds_until_a_window_shows_otherwise(changes: Row, shown: str | None) -> None:
    """By what it did, not by what was asked; a limit that is reached is none refuted."""
    found = list_refuted([driven(), driven(**changes)]).values()
    assert [(shown or "") in each for each in found] == ([True] if shown else [])
    rows = drop_refuted([driven(), driven(**changes), driven(driver_rate_per_s_max=9000.0)])
    limits = [each["driver_rate_per_s_max"] for each in rows]
    own = changes.get("driver_rate_per_s_max", 1000.0)
    assert limits == ([None, None, 9000.0] if shown else [1000.0, own, 9000.0])


def test_tables_are_joined_by_window_block_and_attempt(tmp_path: Path) -> None:
    """What is dropped with its block supports nothing; the machine changed before one attempt."""
    shape = Shape(users=(4,), repeat=4, series=False, again=frozenset({(4, 0)}),
                  changes={"w-disk-u4-b0": {"lateness_mean_s": 1.0}})  # fmt: skip
    [first] = read_run(build_run(tmp_path / "a", shape).root).baseline.filter(block=0, attempt=0)[
        "window_id"
    ]
    slow = replace(shape, baselines={first: {"one_rounds_per_s": 60_000.0}})
    read = frames(read_run(build_run(tmp_path / "b", slow).root))
    unwatched = sample_run([], read["window"], {})
    damaged = {"w-disk-u4-b3": ["seconds.parquet"]}
    found = gather(read, unwatched, ("disk", "memory"), damaged=damaged)
    raised = {each.id: {reason.flag for reason in each.reasons} for each in found.windows}
    changed = {flags.MACHINE_CHANGED, flags.MEASURED_AGAIN}
    assert {name: each for name, each in raised.items() if each} == {
        "w-disk-u4-b0": {flags.DRIVER_LATE, *changed}, "w-memory-u4-b0": changed,
        "w-disk-u4-b3": {flags.DAMAGED},
    }  # fmt: skip
    assert [each.valid for each in found.windows].count(False) == 3
    assert (found.candidates, found.points, len(found.baselines)) == (
        ("disk", "memory"),
        (at(4),),
        5,
    )


def test_what_collectors_gave_is_read_from_their_samples(tmp_path: Path) -> None:
    """Of the measurement alone: which ended and why, seconds with any, what was stolen."""
    read = dict(frames(read_run(build_run(tmp_path, ONE).root)))
    second, collector = pl.col("second"), pl.col("collector")
    died, stalled = (collector == "cpu") & (second > 20), (collector == "database") & (second > 20)
    why = pl.when(died).then(pl.lit(f"{STOPPED}it")).when(stalled).then(pl.lit(f"{UNANSWERED}60 s"))
    steal = (pl.col("metric") == "steal_share") & (pl.col("subject") == "")
    share = pl.when(second > 5).then(0.1).otherwise(0.9)
    value = pl.when(died | stalled).then(None).when(steal).then(share).otherwise("value")
    series = read["series"].with_columns(missing_because=why, value=value).filter(second < 24)

    def watched(series: pl.DataFrame) -> dict[str, WatchedWindow]:
        return read_watched(sample_run([series], read["window"], {}), read["window"])

    [found] = watched(series).values()
    assert replace(found, steal_share=None) == WatchedWindow(("cpu",), ("database",), 18)
    assert found.steal_share == pytest.approx(0.1)
    whose = pl.when(stalled).then(pl.lit("tenant-2")).otherwise(pl.lit(""))
    [found] = watched(series.with_columns(instance=whose)).values()
    assert found.unanswered == ("database of tenant-2",)
    gone = series.with_columns(window_id=pl.lit("another"))
    assert watched(gone) == {"w-disk-u4-b0": WatchedWindow(seconds=0)}
    assert watched(series.clear()) == {}


@pytest.mark.parametrize(("rates", "odd"), [
    ((100, 100, 100, 100, 95.1), []), ((100, 100, 100, 100, 94.9), [4]),
    ((100, 80, 120, 85, 115, 90, 110), []), ((100, 100, 50), []), ((100, 100, 100, 50), [3]),
    ((100, None, 100, 100, 100), []), ((100, 100, None, 50), []), ((), []),
    ((127, 90, 127, 90, 24), [4]), ((127, 127, 24), [2]), ((100, 80, 120, 60, 110), []),
])  # fmt: skip
def test_a_baseline_check_is_odd(rates: tuple[float | None, ...], odd: list[int]) -> None:
    """Beyond a floor and three median deviations, of four or more; at less than half always."""
    found = baselines.judge_baselines(checks(*rates)[::-1])
    assert [each.row["block"] for each in found if each.off] == odd
    assert [each.row["block"] for each in found] == sorted(each.row["block"] for each in found)


def test_a_trend_is_told_with_its_size_and_its_chance() -> None:
    """A fall of 2 % a minute over six minutes is 12 %; reads that stay are no trend."""
    [rate, reads] = baselines.find_trends(checks(*(100 - 2 * n for n in range(7))))
    assert rate.clear
    assert rate.share == pytest.approx(-12 / 94)
    assert rate.chance_share == pytest.approx(2 / factorial(7))
    assert not reads.clear


WORKLOAD: Workload = plugins(Workload)["order-entry"]
MINIMA = {"payment": 0.43, "order-status": 0.04, "delivery": 0.04, "stock-level": 0.04}
"""Shares of the mix; clause 5.2.3 of the specification."""


def mixed(total: int, mean_s: float | None = 0.1) -> dict[str, tuple[int, Any]]:
    """So many transactions in the workload's mix, all with the same response time."""
    return {name: (round(total * share), mean_s) for name, share in WORKLOAD.shares.items()}


def judge_laws(
    done: Mapping[str, tuple[int, float | None]], row: Row, workload: Workload
) -> Sequence[Identity]:
    """Judge a window of 20 s of 10 users; `done`: count and mean response, s, of each type."""
    total = sum(count for count, _ in done.values())
    failed = row.get("failed", 0)
    facts = {
        "window_id": "w", "missing_because": None, "users": 10, "pace": "none",
        "think_mean_s": None, "profile": "specification", "measure_from_s": 0.0,
        "measure_to_s": 20.0, "transactions": total, "tpm": total * 3.0,
        "longest_response_s": 0.1, "connections_opened": 10, "backlog": 0,
        "user_gap_max_s": 0.1, "errors": 0, "errors_expected": 0,
    }  # fmt: skip
    types = {
        name: {"committed": count, "rolled_back": 0, "response_mean_s": mean_s,
               "errors": failed * (name == "payment")}
        for name, (count, mean_s) in done.items()
    }  # fmt: skip
    return check_invariants({**facts, **row}, types, workload)


@pytest.mark.parametrize(("done", "row", "held"), [
    (mixed(2000), {}, [True, True, True]),
    (mixed(1600), {}, [False, True, True]),
    (mixed(1600), {"longest_response_s": 4.0}, [True, True, True]),
    (mixed(1600, 0.125), {"longest_response_s": 4.1, "failed": 10}, [True, True, True]),
    (mixed(1600), {"user_gap_max_s": 4.1, "failed": 10}, [True, True, True]),
    (mixed(1000), {"user_gap_max_s": 4.1, "failed": 10}, [False, True, True]),
    (mixed(1600), {"user_gap_max_s": 4.1, "failed": 10, "tpm": 5.0}, [True, False, True]),
    (mixed(4000), {"users": 100, "pace": "think", "think_mean_s": 0.3, "failed": 1000,
                   "user_gap_max_s": 0.4}, [True, True, True]),
    (mixed(1200), {"user_gap_max_s": 8.0, "errors_expected": 10}, [True, True, True]),
    (mixed(2000), {"tpm": 3000.0}, [True, False, True]),
    (mixed(1000), {"pace": "rate"}, [True, True]),
    (mixed(1000), {"pace": "think", "think_mean_s": 0.1}, [True, True, True]),
    (mixed(1000), {"pace": "think", "think_mean_s": 0.3}, [False, True, True]),
    (mixed(2000), {"measure_to_s": None}, [None, None, True]),
    (mixed(2000, None), {}, [None, True, True]),
    ({"new-order": (90_000, 0.001), **{n: (round(200_000 * p), 0.001) for n, p in
      MINIMA.items()}}, {"profile": "hammerdb"}, [True, True, False]),
    (mixed(2000), {"tpm": None}, []),
])  # fmt: skip
def test_laws_hold_of_any_window(done: dict[str, Any], row: Row, held: list[bool | None]) -> None:
    """Little's law, the sum of the types, the mix; a side that is unknown says why.

    Of a window of 20 s with so many transactions of each type, and their mean times. A switch of
    4 s is in the response of those who wait for a connection, and may be in a transaction that
    fails.
    """
    found = judge_laws(done, row, WORKLOAD)
    assert [each.holds for each in found] == held
    assert all(each.missing_because for each in found if each.holds is None)


def test_laws_count_what_users_began() -> None:
    """Of 8 users of a brokerage; orders whose results are under way say nothing about the mix."""
    done = {name: (round(9000 * share), 8 * 20 / 9000) for name, share in BROKERAGE.shares.items()}
    done |= {"trade-result": (740, 0.5), "market-feed": (74, 0.5), "data-maintenance": (10, 0.5)}
    row = {"users": 8, "connections_opened": 10, "tpm": 3.0 * (9000 + 824)}
    assert [each.holds for each in judge_laws(done, row, BROKERAGE)] == [True, True, True]


def test_every_check_is_asked_of_a_window_of_some_activity() -> None:
    """One declares all tables that it needs; of another activity only what it has is asked."""
    known = [list_tables(name) for name in plugins(DeclaredActivity)]
    checks = [check for plugin in plugins(WindowChecks).values() for check in plugin.checks]
    assert all(any(each.issuperset(check.needs) for each in known) for check in checks)
    assert not list_tables("another") & {"load", "transactions", "ledger"}
