"""The hammer's jobs and what is made of its answers."""

from pathlib import Path

import pytest

from fakes.program import AnsweringRunner
from stithy.secrets import Secret
from stithy.wire.jobs import (
    CheckJob,
    Keyed,
    Pace,
    PrepareJob,
    Profile,
    RunJob,
    Think,
    WarmUpJob,
    WorkloadSize,
)
from stithy.wire.messages import (
    AnyMessage,
    PrepareSummary,
    RunSummary,
    WarmUpSummary,
    parse_message,
)
from stithy.workload.hammer import Hammer
from stithy.workload.program import RunRequest, Watch

EXAMPLES = Path(__file__).resolve().parents[3] / "wire" / "examples"
SIZE = WorkloadSize(name="order-entry", warehouses=3)
URL = Secret("postgresql://u:hush@/d")


def example(name: str) -> AnyMessage:
    """One of the protocol's examples."""
    return parse_message((EXAMPLES / f"message.{name}.json").read_text())


def hammer(*names: str) -> tuple[Hammer, AnsweringRunner]:
    """A hammer whose program answers with these examples."""
    runner = AnsweringRunner([example(name) for name in names])
    return Hammer(runner, URL, program=Path("/bin/stithy-hammer")), runner


def test_prepare_says_what_to_load() -> None:
    """Size, seed, loaders, and the URL with its password."""
    driver, runner = hammer("started", "progress", "prepare-summary")
    summary = driver.prepare(SIZE, seed=7, loaders=2)
    assert isinstance(summary, PrepareSummary)
    assert runner.jobs == [PrepareJob(url=URL.reveal(), workload=SIZE, seed=7, loaders=2)]
    assert list(runner.commands[0].argv) == ["/bin/stithy-hammer"]


def test_the_password_is_not_on_the_command_line() -> None:
    """It would be in the list of processes."""
    driver, runner = hammer("check-summary")
    driver.check(SIZE, quick=True, after_load=False)
    assert "hush" not in repr(runner.commands)


def test_a_run_gathers_seconds_and_warnings() -> None:
    """And tells every message to whoever watches."""
    driver, runner = hammer("started", "second.ramp-up", "warning", "second", "run-summary")
    told: list[str] = []
    watch = Watch(on_message=lambda message: told.append(message.message))
    request = RunRequest(seed=1, users=13, ramp_up_s=5, duration_s=20, hlog_stem=Path("stem"))
    driven = driver.run(SIZE, request, watch=watch)
    assert isinstance(driven.summary, RunSummary)
    assert [second.second for second in driven.seconds] == [0, 12]
    assert len(driven.warnings) == 1
    assert told == ["started", "second", "warning", "second", "run-summary"]
    job = runner.jobs[0]
    assert isinstance(job, RunJob)
    assert (job.users, job.procedures, job.error_limit) == (13, True, 100)
    assert job.hlog_stem == str(Path("stem").absolute())


@pytest.mark.parametrize(("pace", "deferred"), [(Keyed(), True), (Think(mean_s=2), False)])
def test_a_request_is_passed_on(pace: Pace, deferred: bool) -> None:
    """When users act, whether they wait for deliveries, the pool, what is in reach."""
    driver, runner = hammer("started", "run-summary")
    request = RunRequest(
        seed=1, users=13, ramp_up_s=5, duration_s=20, connections=4, pace=pace,
        deferred_delivery=deferred,
        profile=Profile.HAMMERDB, users_per_warehouse=10, warehouses_touched=2,
    )  # fmt: skip
    driver.run(SIZE, request)
    job = runner.jobs[0]
    assert isinstance(job, RunJob)
    assert (job.pace, job.deferred_delivery, job.connections) == (pace, deferred, 4)
    assert (job.profile, job.users_per_warehouse, job.warehouses_touched) == ("hammerdb", 10, 2)


def test_the_warm_up_is_asked_for_by_seed_and_length() -> None:
    """The same for every candidate."""
    driver, runner = hammer("warm-up-summary")
    summary = driver.warm_up(SIZE, seed=7, transactions=20000, warehouses_touched=2)
    assert isinstance(summary, WarmUpSummary)
    url = URL.reveal()
    assert runner.jobs == [
        WarmUpJob(url=url, workload=SIZE, seed=7, transactions=20000, warehouses_touched=2)
    ]


def test_only_measured_work_is_bound_to_the_cpus_of_the_users() -> None:
    """Loading may use every CPU: nothing is measured then."""
    runner = AnsweringRunner(
        [example("warm-up-summary")], [example("started"), example("prepare-summary")]
    )
    driver = Hammer(runner, URL, program=Path("/bin/stithy-hammer"), cpus=(0, 2))
    driver.warm_up(SIZE, seed=7, transactions=20000)
    driver.prepare(SIZE, seed=7, loaders=2)
    assert [command.cpus for command in runner.commands] == [(0, 2), None]


def test_broken_conditions_are_a_result() -> None:
    """A check that finds damage has done its work."""
    driver, runner = hammer("condition.holds", "condition", "check-summary")
    checked = driver.check(SIZE, quick=False, after_load=True)
    assert checked.broken == (1,)
    assert [each.number for each in checked.conditions] == [12, 1]
    assert runner.jobs == [CheckJob(url=URL.reveal(), workload=SIZE, quick=False, after_load=True)]


def test_raw_lines_are_kept_where_the_watch_says(tmp_path: Path) -> None:
    """Every line, as it came."""
    driver, _ = hammer("started", "check-summary")
    raw = tmp_path / "raw.jsonl"
    driver.check(SIZE, quick=True, after_load=False, watch=Watch(raw_output=raw))
    assert len(raw.read_text().splitlines()) == 2


def test_another_summary_than_the_jobs_is_a_fault() -> None:
    """The program speaks of something else."""
    driver, _ = hammer("check-summary")
    with pytest.raises(TypeError, match="check-summary"):
        driver.prepare(SIZE, seed=1, loaders=1)
