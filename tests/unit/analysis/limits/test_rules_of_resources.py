"""Rules about resources that fill: CPUs, and what a device can do in a second."""

from types import ModuleType
from typing import Any

import pytest

from stithy.analysis.limits.rules import device_rate, host_cpu, server_cpu
from stithy.analysis.limits.sight import Cpus, Device, Reached
from support.sample_sight import disk, sessions, sight


def test_busy_cpus_of_the_server_are_told_with_their_use() -> None:
    """Four fifths is full, a little less is a near miss."""
    full = server_cpu.judge(sight(server=Cpus(1, 0.86)))
    assert full is not None
    assert full.says == "the server's CPU was busy 86 % of the time"
    assert full.share == 0.86
    assert server_cpu.HOLDS_FROM == 0.8


def test_a_server_that_may_use_any_cpu_is_told_of_by_those_of_the_host() -> None:
    """Without CPUs of its own the rule does not apply; without samples it cannot speak."""
    assert server_cpu.judge(sight(server=None)) is None
    unseen = server_cpu.judge(sight(server=None, unseen={"cpu": "no samples"}))
    assert unseen is not None
    assert unseen.because == "no samples"


def test_cpus_of_the_host_need_samples() -> None:
    """Missing is not idle."""
    assert host_cpu.judge(sight(host=Cpus(4, 0.93))).share == 0.93
    assert host_cpu.judge(sight(host=None, unseen={"cpu": "no samples"})).because == "no samples"


@pytest.mark.parametrize("rule", [server_cpu, host_cpu])
def test_cpus_that_others_fill_limit_only_where_sessions_want_them(rule: ModuleType) -> None:
    """Who waits for the log is woken at once, whatever nicer programs fill the CPU meanwhile."""
    full: dict[str, Any] = {"server": Cpus(2, 0.95), "host": Cpus(2, 0.95), "others_cpus": 0.7}
    waiting = rule.judge(sight(**full, sessions=sessions(log=3.5, cpu=0.5), devices=disk()))
    assert waiting.share is None
    assert waiting.because.endswith("busy 95 % of the time, up to 35 % with other programs")
    working = rule.judge(sight(**full, sessions=sessions(cpu=3.5, log=0.5)))
    assert working.share == 0.95
    assert rule.judge(sight(**full, sessions=None)).share is None


def test_users_who_neither_pause_nor_wait_want_the_cpus_of_the_host() -> None:
    """Also where few are seen in the server, because the driver waits for a CPU itself."""
    full: dict[str, Any] = {"host": Cpus(2, 1.0), "others_cpus": 1.2}
    starved = sight(**full, sessions=sessions(cpu=0.4, locks=0.3))
    assert host_cpu.judge(starved).share == 1.0
    served = sight(**full, is_open=True, under_way=0.4, sessions=sessions(cpu=0.4))
    assert host_cpu.judge(served).share is None
    pausing = sight(**full, paced=True, under_way=0.4, sessions=sessions(cpu=0.4))
    assert host_cpu.judge(pausing).share is None


@pytest.mark.parametrize("rule", [server_cpu, host_cpu])
def test_a_little_work_of_others_changes_nothing(rule: ModuleType) -> None:
    """CPUs that the run fills by itself are full."""
    full: dict[str, Any] = {"server": Cpus(2, 0.95), "host": Cpus(2, 0.95), "others_cpus": 0.2}
    answer = rule.judge(sight(**full, sessions=sessions(log=3.5, cpu=0.5)))
    assert answer.share == 0.95
    assert answer.says.endswith("busy 95 % of the time")


def test_an_emulated_drive_is_held_against_its_profile() -> None:
    """The highest of what it reached counts."""
    drives = (Reached("data", "writes a second", 0.95), Reached("data", "bandwidth", 0.2))
    answer = device_rate.judge(sight(emulated=True, drives=drives))
    assert answer is not None
    assert answer.share == 0.95
    assert answer.says == "data reached 95 % of its profile's writes a second"


def test_a_drive_beyond_its_profile_is_full_and_no_more() -> None:
    """A burst may be quicker than a cap that holds over seconds."""
    answer = device_rate.judge(sight(emulated=True, drives=(Reached("data", "bandwidth", 1.3),)))
    assert answer is not None
    assert answer.share == 1.0


def test_a_device_in_use_half_of_the_time_is_not_full() -> None:
    """That much can be told of any device."""
    answer = device_rate.judge(sight(devices=(Device("vda", 0.5, 3.0, 1.0),)))
    assert answer is not None
    assert answer.share == 0.5


def test_a_device_that_is_always_in_use_may_be_full_or_not() -> None:
    """It may serve many requests at once: without a profile nobody knows."""
    answer = device_rate.judge(sight(devices=(Device("vda", 0.99, 3.0, 1.0),)))
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
    answer = device_rate.judge(sight(devices=(), unseen=unseen))
    assert (answer and answer.because) == because


def test_an_emulated_drive_whose_profile_is_not_known_is_not_judged_by_its_use() -> None:
    """It serves several requests at once, too."""
    answer = device_rate.judge(sight(emulated=True, devices=(Device("loop0", 0.3, 1.0, 0.5),)))
    assert answer is not None
    assert answer.share is None
