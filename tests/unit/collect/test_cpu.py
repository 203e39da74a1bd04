"""Where the CPUs' time goes, from /proc/stat."""

import pytest

from stithy.collect.collectors.cpu import METRICS, Cpu, parse
from support.captured import captured


class Stat:
    """A /proc/stat that says one text after another."""

    def __init__(self, *texts: str) -> None:
        self.texts = [text.encode() for text in texts]

    def read(self) -> bytes:
        """The next text."""
        return self.texts.pop(0)

    def close(self) -> None:
        """Nothing to close."""


def shares(*texts: str) -> dict[str, float | None]:
    """The second sample of a collector that read `texts`."""
    cpu = Cpu(Stat(*texts))  # type: ignore[arg-type]  # a stand-in for KernelFile
    assert list(cpu.sample()) == []
    return {sample.metric: sample.value for sample in cpu.sample()}


def test_the_states_of_a_captured_file_are_read_in_the_order_of_the_metrics() -> None:
    """User, nice, system, idle, iowait, interrupts of both kinds, steal."""
    text = captured("proc/stat")
    field = [int(each) for each in text.splitlines()[0].split()[1:]]
    expected = (*field[:5], field[5] + field[6], field[7])
    assert parse(text.encode()) == expected


def test_shares_are_of_all_cpus_and_sum_to_one() -> None:
    """50 ticks of user, 30 idle, 20 iowait out of 100."""
    found = shares("cpu 100 0 0 100 0 0 0 0 0 0\n", "cpu 150 0 0 130 20 0 0 0 0 0\n")
    assert found["user_share"] == 0.5
    assert found["idle_share"] == 0.3
    assert found["iowait_share"] == 0.2
    assert sum(value or 0.0 for value in found.values()) == pytest.approx(1.0)
    assert list(found) == [metric.name for metric in METRICS]


def test_a_counter_that_went_back_counts_as_nothing() -> None:
    """The kernel may take iowait back; a share is never below 0."""
    found = shares("cpu 100 0 0 100 50 0 0 0 0 0\n", "cpu 110 0 0 110 49 0 0 0 0 0\n")
    assert found["iowait_share"] == 0.0
    assert found["user_share"] == 0.5


def test_no_tick_in_between_is_missing_and_not_zero() -> None:
    """Two readings within one tick say nothing about shares."""
    same = "cpu 100 0 0 100 0 0 0 0 0 0\n"
    assert set(shares(same, same).values()) == {None}


def test_the_cpus_of_a_bound_server_are_a_subject_of_their_own() -> None:
    """Half a machine may be idle while the server has nothing left."""
    stat = Stat(
        "cpu 100 0 0 100 0 0 0 0\ncpu0 50 0 0 50 0 0 0 0\ncpu1 50 0 0 50 0 0 0 0\nintr 5\n",
        "cpu 200 0 0 200 0 0 0 0\ncpu0 50 0 0 150 0 0 0 0\ncpu1 150 0 0 50 0 0 0 0\nintr 5\n",
    )
    cpu = Cpu(stat, (1,))  # type: ignore[arg-type]  # a stand-in for KernelFile
    cpu.sample()
    found = {(each.subject, each.metric): each.value for each in cpu.sample()}
    assert found["", "user_share"] == 0.5
    assert found["server", "user_share"] == 1.0
    assert found["server", "idle_share"] == 0.0
