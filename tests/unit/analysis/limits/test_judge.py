"""All rules on one window: the tightest bound, what else holds, and what could not be told."""

from dataclasses import replace
from typing import Any

import pytest

from stithy.analysis.limits.judge import SEVERAL, UNKNOWN, judge, rules
from stithy.analysis.limits.sight import Cpus, Reached
from stithy.analysis.validity.head_room import HeadRoom
from support.sample_sight import disk, sessions, sight


def test_the_tightest_bound_limits_and_the_others_come_after() -> None:
    """A full CPU, while sessions wait for the log for most of their time."""
    found = judge(sight(server=Cpus(2, 0.95), sessions=sessions(log=2.6), devices=disk()))
    assert found.kind == "server-cpu"
    assert [each.rule for each in found.also] == ["log"]
    assert found.by is not None
    assert found.by.share == 0.95


def test_waits_for_a_device_that_does_all_it_can_are_waits_for_its_rate() -> None:
    """However long they are; a device that could do more is slow, and no more."""
    waiting = sight(emulated=True, sessions=sessions(device=3.9), devices=disk(1.0))
    full = judge(replace(waiting, drives=(Reached("data", "reads a second", 0.85),)))
    assert full.kind == "device-rate"
    assert [each.rule for each in full.also] == ["device-latency"]
    free = judge(replace(waiting, drives=(Reached("data", "reads a second", 0.75),)))
    assert free.kind == "device-latency"


def test_several_limits_that_all_have_a_part_are_told_as_such() -> None:
    """Where all rules spoke and none holds."""
    found = judge(sight(server=Cpus(2, 0.5)))
    assert (found.kind, found.by) == (SEVERAL, None)
    assert found.judged[0].share == max(each.share or 0.0 for each in found.judged)


def test_where_no_rule_holds_and_one_could_not_speak_nothing_is_determined() -> None:
    """The one that could not may have been it."""
    found = judge(sight(head_room=HeadRoom(1.0, None, None)))
    assert found.kind == UNKNOWN
    assert [each.rule for each in found.silent] == ["driver"]


def test_a_rule_that_could_not_speak_does_not_hide_one_that_holds() -> None:
    """It is listed beside it."""
    found = judge(sight(server=Cpus(2, 0.9), head_room=HeadRoom(1.0, None, None)))
    assert found.kind == "server-cpu"
    assert [each.rule for each in found.silent] == ["driver"]


def test_a_window_of_which_nothing_was_watched_is_not_determined() -> None:
    """No rule takes what is missing for 0."""
    blind = sight(
        sessions=None, host=None, server=None, devices=(),
        stalled_share=None, head_room=HeadRoom(None, None, None),
        unseen=dict.fromkeys(("cpu", "block", "database"), "nobody looked"),
    )  # fmt: skip
    found = judge(blind)
    assert found.kind == UNKNOWN
    assert all(each.holds is None for each in found.judged)
    assert found.storage_share is None
    assert found.is_storage_result


def test_a_throughput_capped_by_pauses_is_no_storage_result() -> None:
    """Even storage that took no time would let the users do a twentieth more."""
    found = judge(sight(places=100, paced=True, under_way=4.0, server=Cpus(2, 0.1)))
    assert found.kind == "users"
    assert found.storage_share is not None
    assert found.storage_share <= 0.04
    assert not found.is_storage_result


def test_users_who_nearly_always_pause_limit_whatever_is_full_beside_them() -> None:
    """The work of others fills the CPUs, and the users do what their pauses allow."""
    beside = judge(sight(places=8, paced=True, under_way=0.5, host=Cpus(2, 1.0)))
    assert beside.kind == "users"
    assert [each.rule for each in beside.also] == ["host-cpu"]
    held_up = judge(sight(places=8, paced=True, under_way=2.0, host=Cpus(2, 1.0)))
    assert held_up.kind == "host-cpu"


def test_a_late_driver_is_told_before_users_who_pause() -> None:
    """It did not do what the users were to do."""
    found = judge(sight(places=8, paced=True, under_way=0.5, late="the hammer was late"))
    assert found.kind == "driver"


def test_users_who_spend_a_fifth_of_their_time_with_storage_leave_it_a_part() -> None:
    """Then storage that took no time would do a quarter more."""
    found = judge(
        sight(places=4, server=Cpus(8, 0.4), sessions=sessions(device=0.8, cpu=3.2), under_way=4.0)
    )
    assert found.kind == "users"
    assert found.storage_share == 0.2
    assert found.is_storage_result


def test_who_waits_for_a_connection_waits_for_the_storage_of_the_others() -> None:
    """Two of 32 have one and are nearly always at the log: quicker flushes help."""
    pooled = sight(
        places=32, under_way=32.0, pool_waiting=30.0, server=Cpus(1, 0.1),
        sessions=sessions(log=1.8, cpu=0.2), devices=disk(),
    )  # fmt: skip
    found = judge(pooled)
    assert found.kind == "pool"
    assert found.storage_share == pytest.approx(0.9)
    assert found.is_storage_result


def test_who_waits_for_a_lock_may_wait_for_the_storage_of_its_holder() -> None:
    """But no longer than any session was seen to wait for storage."""
    held: dict[str, Any] = {"places": 24, "under_way": 24.0, "server": Cpus(1, 0.1)}
    slow = judge(sight(**held, sessions=sessions(locks=21.6, log=1.2, cpu=0.2)))
    assert slow.kind == "locks"
    assert slow.storage_share == pytest.approx(0.95)
    quick = judge(sight(**held, sessions=sessions(locks=21.6, log=0.048, cpu=1.2)))
    assert quick.storage_share == pytest.approx(0.002 + 0.9 * 0.048)
    assert not quick.is_storage_result


def test_every_rule_has_all_that_the_report_says_of_it() -> None:
    """A letter of its own among them, which the strip shows where colours do not help."""
    letters = [rule.LETTER for rule in rules().values()]
    assert len(set(letters)) == len(letters)
    for rule in rules().values():
        assert len(rule.LETTER) == 1
        assert rule.WORDS
        assert rule.SHORT
        assert rule.HEADING
        assert 0 < rule.HOLDS_FROM < 1
        assert isinstance(rule.IS_STORAGE, bool)
