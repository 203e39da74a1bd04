"""The hammer's jobs and what is made of its answers; how users were driven, in words."""

from pathlib import Path

import pytest

from fakes.program import AnsweringRunner
from stithy.secrets import Secret
from stithy.wire.jobs import (
    CheckJob,
    PrepareJob,
    RunJob,
    WarmUpJob,
    WorkloadSize,
)
from stithy.wire.messages import AnyMessage, PrepareSummary, WarmUpSummary, parse_message
from stithy.workload.hammer import Hammer
from stithy.workload.program import RunRequest, Watch
from stithy.workload.words import Reach, reach
from support.examples import wire_example

SIZE = WorkloadSize(name="order-entry", warehouses=3)
URL = Secret("postgresql://u:hush@/d")
REVEALED = URL.reveal()


def _hammer(*answers: str) -> tuple[Hammer, AnsweringRunner]:
    """A hammer whose programs answer with these examples, each a line of names."""

    def example(name: str) -> AnyMessage:
        return parse_message(wire_example(f"message.{name}"))

    runner = AnsweringRunner(*([example(name) for name in each.split()] for each in answers))
    return Hammer(runner, URL, program=Path("/bin/stithy-hammer"), cpus=(0, 2)), runner


def test_a_run_gathers_seconds_and_warnings(tmp_path: Path) -> None:
    """And tells every message to whoever watches; raw lines are kept as they came."""
    driver, runner = _hammer("started second.ramp-up warning second run-summary")
    told: list[str] = []
    raw = tmp_path / "raw.jsonl"
    watch = Watch(on_message=lambda message: told.append(message.message), raw_output=raw)
    request = RunRequest(seed=1, users=13, ramp_up_s=5, duration_s=20, hlog_stem=Path("stem"))
    driven = driver.run(SIZE, request, watch=watch)
    assert [second.second for second in driven.seconds] == [0, 12]
    assert len(driven.warnings) == 1
    assert told == ["started", "second", "warning", "second", "run-summary"]
    assert len(raw.read_text().splitlines()) == 5
    job = runner.jobs[0]
    assert isinstance(job, RunJob)
    assert (job.users, job.procedures, job.error_limit) == (13, True, 100)
    assert runner.commands[0].cpus == (0, 2)
    assert job.hlog_stem == str(Path("stem").absolute())


def test_each_job_says_what_is_wanted_and_hides_the_password() -> None:
    """Only measured work is bound to the users' CPUs; broken conditions are a result."""
    driver, runner = _hammer(
        "warm-up-summary", "started progress prepare-summary",
        "condition.holds condition check-summary", "check-summary",
    )  # fmt: skip
    warmed = driver.warm_up(SIZE, seed=7, transactions=20000, warehouses_touched=2)
    assert isinstance(warmed, WarmUpSummary)
    assert isinstance(driver.prepare(SIZE, seed=7, loaders=2), PrepareSummary)
    checked = driver.check(SIZE, quick=False, after_load=True)
    assert (checked.broken, [each.number for each in checked.conditions]) == ((1,), [12, 1])
    assert [command.cpus for command in runner.commands[:2]] == [(0, 2), None]
    assert runner.jobs == [
        WarmUpJob(url=REVEALED, workload=SIZE, seed=7, transactions=20000, warehouses_touched=2),
        PrepareJob(url=REVEALED, workload=SIZE, seed=7, loaders=2),
        CheckJob(url=REVEALED, workload=SIZE, quick=False, after_load=True),
    ]
    with pytest.raises(TypeError, match="check-summary"):
        driver.prepare(SIZE, seed=1, loaders=1)
    assert list(runner.commands[0].argv) == ["/bin/stithy-hammer"]
    assert "hush" not in repr(runner.commands)


def test_what_users_reach_is_told_as_far_as_it_is_known() -> None:
    """Their share of the data, beside what the server may keep in memory."""
    assert reach(Reach(10, 10, 2**31, None)) == "users touch all 2 GiB"
    assert reach(Reach(3, 10, None, None)) == "users touch 3 of 10 warehouses"
    told = reach(Reach(3, 10, 10 * 2**30, 2**27, 2**30))
    assert told.startswith("users touch about 3 GiB of 10 GiB (3 of 10 warehouses)")
    assert told.endswith("128 MiB of shared buffers and a memory limit of 1 GiB")
