"""Each rule: what raises it, near misses, and what makes it unable to speak."""

from typing import Any

import pytest

from stithy.analysis.bottlenecks.observation import Cpus, Device, Growth, Observation, Reached
from stithy.analysis.bottlenecks.rules import RULES, Rule, RuleResult
from stithy.analysis.validity.instruments import Headroom
from support.sample_observation import disk, observed, sessions


def judged(rule: str, observed: Observation) -> RuleResult:
    """What a rule says that applies."""
    answer = RULES[rule].judge(observed)
    assert answer is not None
    return answer


def _share(answer: RuleResult | None) -> float:
    assert answer is not None
    assert answer.share is not None, answer.because
    return answer.share


def test_users_whose_pauses_are_short_against_their_waits_are_no_limit() -> None:
    """A near miss: 51 of 100 wait for answers, and the server hardly works for them."""
    busy = observed(places=100, paced=True, under_way=51.0, server=Cpus(2, 0.0))
    assert _share(judged("users", busy)) == pytest.approx(0.49)
    assert _share(judged("users", busy)) < RULES["users"].holds_from


def test_work_is_no_limit_of_users_where_more_users_did_not_do_more() -> None:
    """What the next level showed counts more than CPUs that seem to have room."""
    few = observed(places=2, under_way=2.0, server=Cpus(4, 0.375), growth=Growth(4, 1.2, 0.2))
    assert _share(judged("users", few)) == 0.0
    grown = observed(places=2, under_way=2.0, server=Cpus(4, 0.375), growth=Growth(4, 1.9, 0.9))
    assert _share(judged("users", grown)) == pytest.approx(0.75)


def test_a_server_without_cpus_of_its_own_works_for_no_more_users_than_were_seen() -> None:
    """The CPUs of the host work for driver and drives as well."""
    shared = observed(server=None, host=Cpus(4, 0.9), sessions=sessions(cpu=1.0))
    assert _share(judged("users", shared)) == pytest.approx(1.0 / 4)


def test_an_open_loop_that_is_served_does_what_was_asked() -> None:
    """Its rate is the limit; where transactions pile up it is not."""
    assert _share(judged("users", observed(is_open=True, unserved_share=0.002))) == pytest.approx(
        0.998
    )
    assert _share(judged("users", observed(is_open=True, unserved_share=0.2))) == 0.0


@pytest.mark.parametrize(
    ("seen", "missing"),
    [
        (observed(paced=True, under_way=None), "the window has no response times"),
        (observed(server=None, sessions=None, unseen={"cpu": "no cpu"}), "no cpu"),
        (observed(is_open=True), "the window has no transactions"),
    ],
)  # fmt: skip
def test_users_are_not_judged_by_what_was_not_seen(seen: Observation, missing: str) -> None:
    """The rule says what is missing."""
    answer = judged("users", seen)
    assert (answer.share, answer.because) == (None, missing)


def test_waits_that_are_not_on_the_device_are_not_its_latency() -> None:
    """Sessions wait for reads, and the device has hardly any under way: it is memory, or a CPU."""
    cached = observed(sessions=sessions(device=3.0), devices=disk(under_way=0.2))
    assert _share(judged("device-latency", cached)) == pytest.approx(0.05)


def test_sessions_cannot_wait_longer_for_storage_than_it_was_in_use() -> None:
    """A server with one CPU is asked by a session that needs it, so the others seem to wait."""
    seen = observed(sessions=sessions(device=1.6, log=2.0), devices=disk(0.27))
    assert _share(judged("device-latency", seen)) == pytest.approx(0.27 * 1.6 / 3.6)
    assert _share(judged("log", seen)) == pytest.approx(0.27 * 2.0 / 3.6)


def test_devices_of_several_roles_are_in_use_one_after_the_other_at_most() -> None:
    """Log and data on drives of their own: a session waits for the one, then for the other."""
    two = (Device("data", 0.3, 1.0, 0.5), Device("log", 0.6, 1.0, 0.0))
    seen = observed(sessions=sessions(device=1.0, log=3.0), devices=two)
    assert _share(judged("log", seen)) == pytest.approx(0.9 * 3.0 / 4.0)


def test_little_waiting_for_any_storage_is_little_waiting_for_the_log() -> None:
    """Also where sessions were looked at too seldom to tell what they waited for."""
    few = observed(places=1, sessions=sessions(looks=3, log=0.9), devices=disk(0.3))
    assert _share(judged("log", few)) == pytest.approx(0.3)
    more = observed(places=1, sessions=sessions(looks=3, log=0.9), devices=disk(0.7))
    assert judged("log", more).because == "3 wait samples are too few for a share of their time"


def test_locks_are_told_with_the_commonest() -> None:
    """Of rows and inside the server; those of the log are not among them."""
    waiting = observed(sessions=sessions(locks=2.4, log=1.0))
    answer = judged("locks", waiting)
    assert _share(answer) == pytest.approx(0.6)
    assert answer.says == "waits for locks took 60 % of the users' time (most of all Lock:tuple)"
    assert (
        _share(judged("locks", observed(sessions=sessions(locks=1.9)))) < RULES["locks"].holds_from
    )
    assert judged("locks", observed(sessions=None)).share is None


def test_a_few_looks_tell_only_what_cannot_be_a_half() -> None:
    """Sixteen looks are right within a quarter: a tenth is no half, and two fifths may be."""
    few = observed(places=1, sessions=sessions(looks=16, locks=0.1))
    assert _share(judged("locks", few)) == pytest.approx(0.1)
    unsure = observed(places=1, sessions=sessions(looks=16, locks=0.4))
    assert judged("locks", unsure).share is None


def test_a_late_driver_is_the_limit() -> None:
    """What its own check says of it is told."""
    answer = judged("driver", observed(late="the hammer was late"))
    assert (answer.share, answer.says) == (1.0, "the hammer was late")


def test_a_driver_near_its_end_holds_and_one_with_room_does_not() -> None:
    """More than half of what it can do may be what limits; unknown head-room cannot be judged."""
    assert _share(judged("driver", observed(headroom=Headroom(1.0, 0.55, None)))) == 0.55
    assert (
        _share(judged("driver", observed(headroom=Headroom(1.0, 0.45, None))))
        < RULES["driver"].holds_from
    )
    unproven = judged("driver", observed(headroom=Headroom(1.0, None, None)))
    assert unproven.because == "the driver's headroom is not proven"


def test_time_outside_of_the_server_is_the_drivers() -> None:
    """Three of four transactions are under way, and no session works for them."""
    outside = observed(sessions=sessions(cpu=1.0), under_way=4.0)
    answer = judged("driver", outside)
    assert _share(answer) == pytest.approx(0.75)
    assert answer.says == "75 % of the users' time passed outside the server"
    pooled = observed(sessions=sessions(cpu=1.0), under_way=4.0, pool_waiting=2.5)
    assert _share(judged("driver", pooled)) == 0.05


def test_an_emulation_that_failed_is_the_limit() -> None:
    """Only where drives are emulated."""
    assert RULES["emulation"].judge(observed(slowed="late")) is None
    failed = judged("emulation", observed(emulated=True, slowed="it was late"))
    assert failed == RuleResult(1.0, "it was late", is_proven=True)
    assert _share(judged("emulation", observed(emulated=True))) == 0.0


def test_stalls_in_checkpoints_hold_from_a_tenth() -> None:
    """What they cost of the throughput."""
    assert (
        _share(judged("checkpoints", observed(stalled_share=0.12)))
        >= RULES["checkpoints"].holds_from
    )
    assert (
        _share(judged("checkpoints", observed(stalled_share=0.09)))
        < RULES["checkpoints"].holds_from
    )
    assert judged("checkpoints", observed(stalled_share=None)).share is None


def test_a_server_that_may_use_any_cpu_is_told_of_by_those_of_the_host() -> None:
    """Without CPUs of its own the rule does not apply; without samples it cannot speak."""
    assert RULES["server-cpu"].judge(observed(server=None)) is None
    unseen = judged("server-cpu", observed(server=None, unseen={"cpu": "no samples"}))
    assert unseen is not None
    assert unseen.because == "no samples"


def test_cpus_of_the_host_need_samples() -> None:
    """Missing is not idle."""
    assert judged("host-cpu", observed(host=Cpus(4, 0.93))).share == 0.93
    assert (
        judged("host-cpu", observed(host=None, unseen={"cpu": "no samples"})).because
        == "no samples"
    )


@pytest.mark.parametrize("rule", [RULES["server-cpu"], RULES["host-cpu"]])
def test_cpus_that_others_fill_limit_only_where_sessions_want_them(rule: Rule) -> None:
    """Who waits for the log is woken at once, whatever nicer programs fill the CPU meanwhile."""
    full: dict[str, Any] = {"server": Cpus(2, 0.95), "host": Cpus(2, 0.95), "others_cpus": 0.7}
    waiting = judged(
        rule.name, observed(**full, sessions=sessions(log=3.5, cpu=0.5), devices=disk())
    )
    assert waiting.share is None
    assert (waiting.because or "").endswith("busy 95 % of the time, up to 35 % with other programs")
    working = judged(rule.name, observed(**full, sessions=sessions(cpu=3.5, log=0.5)))
    assert working.share == 0.95
    assert judged(rule.name, observed(**full, sessions=None)).share is None


def test_users_who_neither_pause_nor_wait_want_the_cpus_of_the_host() -> None:
    """Also where few are seen in the server, because the driver waits for a CPU itself."""
    full: dict[str, Any] = {"host": Cpus(2, 1.0), "others_cpus": 1.2}
    starved = observed(**full, sessions=sessions(cpu=0.4, locks=0.3))
    assert judged("host-cpu", starved).share == 1.0
    served = observed(**full, is_open=True, under_way=0.4, sessions=sessions(cpu=0.4))
    assert judged("host-cpu", served).share is None
    pausing = observed(**full, paced=True, under_way=0.4, sessions=sessions(cpu=0.4))
    assert judged("host-cpu", pausing).share is None


def test_a_drive_beyond_its_profile_is_full_and_no_more() -> None:
    """A burst may be quicker than a cap that holds over seconds."""
    answer = judged(
        "device-rate", observed(emulated=True, drives=(Reached("data", "bandwidth", 1.3),))
    )
    assert answer is not None
    assert answer.share == 1.0


def test_a_device_that_is_always_in_use_may_be_full_or_not() -> None:
    """It may serve many requests at once: without a profile nobody knows."""
    answer = judged("device-rate", observed(devices=(Device("vda", 0.99, 3.0, 1.0),)))
    assert answer is not None
    assert answer.share is None
    assert answer.because == (
        "vda was in use 99 % of the time, and what it can do at most is not known"
    )


@pytest.mark.parametrize(
    ("unseen", "because"),
    [({}, None), ({"block": "no samples"}, "no samples")],
)
def test_without_a_device_there_is_no_rate_and_without_samples_no_answer(
    unseen: dict[str, str], because: str | None
) -> None:
    """Memory and storage over a network have no block device."""
    answer = RULES["device-rate"].judge(observed(devices=(), unseen=unseen))
    assert (answer and answer.because) == because


def test_an_emulated_drive_whose_profile_is_not_known_is_not_judged_by_its_use() -> None:
    """It serves several requests at once, too."""
    answer = judged(
        "device-rate", observed(emulated=True, devices=(Device("loop0", 0.3, 1.0, 0.5),))
    )
    assert answer is not None
    assert answer.share is None
