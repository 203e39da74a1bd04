"""What proves the work of a window: its invariants and its ledger."""

import random
from pathlib import Path
from typing import Any

import pytest

from stithy.analysis.evidence import Window
from stithy.analysis.gathering import gather
from stithy.analysis.validity.judge import WindowRecord, is_valid, judge
from stithy.analysis.validity.reasons import Flag
from stithy.analysis.validity.work import Identity, check
from stithy.registry import plugins
from stithy.results.read import read_run
from stithy.workload.workload import Workload
from support.reported import frames
from support.sample_ledger import finding_rows, ledger_rows
from support.sample_run import Shape, build_run, window_id

WORKLOAD: Workload = plugins("workload")["order-entry"].WORKLOAD
MINIMA = {"payment": 0.43, "order-status": 0.04, "delivery": 0.04, "stock-level": 0.04}
"""Shares of the mix; clause 5.2.3 of the specification."""
LENGTH_S = 20.0


def _window(root: Path, **changes: object) -> Window:
    name = window_id("disk", 4, 0)
    build_run(root, Shape(candidates=("disk",), users=(4,), changes={name: changes}))
    return gather(frames(read_run(root)), workload=WORKLOAD).windows[0]


def _laws(
    done: dict[str, tuple[int, float]], workload: Workload | None = WORKLOAD, **row: Any
) -> tuple[Identity, ...]:
    """The laws at a window of 20 s with so many transactions of each type, and their mean times."""
    total = sum(count for count, _ in done.values())
    facts = {
        "window_id": "w", "missing_because": None, "users": 10, "pace": "none",
        "think_mean_s": None, "profile": "specification", "measure_from_s": 0.0,
        "measure_to_s": LENGTH_S, "transactions": total, "tpm": total * 60 / LENGTH_S,
        "longest_response_s": 0.1, "connections_opened": 10, "unserved": 0,
    }  # fmt: skip
    types = {
        name: {"committed": count, "rolled_back": 0, "response_mean_s": mean_s}
        for name, (count, mean_s) in done.items()
    }
    return check({**facts, **row}, types, workload)


def _mixed(total: int, mean_s: float) -> dict[str, tuple[int, Any]]:
    """So many transactions in the workload's mix, all with the same response time."""
    return {name: (round(total * p), mean_s) for name, p in WORKLOAD.shares.items()}


def test_a_throughput_that_contradicts_the_response_times_is_seen(tmp_path: Path) -> None:
    """Half the transactions at the same response time break Little's law; the window is invalid."""
    window = _window(tmp_path, transactions=1000, tpm=3000.0)
    users, parts, _ = window.laws
    assert users.holds is False
    assert parts.holds is False
    assert not window.valid
    [reason] = [each for each in window.reasons if each.flag.value == "contradicts itself"]
    assert "users = throughput × mean response time, but 4 is not" in reason.sentence


def test_a_law_whose_side_is_unknown_says_why(tmp_path: Path) -> None:
    """Without an end of the measurement neither side can be formed."""
    users, parts, _ = _window(tmp_path, measure_to_s=None).laws
    for identity in (users, parts):
        assert identity.holds is None
        assert identity.missing_because


def test_an_answer_that_came_after_the_end_may_widen_the_law() -> None:
    """A stall of 4 s at the end of 20 s is in no response time of the measurement."""
    stalled = _mixed(1600, 0.1)
    assert _laws(stalled)[0].holds is False
    assert _laws(stalled, longest_response_s=4.0)[0].holds is True


def test_chance_is_allowed_for_and_hardly_ever_more() -> None:
    """Of 300 windows of users who think, drawn anew, none is wrongly called a contradiction."""
    draw = random.Random(1)
    for _ in range(300):
        users, response_s, think_s = 20, 0.1, 2.0
        done = 0
        for _ in range(users):
            # From long before the window, so that nothing is left of how it began.
            now_s = -20.0
            while (now_s := now_s + response_s + draw.expovariate(1 / think_s)) < LENGTH_S:
                done += now_s >= 0
        kinds = draw.choices(list(WORKLOAD.shares), list(WORKLOAD.shares.values()), k=done)
        counts = {kind: (kinds.count(kind), response_s) for kind in set(kinds)}
        laws = _laws(counts, users=users, pace="think", think_mean_s=think_s)
        assert all(law.holds for law in laws), laws


def test_an_open_loop_has_no_law_of_users() -> None:
    """There the users are a number of connections."""
    names = [law.name for law in _laws(_mixed(1000, 0.1), pace="rate")]
    assert not [name for name in names if name.startswith("users")]


def test_a_mix_at_the_minima_is_not_that_of_the_deck() -> None:
    """The mix is that of the deck, in every profile; another is seen, by the farthest type."""
    for profile in ("specification", "hammerdb"):
        assert _laws(_mixed(20_000, 0.01), profile=profile)[-1].holds is True
        drawn = {"new-order": 0.45, **MINIMA}
        wrong = _laws({n: (round(200_000 * p), 0.001) for n, p in drawn.items()}, profile=profile)
        assert wrong[-1].holds is False
        assert wrong[-1].name.endswith(f"= that of the profile {profile}")


def test_the_mix_is_above_the_specified_minima() -> None:
    """By more than what a window of a thousand transactions leaves under way at its ends."""
    assert all(WORKLOAD.shares[name] > least + 0.003 for name, least in MINIMA.items())
    assert sum(WORKLOAD.shares.values()) == pytest.approx(1.0)


Row = dict[str, Any]
HELD = [{"number": 1, "holds": True}]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Row:
    """A window row in which all is well."""
    root: Path = tmp_path_factory.mktemp("run")
    build_run(root, Shape(users=(4,), candidates=("disk",)))
    return read_run(root).window.to_dicts()[0]


@pytest.mark.parametrize("count", ["lost", "differing", "returned"])
def test_acknowledged_work_that_is_gone_makes_the_window_invalid(good: Row, count: str) -> None:
    """One transaction is enough; the sentence has its number and an example."""
    order, payment = ledger_rows("w", 10, lost=0)
    reasons = judge(WindowRecord(good, HELD, ledger=[{**order, count: 1}, payment]))
    assert [each.flag for each in reasons] == [Flag.LEDGER]
    assert not is_valid(reasons)
    assert "gone: 1 order " in reasons[0].sentence


def test_the_sentence_names_a_transaction_that_is_gone(good: Row) -> None:
    """The first that the hammer told."""
    [reason] = judge(
        WindowRecord(
            good, HELD, ledger=ledger_rows("w", 10, lost=2), ledger_findings=finding_rows("w", 2)
        )
    )
    assert reason.sentence == (
        "The ledger shows acknowledged work that is gone: 2 orders lost; such as order 3000 of "
        "district 4 of warehouse 1, dated 2026-07-21 12:00:03.250017+00."
    )


def test_a_window_without_numbers_is_held_to_its_ledger_all_the_same(good: Row) -> None:
    """What was acknowledged must be there, whatever ended the window."""
    dead = {**good, "missing_because": "the hammer was killed"}
    flags = [each.flag for each in judge(WindowRecord(dead, ledger=ledger_rows("w", 10, lost=1)))]
    assert flags == [Flag.NO_NUMBERS, Flag.LEDGER]


def test_rows_that_the_ledger_does_not_know_are_noted(good: Row) -> None:
    """Another client, or the torn end of the ledger of a killed driver."""
    order, payment = ledger_rows("w", 10, lost=0)
    reasons = judge(
        WindowRecord(good, HELD, ledger=[{**order, "unknown": 1}, {**payment, "unknown": 2}])
    )
    assert [each.flag for each in reasons] == [Flag.LEDGER_UNKNOWN]
    assert reasons[0].sentence == (
        "The database holds 1 order and 2 payments that the ledger does not know."
    )
