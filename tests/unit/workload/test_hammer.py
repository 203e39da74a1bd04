"""The hammer's jobs and what is made of its answers; how users were driven, in words."""

from pathlib import Path

import pytest

from fakes.program import AnsweringRunner
from stithy.secrets import Secret
from stithy.wire.hammer import Hammer, ProgressWatch
from stithy.wire.jobs import CheckJob, PrepareJob, RunJob, RunRequest, WarmUpJob, WorkloadChoice
from stithy.wire.messages import AnyMessage, PrepareSummary, WarmUpSummary, parse_message
from stithy.workloads.order_entry import Choice
from stithy.workloads.words import describe_reach
from support.examples import wire_example

SIZE = Choice(warehouses=3)
HEARD = WorkloadChoice(**SIZE.model_dump(mode="json"))
"""The same as the program hears it, which knows the keys of no workload."""
URL = Secret("postgresql://u:hush@/d")
REVEALED = URL.reveal()


def example(name: str) -> AnyMessage:
    """One of the protocol's messages."""
    return parse_message(wire_example(f"message.{name}"))


def test_each_job_says_what_is_wanted_and_hides_the_password(tmp_path: Path) -> None:
    """Only measured work is bound to the users' CPUs. A run tells whoever watches all it hears."""
    answers = (
        "started second.ramp-up warning second run-summary", "warm-up-summary",
        "started progress prepare-summary", "condition.holds condition check-summary",
        "check-summary",
    )  # fmt: skip
    runner = AnsweringRunner(*([example(name) for name in each.split()] for each in answers))
    driver = Hammer(runner, URL, program=Path("/bin/stithy-hammer"), cpus=(0, 2))
    shown: list[str] = []
    raw = tmp_path / "raw.jsonl"
    watch = ProgressWatch(on_message=lambda message: shown.append(message.message), raw_output=raw)
    request = RunRequest(seed=1, users=13, ramp_up_s=5, duration_s=20, hlog_stem=Path("stem"))
    driven = driver.run(SIZE, request, watch=watch)
    assert [second.second for second in driven.seconds] == [0, 12]
    assert len(driven.warnings) == 1
    assert shown == ["started", "second", "warning", "second", "run-summary"]
    assert len(raw.read_text().splitlines()) == 5
    warmed = driver.run_warm_up(SIZE, seed=7, transactions=20000)
    assert isinstance(warmed, WarmUpSummary)
    assert isinstance(driver.prepare(SIZE, seed=7, loaders=2), PrepareSummary)
    checked = driver.check(SIZE, quick=False, after_load=True)
    assert (checked.broken, [each.number for each in checked.conditions]) == ((1,), [12, 1])
    assert [command.cpus for command in runner.commands[:3]] == [(0, 2), (0, 2), None]
    job, *others = runner.jobs
    assert isinstance(job, RunJob)
    assert (job.users, job.workload, job.error_limit) == (13, HEARD, 100)
    assert job.hlog_stem == Path("stem").absolute()
    assert others == [
        WarmUpJob(url=REVEALED, workload=HEARD, seed=7, transactions=20000),
        PrepareJob(url=REVEALED, workload=HEARD, seed=7, loaders=2),
        CheckJob(url=REVEALED, workload=HEARD, quick=False, after_load=True),
    ]
    with pytest.raises(TypeError, match="check-summary"):
        driver.prepare(SIZE, seed=1, loaders=1)
    assert "hush" not in repr(runner.commands)


def test_what_users_reach_is_told_as_far_as_it_is_known() -> None:
    """Their share of the data, beside what the server may keep in memory."""
    assert describe_reach(10, 10, "rows", 2**31, None, buffers="") == "users touch all 2 GiB"
    assert (
        describe_reach(3, 10, "warehouses", None, None, buffers="")
        == "users touch 3 of 10 warehouses"
    )
    shown = describe_reach(3, 10, "warehouses", 10 * 2**30, 2**27, 2**30, buffers="shared buffers")
    assert shown.startswith("users touch about 3 GiB of 10 GiB (3 of 10 warehouses)")
    assert shown.endswith("128 MiB of shared buffers and a memory limit of 1 GiB")
