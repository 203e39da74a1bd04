"""A native program is found, gets its job, is listened to, and always ends."""

import threading
import time
from pathlib import Path

import pytest

from stithy.errors import (
    InfrastructureError,
    Interrupted,
    PreconditionError,
    StithyError,
    UserError,
)
from stithy.hosts.runner import Command, LocalRunner
from stithy.wire import program
from stithy.wire.jobs import CheckJob, WorkloadSize
from stithy.wire.messages import AnyMessage, CheckSummary, Failure
from stithy.wire.program import default_places, failure_error, find_program, run_program, supervised

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


def test_an_error_of_the_listener_ends_the_program() -> None:
    """Whatever happens, no program is left behind."""

    def fail(_: AnyMessage) -> None:
        raise ZeroDivisionError

    script = f"cat >/dev/null; echo '{STARTED}'; exec sleep 600"
    with pytest.raises(ZeroDivisionError):
        run_program(LocalRunner(), shell(script), JOB, on_message=fail)


def ended_of(script: str, stop: threading.Event | None, silence_s: float | None) -> str | None:
    """Why a shell script had to be killed; None where it ended by itself."""
    running = LocalRunner().start(Command(["/bin/sh", "-c", script], detached=True))
    with supervised(running, stop, silence_s) as watch:
        running.wait(timeout=60)
    return watch.killed_because


def test_a_program_that_is_held_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGSTOP would else stop the whole run for ever."""
    monkeypatch.setattr(program, "HELD_PATIENCE_S", 0.2)
    assert ended_of("kill -STOP $$", None, None) == "was held by a signal for 0.2 s and was killed"


def test_a_program_that_goes_on_in_time_is_not_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patience counts from the last time it was held."""
    monkeypatch.setattr(program, "HELD_PATIENCE_S", 30.0)
    assert ended_of("(sleep 0.3; kill -CONT $$) & kill -STOP $$", None, None) is None


def test_a_silent_program_is_killed() -> None:
    """Where silence means that it is stuck."""
    why = ended_of("sleep 60", None, 0.2)
    assert why == "said nothing for 0.2 s and was killed"


def test_a_program_that_does_not_stop_when_asked_is_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SIGINT first, then SIGKILL."""
    monkeypatch.setattr(program, "STOP_PATIENCE_S", 0.2)
    stop = threading.Event()
    stop.set()
    why = ended_of("trap '' INT; while :; do sleep 1; done", stop, None)
    assert why == "did not end within 0.2 s and was killed"


def test_a_program_that_is_asked_hears_it_once(tmp_path: Path) -> None:
    """A second SIGINT would end it at once, without its summary."""
    stop = threading.Event()
    stop.set()
    script = f"trap 'echo INT >> {tmp_path}/heard' INT; while [ ! -s {tmp_path}/heard ]; do :; done"
    assert ended_of(f"{script}; sleep 0.4", stop, None) is None
    assert (tmp_path / "heard").read_text() == "INT\n"


def test_a_program_without_a_wish_is_left_alone() -> None:
    """Its code is its own."""
    running = LocalRunner().start(Command(["/bin/sh", "-c", "sleep 0.3; exit 7"], detached=True))
    with supervised(running, None, None) as watch:
        watch.heard()
        while running.poll() is None:
            time.sleep(0.01)
    assert (running.poll(), watch.killed_because) == (7, None)


def program_file(folder: Path, mode: int = 0o755) -> Path:
    """A file called `stithy-x` in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "stithy-x"
    path.write_text("")
    path.chmod(mode)
    return path


def test_the_first_place_that_has_it_wins(tmp_path: Path) -> None:
    """Places are searched in their order; what cannot be executed is passed over."""
    program_file(tmp_path / "a", 0o644)
    wanted = program_file(tmp_path / "b")
    program_file(tmp_path / "c")
    assert find_program("stithy-x", [tmp_path / each for each in "abc"]) == wanted


def test_a_missing_program_is_a_precondition_with_a_remedy(tmp_path: Path) -> None:
    """The message says how to get it."""
    with pytest.raises(PreconditionError, match="cargo build --release"):
        find_program("stithy-x", [tmp_path])


def test_a_checkout_is_searched_after_the_installation_and_before_the_path(root: Path) -> None:
    """One's own release build comes before its debug build."""
    places = default_places()
    release, debug = (places.index(root / "target" / each) for each in ("release", "debug"))
    assert 0 < release < debug
