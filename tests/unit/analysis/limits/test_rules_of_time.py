"""Rules about the users' time: what raises each, near misses, and what makes it unable to speak."""

import pytest

from stithy.analysis.limits.rule import Answer
from stithy.analysis.limits.rules import (
    checkpoints,
    device_latency,
    driver,
    emulation,
    locks,
    log,
    pool,
    users,
)
from stithy.analysis.limits.sight import Cpus, Device, Growth, Sight
from stithy.analysis.validity.head_room import HeadRoom
from support.sample_sight import disk, sessions, sight


def _share(answer: Answer | None) -> float:
    assert answer is not None
    assert answer.share is not None, answer.because
    return answer.share


def test_pauses_are_the_users_own_time() -> None:
    """Of a hundred users who pause, five are under way: 95 % of their time no storage shortens."""
    quiet = sight(places=100, paced=True, under_way=5.0, server=Cpus(2, 0.0))
    assert _share(users.judge(quiet)) == pytest.approx(0.95)


def test_users_whose_pauses_are_short_against_their_waits_are_no_limit() -> None:
    """A near miss: 51 of 100 wait for answers, and the server hardly works for them."""
    busy = sight(places=100, paced=True, under_way=51.0, server=Cpus(2, 0.0))
    assert _share(users.judge(busy)) == pytest.approx(0.49)
    assert _share(users.judge(busy)) < users.HOLDS_FROM


def test_work_on_idle_cpus_is_the_users_own_time() -> None:
    """Two users on four CPUs of which one and a half work: more users would do more."""
    few = sight(places=2, under_way=2.0, server=Cpus(4, 0.375))
    assert _share(users.judge(few)) == pytest.approx(0.75)


def test_work_is_no_limit_of_users_where_more_users_did_not_do_more() -> None:
    """What the next level showed counts more than CPUs that seem to have room."""
    few = sight(places=2, under_way=2.0, server=Cpus(4, 0.375), growth=Growth(4, 1.2, 0.2))
    assert _share(users.judge(few)) == 0.0
    grown = sight(places=2, under_way=2.0, server=Cpus(4, 0.375), growth=Growth(4, 1.9, 0.9))
    assert _share(users.judge(grown)) == pytest.approx(0.75)


def test_many_users_on_few_cpus_are_no_limit() -> None:
    """Sixteen users share two busy CPUs: each works an eighth of its time, and queues for them."""
    many = sight(places=16, under_way=16.0, server=Cpus(2, 1.0))
    assert _share(users.judge(many)) == pytest.approx(2 / 16)


def test_a_server_without_cpus_of_its_own_works_for_no_more_users_than_were_seen() -> None:
    """The CPUs of the host work for driver and drives as well."""
    shared = sight(server=None, host=Cpus(4, 0.9), sessions=sessions(cpu=1.0))
    assert _share(users.judge(shared)) == pytest.approx(1.0 / 4)


def test_the_work_of_other_programs_is_not_the_users() -> None:
    """A CPU that others fill works for no user."""
    beside = sight(places=1, under_way=1.0, server=Cpus(1, 0.95), others_cpus=0.8)
    assert _share(users.judge(beside)) == pytest.approx(0.15)


def test_an_open_loop_that_is_served_does_what_was_asked() -> None:
    """Its rate is the limit; where transactions pile up it is not."""
    assert _share(users.judge(sight(is_open=True, unserved_share=0.002))) == pytest.approx(0.998)
    assert _share(users.judge(sight(is_open=True, unserved_share=0.2))) == 0.0


@pytest.mark.parametrize(
    ("seen", "missing"),
    [
        (sight(paced=True, under_way=None), "the window has no response times"),
        (sight(server=None, sessions=None, unseen={"cpu": "no cpu"}), "no cpu"),
        (sight(is_open=True), "the window has no transactions"),
    ],
)  # fmt: skip
def test_users_are_not_judged_by_what_was_not_seen(seen: Sight, missing: str) -> None:
    """The rule says what is missing."""
    answer = users.judge(seen)
    assert (answer.share, answer.because) == (None, missing)


def test_waits_for_data_are_a_share_of_all_users() -> None:
    """Two and a half of four wait: 62 %; just under a half is a near miss."""
    waiting = sight(sessions=sessions(device=2.5, cpu=1.0), devices=disk())
    assert _share(device_latency.judge(waiting)) == pytest.approx(0.625)
    less = sight(sessions=sessions(device=1.96, cpu=1.0), devices=disk())
    assert _share(device_latency.judge(less)) < device_latency.HOLDS_FROM


def test_waits_that_are_not_on_the_device_are_not_its_latency() -> None:
    """Sessions wait for reads, and the device has hardly any under way: it is memory, or a CPU."""
    cached = sight(sessions=sessions(device=3.0), devices=disk(under_way=0.2))
    assert _share(device_latency.judge(cached)) == pytest.approx(0.05)


def test_sessions_cannot_wait_longer_for_storage_than_it_was_in_use() -> None:
    """A server with one CPU is asked by a session that needs it, so the others seem to wait."""
    seen = sight(sessions=sessions(device=1.6, log=2.0), devices=disk(0.27))
    assert _share(device_latency.judge(seen)) == pytest.approx(0.27 * 1.6 / 3.6)
    assert _share(log.judge(seen)) == pytest.approx(0.27 * 2.0 / 3.6)


def test_devices_of_several_roles_are_in_use_one_after_the_other_at_most() -> None:
    """Log and data on drives of their own: a session waits for the one, then for the other."""
    two = (Device("data", 0.3, 1.0, 0.5), Device("log", 0.6, 1.0, 0.0))
    seen = sight(sessions=sessions(device=1.0, log=3.0), devices=two)
    assert _share(log.judge(seen)) == pytest.approx(0.9 * 3.0 / 4.0)


def test_waits_for_storage_without_a_block_device_are_believed() -> None:
    """The kernel does not count storage over a network."""
    remote = sight(sessions=sessions(device=3.0), devices=())
    assert _share(device_latency.judge(remote)) == pytest.approx(0.75)


def test_reads_of_the_device_tell_where_sessions_were_not_sampled() -> None:
    """Sessions wait for each of their reads."""
    blind = sight(sessions=None, devices=disk())
    assert _share(device_latency.judge(blind)) == pytest.approx(2.5 / 4)
    nothing = device_latency.judge(sight(sessions=None, devices=()))
    assert nothing.because == "sessions of the database were not sampled"


def test_waits_for_the_log_are_a_share_of_all_users() -> None:
    """Three of four wait for the commit log."""
    assert _share(log.judge(sight(sessions=sessions(log=3.0), devices=disk()))) == 0.75
    assert _share(log.judge(sight(sessions=sessions(log=1.9), devices=disk()))) < 0.5


def test_little_waiting_for_any_storage_is_little_waiting_for_the_log() -> None:
    """Also where sessions were looked at too seldom to tell what they waited for."""
    few = sight(places=1, sessions=sessions(looks=3, log=0.9), devices=disk(0.3))
    assert _share(log.judge(few)) == pytest.approx(0.3)
    more = sight(places=1, sessions=sessions(looks=3, log=0.9), devices=disk(0.7))
    assert log.judge(more).because == "3 looks at sessions are too few for a share of their time"


def test_locks_are_told_with_the_commonest() -> None:
    """Of rows and inside the server; those of the log are not among them."""
    waiting = sight(sessions=sessions(locks=2.4, log=1.0))
    answer = locks.judge(waiting)
    assert _share(answer) == pytest.approx(0.6)
    assert answer.says == "waits for locks took 60 % of the users' time (most of all Lock:tuple)"
    assert _share(locks.judge(sight(sessions=sessions(locks=1.9)))) < locks.HOLDS_FROM
    assert locks.judge(sight(sessions=None)).share is None


def test_a_few_looks_tell_only_what_cannot_be_a_half() -> None:
    """Sixteen looks are right within a quarter: a tenth is no half, and two fifths may be."""
    few = sight(places=1, sessions=sessions(looks=16, locks=0.1))
    assert _share(locks.judge(few)) == pytest.approx(0.1)
    unsure = sight(places=1, sessions=sessions(looks=16, locks=0.4))
    assert locks.judge(unsure).share is None


def test_a_pool_limits_where_users_wait_for_connections() -> None:
    """Thirty of forty wait for one; where each user has its own there is no pool."""
    assert _share(pool.judge(sight(places=40, pool_waiting=30.0))) == 0.75
    assert _share(pool.judge(sight(places=40, pool_waiting=19.0))) < pool.HOLDS_FROM
    assert pool.judge(sight()) is None


def test_a_late_driver_is_the_limit() -> None:
    """What its own check says of it is told."""
    answer = driver.judge(sight(late="the hammer was late"))
    assert (answer.share, answer.says) == (1.0, "the hammer was late")


def test_a_driver_near_its_end_holds_and_one_with_room_does_not() -> None:
    """More than half of what it can do may be what limits; unknown head-room cannot be judged."""
    assert _share(driver.judge(sight(head_room=HeadRoom(1.0, 0.55, None)))) == 0.55
    assert _share(driver.judge(sight(head_room=HeadRoom(1.0, 0.45, None)))) < driver.HOLDS_FROM
    unproven = driver.judge(sight(head_room=HeadRoom(1.0, None, None)))
    assert unproven.because == "the driver's head-room is not proven"


def test_time_outside_of_the_server_is_the_drivers() -> None:
    """Three of four transactions are under way, and no session works for them."""
    outside = sight(sessions=sessions(cpu=1.0), under_way=4.0)
    answer = driver.judge(outside)
    assert _share(answer) == pytest.approx(0.75)
    assert answer.says == "75 % of the users' time passed outside the server"
    pooled = sight(sessions=sessions(cpu=1.0), under_way=4.0, pool_waiting=2.5)
    assert _share(driver.judge(pooled)) == 0.05


def test_an_emulation_that_failed_is_the_limit() -> None:
    """Only where drives are emulated."""
    assert emulation.judge(sight(slowed="late")) is None
    failed = emulation.judge(sight(emulated=True, slowed="it was late"))
    assert failed == Answer(1.0, "it was late", is_proven=True)
    assert _share(emulation.judge(sight(emulated=True))) == 0.0


def test_stalls_in_checkpoints_hold_from_a_tenth() -> None:
    """What they cost of the throughput."""
    assert _share(checkpoints.judge(sight(stalled_share=0.12))) >= checkpoints.HOLDS_FROM
    assert _share(checkpoints.judge(sight(stalled_share=0.09))) < checkpoints.HOLDS_FROM
    assert checkpoints.judge(sight(stalled_share=None)).share is None
