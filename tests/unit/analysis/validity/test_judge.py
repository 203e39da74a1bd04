"""Which windows may be believed, and what is said of the others."""

from pathlib import Path
from typing import Any

import pytest

from stithy.analysis.steady.steadiness import steadiness
from stithy.analysis.validity.judge import WindowRecord, is_valid, judge
from stithy.analysis.validity.reasons import Flag, Reason
from stithy.analysis.validity.work import Identity, commit_bounds, commit_rule
from stithy.results.read import read_run
from support.sample_run import Shape, build_run

Row = dict[str, Any]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Row:
    """A window row in which all is well."""
    root: Path = tmp_path_factory.mktemp("run")
    build_run(root, Shape(users=(4,), candidates=("disk",)))
    return read_run(root).window.to_dicts()[0]


HELD = [{"number": 1, "holds": True}]

BAD: list[tuple[Flag, Row]] = [
    (Flag.NO_NUMBERS, {"missing_because": "the server was killed."}),
    (Flag.INCOMPLETE, {"complete": False}),
    (Flag.ERRORS, {"errors": 3, "error_text": "could not extend file\nHINT: disk full."}),
    (Flag.ERRORS, {"errors": 3, "error_text": None}),
    (Flag.DRIVER_LATE, {"lateness_p99_s": 0.2}),
    (Flag.ORDER_NUMBERS, {"new_orders_acknowledged": 1}),
    (Flag.ORDER_NUMBERS_UNKNOWN, {"order_numbers_after": None}),
    (Flag.COMMITS, {"server_commits": 1}),
    (Flag.COMMITS, {"server_commits": 10**9}),
]
NOTED: list[tuple[Flag, Row]] = [
    (Flag.COMMITS_UNKNOWN, {"server_commits": None}),
    (Flag.MEMORY_LIMIT, {"memory_limit_enforced": False, "memory_limit_note": "no rights"}),
    (Flag.MEMORY_LIMIT, {"memory_limit_enforced": False}),
    (Flag.MEMORY_LIMIT_WIDENED, {"memory_limit_note": "grown by 2 GiB of tmpfs"}),
    (Flag.LITTLE_HEADROOM, {"driver_rate_per_s_max": 1.5}),
    (Flag.LITTLE_HEADROOM, {"driver_users_max": 7}),
    (Flag.NO_CHECKPOINT, {"checkpoints_inside": 0}),
    (Flag.RATE_NOT_KEPT, {"rate_per_s": 500.0, "unserved": 400}),
    (Flag.AUTOVACUUM, {"autovacuum_runs": 1}),
    (Flag.AUTOVACUUM, {"autovacuum_runs": 2}),
]


def _flags(reasons: tuple[Reason, ...]) -> list[Flag]:
    return [reason.flag for reason in reasons]


def test_a_window_in_which_all_is_well_has_no_reason(good: Row) -> None:
    """Nothing is said where nothing is wrong."""
    assert judge(WindowRecord(good, HELD)) == ()


@pytest.mark.parametrize(("flag", "change"), BAD)
def test_what_is_wrong_makes_the_window_invalid(good: Row, flag: Flag, change: Row) -> None:
    """Each of these alone takes the window's claim away."""
    reasons = judge(WindowRecord({**good, **change}, HELD))
    assert _flags(reasons) == [flag]
    assert not is_valid(reasons)


@pytest.mark.parametrize(("flag", "change"), NOTED)
def test_what_must_be_known_only_annotates_the_window(good: Row, flag: Flag, change: Row) -> None:
    """These stand beside the numbers; the window stays valid."""
    reasons = judge(WindowRecord({**good, **change}, HELD))
    assert _flags(reasons) == [flag]
    assert is_valid(reasons)


def test_restored_files_that_stayed_in_the_page_cache_are_told(good: Row) -> None:
    """They are outside of the memory limit; a file system in memory has no such number."""
    size_bytes = 100 * 2**20
    restored = {"identical": True, "size_bytes": size_bytes}
    [reason] = judge(WindowRecord(good, HELD, {**restored, "resident_bytes": size_bytes // 2}))
    assert (reason.flag, reason.invalidates) == (Flag.STILL_CACHED, False)
    assert reason.sentence.startswith("50 MiB of the restored 100 MiB were still in the page cache")
    assert judge(WindowRecord(good, HELD, {**restored, "resident_bytes": 4096})) == ()
    assert judge(WindowRecord(good, HELD, {**restored, "resident_bytes": None})) == ()


def test_conditions_and_restores_are_judged_too(good: Row) -> None:
    """What belongs to a window from other tables counts as its own columns do."""
    broken = [{"number": 3, "holds": False}, {"number": 1, "holds": True}]
    assert _flags(judge(WindowRecord(good, broken))) == [Flag.CONDITIONS]
    assert judge(WindowRecord(good, broken))[0].sentence == "Broken consistency conditions: 3."
    assert _flags(judge(WindowRecord(good, []))) == [Flag.CONDITIONS_UNKNOWN]
    assert _flags(judge(WindowRecord(good, HELD, {"identical": False}))) == [Flag.RESTORE]
    assert judge(WindowRecord(good, HELD, {"identical": True})) == ()


def test_an_unsteady_window_is_noted_and_stays_valid(good: Row) -> None:
    """What its seconds tell is judged with the rest."""
    halved = steadiness([], [300.0] * 30 + [150.0] * 30)
    reasons = judge(WindowRecord(good, HELD, steady=halved))
    assert _flags(reasons) == [Flag.NOT_STEADY]
    assert is_valid(reasons)
    assert judge(WindowRecord(good, HELD, steady=steadiness([], [300.0] * 60))) == ()


def test_invalidating_reasons_come_first(good: Row) -> None:
    """A person reads first what takes the claim away."""
    reasons = judge(WindowRecord({**good, "checkpoints_inside": 0, "errors": 1}, HELD))
    assert _flags(reasons) == [Flag.ERRORS, Flag.NO_CHECKPOINT]


@pytest.mark.parametrize(("flag", "change"), [*BAD, *NOTED])
def test_every_reason_is_one_sentence_with_an_advice(good: Row, flag: Flag, change: Row) -> None:
    """Texts of the server are put on one line and keep no full stop inside the sentence."""
    reasons = judge(WindowRecord({**good, **change}, HELD))
    assert flag in _flags(reasons)
    for reason in reasons:
        assert reason.sentence.endswith(".")
        assert ".." not in reason.sentence
        assert "\n" not in reason.sentence
        assert reason.advice.endswith(".")
        assert "{" not in reason.sentence + reason.advice


def test_lateness_is_allowed_up_to_a_twentieth_of_the_service_time(good: Row) -> None:
    """The allowance is max(1 ms, 5 % of the median service time)."""
    slow = {**good, "service_p50_s": 0.1}
    assert judge(WindowRecord({**slow, "lateness_p99_s": 0.005}, HELD)) == ()
    assert _flags(judge(WindowRecord({**slow, "lateness_p99_s": 0.0051}, HELD))) == [
        Flag.DRIVER_LATE
    ]
    quick = {**good, "service_p50_s": 1e-4}
    assert judge(WindowRecord({**quick, "lateness_p99_s": 0.001}, HELD)) == ()


def test_a_rate_is_kept_while_at_most_a_hundredth_waits(good: Row) -> None:
    """Of those due; in a closed loop whoever waits for a connection is no backlog."""
    done = good["transactions"]
    opened = {**good, "pace": "rate", "rate_per_s": 500.0}
    assert judge(WindowRecord({**opened, "unserved": done // 100}, HELD)) == ()
    [reason] = judge(WindowRecord({**opened, "unserved": done // 9}, HELD))
    assert (reason.flag, reason.invalidates) == (Flag.RATE_NOT_KEPT, False)
    assert "10.0 %" in reason.sentence
    assert judge(WindowRecord({**good, "unserved": done}, HELD)) == ()


def test_a_pool_allows_for_no_more_commits_than_its_connections(good: Row) -> None:
    """However many users share it; those opened again after a loss count too."""
    surplus = {**good, "server_commits": good["client_commits"] + 60, "connections_opened": 2}
    assert _flags(judge(WindowRecord(surplus, HELD))) == [Flag.COMMITS]
    assert judge(WindowRecord({**surplus, "connections_reopened": 10}, HELD)) == ()
    assert judge(WindowRecord({**surplus, "connections_opened": None, "users": 100}, HELD)) == ()


def test_a_law_that_is_broken_is_told_once_and_not_beside_errors(good: Row) -> None:
    """Failed transactions explain it; they are told instead."""
    broken = Identity("a = b", "w", 1.0, 2.0, 1.0, 0.05, False)
    unknown = Identity("c = d", "w", None, None, None, None, None, "not known")
    [reason] = judge(WindowRecord(good, HELD, laws=[unknown, broken, broken]))
    assert (reason.flag, reason.invalidates) == (Flag.CONTRADICTION, True)
    assert "a = b, but 1 is not 2 within 5.0 %" in reason.sentence
    assert _flags(judge(WindowRecord({**good, "errors": 1}, HELD, laws=[broken]))) == [Flag.ERRORS]


def test_orders_in_doubt_that_were_found_count(good: Row) -> None:
    """An order whose answer never came may be in the database; then it must be counted."""
    found = {**good, "order_numbers_after": good["order_numbers_after"] + 2}
    assert _flags(judge(WindowRecord(found, HELD))) == [Flag.ORDER_NUMBERS]
    assert (
        judge(
            WindowRecord({**found, "new_orders_in_doubt": 3, "new_orders_in_doubt_found": 2}, HELD)
        )
        == ()
    )


def test_the_rule_in_words_has_the_numbers_of_the_bounds() -> None:
    """The page prints what the code does."""
    least, most = commit_bounds(1000, 100.0, connections=10, autovacuum_runs=2)
    assert least <= 1000 < most
    base = commit_bounds(1000, 0.0, connections=0, autovacuum_runs=0)[1] - 1000
    assert commit_rule().startswith(f"{base}, ")
