"""A native program gets its job, is listened to, and always ends."""

import threading
from pathlib import Path

import pytest

from stithy.errors import (
    InfrastructureError,
    Interrupted,
    PreconditionError,
    StithyError,
    UserError,
)
from stithy.hosts.runner import LocalRunner
from stithy.wire.jobs import CheckJob, WorkloadSize
from stithy.wire.messages import AnyMessage, CheckSummary, Failure
from stithy.wire.program import failure_error, run_program

JOB = CheckJob(
    url="postgresql://u:hush@/d",
    workload=WorkloadSize(name="order-entry", warehouses=1),
    quick=True,
    after_load=False,
)
STARTED = '{"message":"started","wire":1,"program":"x","at_s":1.0}'
SUMMARY = '{"message":"check-summary","checked":4,"broken":[]}'
FAILURE = (
    '{"message":"failure","code":"connect-refused","problem":"it refused","where":"there",'
    '"remedy":"start it","exit":3}'
)


def shell(script: str) -> list[str]:
    """A program that is a shell script."""
    return ["/bin/sh", "-c", script]


def test_a_program_gets_its_job_and_its_summary_is_returned(tmp_path: Path) -> None:
    """The job comes on standard input; every message is told; raw lines are kept."""
    job, raw = tmp_path / "job.json", tmp_path / "raw" / "out.jsonl"
    told: list[AnyMessage] = []
    script = f"cat > {job}; echo '{STARTED}'; echo; echo '{SUMMARY}'"
    summary = run_program(LocalRunner(), shell(script), JOB, on_message=told.append, raw_output=raw)
    assert summary == CheckSummary(checked=4, broken=())
    assert job.read_text() == JOB.model_dump_json()
    assert [message.message for message in told] == ["started", "check-summary"]
    assert raw.read_text() == f"{STARTED}\n\n{SUMMARY}\n"


def test_a_failure_becomes_the_error_it_stands_for() -> None:
    """With problem, place and remedy as the program gave them."""
    with pytest.raises(PreconditionError, match="there: it refused: start it"):
        run_program(LocalRunner(), shell(f"cat >/dev/null; echo '{FAILURE}'; exit 3"), JOB)


@pytest.mark.parametrize(
    ("code", "exit_code", "kind"),
    [
        ("bad-job", 2, UserError),
        ("connect-refused", 3, PreconditionError),
        ("server-gone", 4, InfrastructureError),
        ("bug", 1, StithyError),
        ("interrupted", 4, Interrupted),
    ],
)
def test_each_exit_code_of_a_failure_has_its_kind_of_error(
    code: str, exit_code: int, kind: type[StithyError]
) -> None:
    """2 the caller's, 3 the machine's, 4 the run's, 1 a bug; a stop is a stop."""
    made = failure_error(Failure(code=code, problem="p", where="w", remedy="r", exit=exit_code))
    assert type(made) is kind


def test_a_program_that_dies_is_quoted() -> None:
    """Its last words on standard error are in the message, the job's password is not."""
    script = "cat >/dev/null; echo 'thread panicked' >&2; exit 101"
    with pytest.raises(InfrastructureError) as caught:
        run_program(LocalRunner(), shell(script), JOB)
    assert "ended with code 101 without a summary: thread panicked" in str(caught.value)
    assert "hush" not in str(caught.value)


def test_a_program_that_is_killed_is_told_by_its_signal() -> None:
    """As when the machine runs out of memory."""
    with pytest.raises(InfrastructureError, match="ended by SIGKILL"):
        run_program(LocalRunner(), shell("cat >/dev/null; kill -9 $$"), JOB)


def test_a_program_that_never_reads_its_job_is_no_bug() -> None:
    """A broken pipe is told as the death that it is."""
    with pytest.raises(InfrastructureError, match="ended with code 7"):
        run_program(LocalRunner(), shell("exec <&-; exit 7"), JOB)


@pytest.mark.parametrize("line", ["hello", '{"message":"unknown"}', '{"message":"started"}', "[]"])
def test_a_line_that_is_no_message_ends_the_program(line: str) -> None:
    """Its output cannot be trusted; it does not live on."""
    script = f"cat >/dev/null; echo '{line}'; exec sleep 600"
    with pytest.raises(InfrastructureError, match="a line is not a message"):
        run_program(LocalRunner(), shell(script), JOB)


def test_a_stop_reaches_the_program_as_an_interrupt() -> None:
    """It then ends in its own way, with a summary."""
    stop = threading.Event()
    script = (
        f"end() {{ echo '{SUMMARY}'; exit 0; }}; trap end INT; "
        f"cat >/dev/null; echo '{STARTED}'; "
        "while :; do sleep 0.05; done"
    )
    summary = run_program(
        LocalRunner(), shell(script), JOB, on_message=lambda _: stop.set(), stop=stop
    )
    assert summary == CheckSummary(checked=4, broken=())


def test_a_program_that_ignores_the_stop_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a bounded time."""
    monkeypatch.setattr("stithy.wire.watchman.STOP_PATIENCE_S", 0.1)
    stop = threading.Event()
    script = f"trap '' INT; cat >/dev/null; echo '{STARTED}'; exec sleep 600"
    with pytest.raises(InfrastructureError, match="did not end within 0.1 s and was killed"):
        run_program(LocalRunner(), shell(script), JOB, on_message=lambda _: stop.set(), stop=stop)


def test_an_error_of_the_listener_ends_the_program() -> None:
    """Whatever happens, no program is left behind."""

    def fail(_: AnyMessage) -> None:
        raise ZeroDivisionError

    script = f"cat >/dev/null; echo '{STARTED}'; exec sleep 600"
    with pytest.raises(ZeroDivisionError):
        run_program(LocalRunner(), shell(script), JOB, on_message=fail)
