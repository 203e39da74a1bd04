"""All rules on one window, and what limited most windows of a level."""

from dataclasses import replace
from typing import Any

import pytest

from stithy.analysis.bottlenecks.judge import SEVERAL, UNKNOWN, at_level, judge
from stithy.analysis.bottlenecks.observation import Cpus, Reached
from stithy.analysis.bottlenecks.rules import RULES
from stithy.analysis.validity.instruments import Headroom
from support.sample_observation import disk, observed, sessions


def test_the_tightest_bound_limits_and_the_others_come_after() -> None:
    """A full CPU, while sessions wait for the log for most of their time."""
    found = judge(observed(server=Cpus(2, 0.95), sessions=sessions(log=2.6), devices=disk()))
    assert found.kind == "server-cpu"
    assert [each.rule for each in found.also] == ["log"]
    assert found.by is not None
    assert found.by.share == 0.95


def test_waits_for_a_device_that_does_all_it_can_are_waits_for_its_rate() -> None:
    """However long they are; a device that could do more is slow, and no more."""
    waiting = observed(emulated=True, sessions=sessions(device=3.9), devices=disk(1.0))
    full = judge(replace(waiting, drives=(Reached("data", "reads a second", 0.85),)))
    assert full.kind == "device-rate"
    assert [each.rule for each in full.also] == ["device-latency"]
    free = judge(replace(waiting, drives=(Reached("data", "reads a second", 0.75),)))
    assert free.kind == "device-latency"


def test_several_limits_that_all_have_a_part_are_told_as_such() -> None:
    """Where all rules spoke and none holds."""
    found = judge(observed(server=Cpus(2, 0.5)))
    assert (found.kind, found.by) == (SEVERAL, None)
    assert found.judged[0].share == max(each.share or 0.0 for each in found.judged)


def test_where_no_rule_holds_and_one_could_not_speak_nothing_is_determined() -> None:
    """The one that could not may have been it."""
    found = judge(observed(headroom=Headroom(1.0, None, None)))
    assert found.kind == UNKNOWN
    assert [each.rule for each in found.silent] == ["driver"]


def test_a_rule_that_could_not_speak_does_not_hide_one_that_holds() -> None:
    """It is listed beside it."""
    found = judge(observed(server=Cpus(2, 0.9), headroom=Headroom(1.0, None, None)))
    assert found.kind == "server-cpu"
    assert [each.rule for each in found.silent] == ["driver"]


def test_a_window_of_which_nothing_was_watched_is_not_determined() -> None:
    """No rule takes what is missing for 0."""
    blind = observed(
        sessions=None, host=None, server=None, devices=(),
        stalled_share=None, headroom=Headroom(None, None, None),
        unseen=dict.fromkeys(("cpu", "block", "database"), "nobody looked"),
    )  # fmt: skip
    found = judge(blind)
    assert found.kind == UNKNOWN
    assert all(each.holds is None for each in found.judged)
    assert found.storage_share is None
    assert found.is_storage_result


def test_a_throughput_capped_by_pauses_is_no_storage_result() -> None:
    """Even storage that took no time would let the users do a twentieth more."""
    found = judge(observed(places=100, paced=True, under_way=4.0, server=Cpus(2, 0.1)))
    assert found.kind == "users"
    assert found.storage_share is not None
    assert found.storage_share <= 0.04
    assert not found.is_storage_result


def test_users_who_nearly_always_pause_limit_whatever_is_full_beside_them() -> None:
    """The work of others fills the CPUs, and the users do what their pauses allow."""
    beside = judge(observed(places=8, paced=True, under_way=0.5, host=Cpus(2, 1.0)))
    assert beside.kind == "users"
    assert [each.rule for each in beside.also] == ["host-cpu"]
    held_up = judge(observed(places=8, paced=True, under_way=2.0, host=Cpus(2, 1.0)))
    assert held_up.kind == "host-cpu"


def test_a_late_driver_is_told_before_users_who_pause() -> None:
    """It did not do what the users were to do."""
    found = judge(observed(places=8, paced=True, under_way=0.5, late="the hammer was late"))
    assert found.kind == "driver"


def test_users_who_spend_a_fifth_of_their_time_with_storage_leave_it_a_part() -> None:
    """Then storage that took no time would do a quarter more."""
    found = judge(
        observed(
            places=4, server=Cpus(8, 0.4), sessions=sessions(device=0.8, cpu=3.2), under_way=4.0
        )
    )
    assert found.kind == "users"
    assert found.storage_share == 0.2
    assert found.is_storage_result


def test_who_waits_for_a_connection_waits_for_the_storage_of_the_others() -> None:
    """Two of 32 have one and are nearly always at the log: quicker flushes help."""
    pooled = observed(
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
    slow = judge(observed(**held, sessions=sessions(locks=21.6, log=1.2, cpu=0.2)))
    assert slow.kind == "locks"
    assert slow.storage_share == pytest.approx(0.95)
    quick = judge(observed(**held, sessions=sessions(locks=21.6, log=0.048, cpu=1.2)))
    assert quick.storage_share == pytest.approx(0.002 + 0.9 * 0.048)
    assert not quick.is_storage_result


def test_every_rule_has_all_that_the_report_says_of_it() -> None:
    """A letter of its own among them, which the strip shows where colours do not help."""
    letters = [rule.letter for rule in RULES.values()]
    assert len(set(letters)) == len(letters)
    for rule in RULES.values():
        assert len(rule.letter) == 1
        assert rule.words
        assert rule.short
        assert rule.heading
        assert 0 < rule.holds_from < 1
        assert isinstance(rule.is_storage, bool)


def test_a_share_of_few_samples_has_its_interval_or_is_not_told() -> None:
    """Of 80 looks at users it is beside the share, of 8 too wide to say anything."""
    some = judge(observed(sessions=sessions(20, device=3.0), devices=disk()))
    assert some.by is not None
    assert some.by.says == "waits for data files took 75 % (95 %: 65 % to 83 %) of the users' time"
    assert judge(observed(devices=disk())).judged[0].samples in (None, 240)
    few = judge(observed(sessions=sessions(1, device=2.0), devices=()))
    assert "device-latency" in {each.rule for each in few.silent}
    assert few.storage_samples is None


FULL = judge(observed(server=Cpus(1, 0.9)))
FULLER = judge(observed(server=Cpus(1, 0.96)))
CAPPED = judge(observed(places=100, paced=True, under_way=2.0, server=Cpus(2, 0.1)))


def test_what_is_not_determined_tells_what_is_missing_and_several_what_is_nearest() -> None:
    """So that a reader knows what to do about it."""
    unknown = at_level([judge(observed(headroom=Headroom(1.0, None, None)))])
    assert unknown is not None
    assert (unknown.limit, unknown.says) == ("unknown", "the load driver could not be judged")
    several = at_level([judge(observed())])
    assert several is not None
    assert (several.limit, several.share) == ("several", 0.5)
    assert several.says == "the server's CPUs were busy 50 % of the time"


def test_the_storages_part_is_told_only_where_all_windows_know_it() -> None:
    """A mean of some windows would be that of others."""
    blind = replace(CAPPED, storage_share=None)
    both = at_level([CAPPED, blind])
    assert both is not None
    assert both.storage_share is None
    assert both.is_storage_result


def test_cpus_are_full_from_85_per_cent_whatever_else_limited() -> None:
    """Mean over all windows, not only over those that the commonest cause limited."""
    cause = at_level([FULL, CAPPED, FULLER])
    assert cause is not None
    assert (cause.cpus, cause.is_full) == ("server-cpu", False)
    assert cause.cpus_share == pytest.approx((0.9 + 0.1 + 0.96) / 3)
    full = at_level([FULL, judge(observed(server=Cpus(1, 0.81)))])
    assert full is not None
    assert full.is_full
