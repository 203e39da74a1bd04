"""The primary question, declared or derived; and questions that no run could answer."""

from dataclasses import replace
from typing import Any

import pytest

from stithy.analysis import statistics
from stithy.analysis.verdict import MARGIN_SHARE
from stithy.errors import Exit, InvalidMeasurement, StithyError
from stithy.plan.answerable import (
    check_counted,
    find_doubtful,
    find_unanswerable,
    find_unlikely,
    infer_lack,
    make_rate_key,
)
from stithy.plan.steps import Question, write_question
from stithy.study import primary as asked
from stithy.study.load import parse_study
from stithy.study.model import Study
from support.examples import WINDOW
from support.points import at
from support.studies import load, primary, study

Change = tuple[str, str]
DERIVED = ("users", "metric", "margin_percent")
THIRD = ("  memory: {", "  other: {path: /srv/other}\n  memory: {")


def _of_study(read: Study) -> Any:
    return write_question(read, tuple(read.candidates))


def _of(*changes: Change) -> Any:
    return _of_study(study(*changes))


PAIR = ("disk", "memory")
BASE = Question(at(4), "nopm", 0.02, PAIR, 4, 20, DERIVED)
ALL = "{users: 1, metric: p99, margin: 5%, candidates: [memory, disk], blocks: 9}"
QUESTIONS: dict[str, tuple[list[Change], Question]] = {
    "derived": ([], BASE),
    "declared": ([primary(ALL)], Question(at(1), "p99", 0.05, ("memory", "disk"), 4, 9, ())),
    "users who pause": ([load("pace: {think: 2 s}")], replace(BASE, metric="p95")),
    "a rate": ([load("rate: 10/s")], replace(BASE, metric="p95")),
    "a pair not named": ([THIRD], replace(BASE, candidates=None)),
    "a pair of three": (
        [THIRD, primary("{candidates: [disk, other]}")],
        replace(BASE, candidates=("disk", "other")),
    ),
    "fixed blocks": ([load("repeat: 7")], replace(BASE, blocks_least=7, blocks_most=7)),
}


@pytest.mark.parametrize("case", QUESTIONS)
def test_the_question_is_what_is_declared_and_the_rest_follows_from_the_study(case: str) -> None:
    """Users who say themselves how much is done are asked about response times."""
    changes, expected = QUESTIONS[case]
    assert _of(*changes) == expected


def test_blocks_after_the_least_at_its_level_may_be_spared() -> None:
    """Those of other levels never, nor any of a fixed number; one candidate asks nothing."""
    assert [_of().may_spare(at(4), block) for block in (0, 3, 4, 19)] == [False, False, True, True]
    assert not _of().may_spare(at(1), 5)
    assert not _of(load("repeat: 7")).may_spare(at(4), 6)
    assert write_question(study(), ("disk",)) is None
    # A study and analysis must not drift apart: neither may know the other.
    least, most = statistics.BLOCKS_LEAST, statistics.BLOCKS_MOST
    assert (least, most) == (asked.BLOCKS_LEAST, asked.BLOCKS_MOST)
    assert asked.MARGIN_PERCENT / 100 == MARGIN_SHARE


def _asking(text: str, *changes: Change, duration: str = "20 s") -> Study:
    asked = [primary(text)] if text else []
    return study(*asked, ("duration: 3 s", f"duration: {duration}"), *changes)


def _errors(asked: Study, rates: dict[str, float] | None = None) -> list[StithyError]:
    return list(find_unanswerable(asked, _of_study(asked), rates or {}))


PAUSING = load("pace: {think: 100 ms}")


def test_a_percentile_for_which_users_do_too_little_is_refused_with_the_length_that_does() -> None:
    """4 users who pause 100 ms do at most 48 transactions a second; a threshold needs no more."""
    [found] = _errors(_asking("{metric: p99}", PAUSING))
    assert found.exit == Exit.USAGE
    assert "needs 10,000 values in each window, and one of 20 s at 4 users has at most 960" in str(
        found
    )
    assert "`duration: 4 min 40 s` is the least, or ask `p50`" in found.remedy
    assert _errors(_asking("{metric: p99}", PAUSING, duration="230 s")) == []
    bound = _asking("", PAUSING, _threshold("disk.p99_at_1 < 5 ms"))
    assert _errors(bound) == []
    [_, doubt] = find_doubtful(bound, write_question(bound, PAIR), {})
    assert doubt.startswith("`disk.p99_at_1` is judged by few values: 99th percentile of response")
    assert (
        "needs 10,000 values to be printed, and a window of 20 s at 1 user has at most 240" in doubt
    )


def test_windows_that_may_well_lack_values_are_warned_of() -> None:
    """Arrivals by chance may be a fifth more, and half of all windows have less than the mean."""
    for change, duration, has in (
        (PAUSING, "230 s", "at 4 users has about 9,200 if no answer takes time"),
        (PAUSING, "280 s", None),
        (load("rate: 450/s"), "24 s", "has about 10,800"),
        (load("rate: 450/s"), "25 s", None),
        (PAUSING, "20 s", None),  # refused
    ):
        asked = _asking("{metric: p99}", change, duration=duration)
        found = [error.problem for error in find_unlikely(asked, _of_study(asked), {})]
        assert [has in problem if has else problem for problem in found] == [True] * bool(has)
    rates = {make_rate_key(asked, name, at(4)): 520.0 for name in PAIR}
    [error] = find_unlikely(asked, _of_study(asked), rates)
    assert "had about 10,400 in earlier runs here" in error.problem


def test_a_window_with_fewer_users_foresees_what_more_of_them_cannot_do() -> None:
    """In a closed loop; a tenth less may still come."""
    asked = _asking("{metric: p90}", duration="9 s")
    question, window = _of_study(asked), replace(WINDOW, point=at(1))
    text = infer_lack(asked, question, window, 224)
    assert text is not None
    assert "one at 4 users has at most 896: `duration: 15 s` is the least, or ask `p50`" in text
    assert infer_lack(asked, question, window, 225) is None
    assert infer_lack(asked, question, replace(WINDOW, point=at(4)), 1) is None
    arriving = _asking("{metric: p90}", load("rate: 900/s"), duration="9 s")
    assert infer_lack(arriving, question, window, 1) is None


def test_what_earlier_runs_did_here_tells_more_than_the_bound() -> None:
    """The slower candidate decides, where both are known; a derived metric is only doubted."""
    asked = _asking("{metric: p99 of payment}")
    assert _errors(asked) == []
    rates = {
        make_rate_key(asked, "disk", at(4)): 900.0,
        make_rate_key(asked, "memory", at(4)): 300.0,
    }
    [found] = _errors(asked, rates)
    assert "one of 20 s at 4 users had about 2,609 in earlier runs" in found.problem
    assert _errors(asked, {make_rate_key(asked, "memory", at(4)): 300.0}) == []
    assert _errors(_asking("{metric: p99 of payment, users: 1}"), rates) == []
    paced = _asking("", ("[1, 4]", "[1]"), load("pace: keyed"))
    assert _errors(paced) == []
    [doubt] = find_doubtful(paced, write_question(paced, PAIR), {})
    assert "95th percentile of response time needs 2,000 values" in doubt


DRIVES = (
    ("{path: /var/tmp/stithy}", "{drive: generic-sata}"),
    ("{path: /dev/shm/stithy}", "{drive: b}"),
)
ARRAY = (
    ("{path: /var/tmp/stithy}", "{drive: generic-sata, count: 2, layer: {btrfs: {level: raid0}}}"),
    DRIVES[1],
)
TENANTS = (("database:", "scenario: {noisy-neighbour: {tenants: 2, rate: [20]}}\ndatabase:"),)


def _threshold(text: str) -> Change:
    return "workload:", f"thresholds: [{text}]\nworkload:"


READ = _threshold("disk.drive.read_p99_at_1 < 5 ms")
UNREPORTED: list[tuple[str, tuple[Change, ...], tuple[str, str] | None]] = [
    ("drive.read_p99", (), ("primary.metric", "only an emulated drive reports `drive.read_p99`")),
    ("block.read_latency_s", (), ("primary.metric", "candidate memory has none: it is memory")),
    ("drive.read_p99", DRIVES, None),
    ("block.read_latency_s", DRIVES, None),
    ("drive.flush_p99 of log", DRIVES, ("primary.metric", "needs a drive for the log, and candid")),
    ("drive.read_p99 of data", ARRAY, None),
    ("", (READ,), ("thresholds", "only an emulated drive reports")),
    ("database.active_sessions", (), None),
    ("database.active_sessions", TENANTS, ("primary.metric", "each of 2 tenants has its own")),
    ("database.waiting_sessions of Lock", TENANTS, ("primary.metric", "is of one server")),
    ("database.waiting_sessions of tenant-3", TENANTS, ("primary.metric", "is of one server")),
    ("database.waiting_sessions of tenant-2:Lock", TENANTS, None),
    ("cpu.user_share", TENANTS, None),
]


@pytest.mark.parametrize(("metric", "changes", "expected"), UNREPORTED)
def test_what_the_storage_does_not_report_is_refused(
    metric: str, changes: tuple[Change, ...], expected: tuple[str, str] | None
) -> None:
    """Of directories, of memory, of a role without a drive, and of several servers together."""
    found: list[Any] = _errors(_asking(f"{{metric: {metric}}}" if metric else "", *changes))
    assert len(found) == bool(expected)
    for error in found:
        assert expected
        assert error.where == expected[0]
        assert expected[1] in error.problem


BACKUPS = (
    ("study:", "scenario: {backup: {during: {users: 4}}}\nstudy:"),
    ("  users: [1, 4]\n", "  users: [4]\n"),
)
SETTINGS = (
    *BACKUPS,
    (
        "study:",
        "vary: {scenario.backup.processes: [1, 2], scenario.backup.compression: [none, zstd]}"
        "\nstudy:",
    ),
)
FRONTIER = "backup.duration_s_at_u4-backup{}-processes{}-compression{} < 9 s"
UNPLANNED: list[tuple[str, tuple[Change, ...], str, str]] = [
    ("backup.p99_ratio_at_1 < 2", (), "no window at 1 user measures `backup.p99_ratio`", "load"),
    ("fio.iops_at_1 > 1", (), "no window at 1 user measures `fio.iops`", "of the scenario load"),
    (
        "backup.p99_ratio_at_u4-backupoff < 2", BACKUPS,
        "no window at 4 users without backups measures", "ask it at 4 users with backups",
    ),
    ("isolation_at_u4-neighbour0 > 90%", TENANTS, "measures `isolation`", "neighbour 20"),
    (FRONTIER.format("on", 2, "none"), SETTINGS, "(basebackup uses several", "another combination"),
    (FRONTIER.format("off", 1, "zstd"), SETTINGS, "(another one stands for it)", "another comb"),
]  # fmt: skip


@pytest.mark.parametrize(("threshold", "changes", "problem", "remedy"), UNPLANNED)
def test_what_no_window_of_a_threshold_measures_is_refused(
    threshold: str, changes: tuple[Change, ...], problem: str, remedy: str
) -> None:
    """No activity of its windows has it, nothing is beside the users, or there is no window."""
    asked = _asking("", *changes, _threshold(f"disk.{threshold}"))
    [found] = _errors(asked)
    assert (found.where, found.exit) == ("thresholds", Exit.USAGE)
    assert problem in found.problem
    assert remedy in found.remedy
    assert list(find_doubtful(asked, None, {})) == []


def test_a_scenario_without_users_or_server_has_none_of_their_metrics() -> None:
    """Response time as the question, and what only a server has."""
    for metric, problem in (
        ("p99", "no window at profile sql measures `p99`"),
        ("database.active_sessions", "is of a database server, and the scenario block-io has none"),
    ):
        text = (
            "study: x?\ncandidates: {a: {path: /var/tmp/a}, b: {path: /var/tmp/b}}\n"
            f"scenario: {{block-io: {{profiles: [sql]}}}}\nprimary: {{metric: {metric}}}\n"
        )
        [found] = _errors(parse_study("study.yaml", text.encode()))
        assert problem in found.problem


REMEDIES = [
    ("drive.read_p99_at_1 < 5 ms", (), "or ask `disk.block.read_latency_s_at_1`, which the"),
    ("drive.queue_length_at_1 < 5", (), "or ask `disk.block.queue_length_at_1`, which the"),
    ("drive.cpu_share_at_1 < 50%", (), "or ask a metric of `block`, which the kernel counts"),
    (
        "log.drive.flush_p99_at_1 < 5 ms", DRIVES,
        "give it one with `roles: {log: {drive: …}}`, or ask `disk.drive.flush_p99_at_1`",
    ),
    (
        "database.active_sessions_at_u1-neighbour0 < 5", TENANTS,
        "`disk.tenant-1.database.active_sessions_at_u1-neighbour0`",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("threshold", "changes", "remedy"), REMEDIES)
def test_what_would_do_instead_is_written_as_a_threshold_has_it_and_there_is_such_a_metric(
    threshold: str, changes: tuple[Change, ...], remedy: str
) -> None:
    """The kernel counts some of what drives report; a role has its drive by a key of its own."""
    [found] = _errors(_asking("", *changes, _threshold(f"disk.{threshold}")))
    assert remedy in found.remedy


def test_the_first_window_stops_a_run_that_cannot_have_the_values() -> None:
    """A tenth less may still come from the next window; nobody asked for a derived metric."""
    paced = load("rate: 9/s")
    named, derived = (_asking(each, paced, duration="10 s") for each in ("{metric: p95}", ""))
    check_counted(named, _of_study(named), "w", 1_800)
    check_counted(derived, _of_study(derived), "w", 1_799)
    with pytest.raises(InvalidMeasurement, match=r"has 1,799.*`duration: 15 s` is enough"):
        check_counted(named, _of_study(named), "w", 1_799)
