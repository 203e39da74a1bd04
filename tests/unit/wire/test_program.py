"""A native program is found, gets its job, is listened to, and always ends."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from stithy import errors
from stithy.errors import InfrastructureError, PreconditionError, StithyError
from stithy.hosts.runner import Command, LocalRunner
from stithy.wire import program
from stithy.wire.jobs import CheckJob
from stithy.wire.messages import CheckSummary, Failure
from stithy.wire.program import (
    Lease,
    Supervisor,
    find_program,
    list_default_places,
    make_failure_error,
    run_program,
)
from stithy.workloads.order_entry import Choice

JOB = CheckJob(
    url="postgresql://u:hush@/d", workload=Choice(warehouses=1), quick=True, after_load=False
)
HELD = "grep -q '^State:.T' /proc/$$/status"
STARTED = '{"message":"started","wire":1,"program":"x","at_s":1.0}'
SUMMARY = '{"message":"check-summary","checked":4,"broken":[]}'
FAILURE = (
    '{"message":"failure","code":"connect-refused","problem":"it refused","where":"there",'
    '"remedy":"start it","exit":3}'
)


def _run(script: str, **how: Any) -> object:
    return run_program(LocalRunner(), Command(["/bin/sh", "-c", script]), JOB, **how)


def test_a_program_gets_its_job_and_its_summary_is_returned(tmp_path: Path) -> None:
    """The job comes on standard input; every message is reported; raw lines are kept."""
    job, raw = tmp_path / "job.json", tmp_path / "raw" / "out.jsonl"
    shown: list[str] = []
    summary = _run(
        f"cat > {job}; echo '{STARTED}'; echo; echo '{SUMMARY}'",
        on_message=lambda message: shown.append(message.message),
        raw_output=raw,
    )
    assert summary == CheckSummary(checked=4, broken=())
    assert job.read_text() == JOB.model_dump_json()
    assert shown == ["started", "check-summary"]
    assert raw.read_text() == f"{STARTED}\n\n{SUMMARY}\n"


def test_a_failed_program_does_not_live_on() -> None:
    """In its own words or with its last ones; the job's password is never shown."""
    wrong = ("hello", '{"message":"unknown"}', '{"message":"started"}', "[]")
    cases: tuple[tuple[str, type[StithyError], str], ...] = (
        (f"cat >&2; echo '{FAILURE}'; exit 3", PreconditionError, "there: it refused: start it"),
        ("cat >/dev/null; echo 'thread panicked' >&2; exit 101", InfrastructureError,
         "ended with code 101 without a summary: thread panicked"),
        ("cat >/dev/null; kill -9 $$", InfrastructureError, "ended by SIGKILL"),
        ("exec <&-; exit 7", InfrastructureError, "ended with code 7"),
        *((f"cat >/dev/null; echo '{line}'; exec sleep 600", InfrastructureError,
           "a line is not a message") for line in wrong),
    )  # fmt: skip
    for script, kind, shown in cases:
        with pytest.raises(kind, match=shown) as caught:
            _run(script)
        assert "hush" not in str(caught.value)


def test_each_exit_code_of_a_failure_has_its_kind_of_error() -> None:
    """2 the caller's, 3 the machine's, 4 the run's, 1 a bug; a stop is a stop."""
    for code, exit_code, kind in (
        ("bad-job", 2, errors.UserError), ("connect-refused", 3, PreconditionError),
        ("server-gone", 4, InfrastructureError), ("bug", 1, StithyError),
        ("interrupted", 4, errors.Interrupted),
    ):  # fmt: skip
        made = make_failure_error(
            Failure(code=code, problem="p", where="w", remedy="r", exit=exit_code)
        )
        assert type(made) is kind


def test_a_program_that_is_stuck_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the reason; patience counts from the last time it was held."""
    monkeypatch.setattr(program, "STOP_PATIENCE_S", 0.2)
    deaf = tmp_path / "deaf"
    asked, ignoring = threading.Event(), f"trap '' INT; echo > {deaf}; while :; do sleep 1; done"
    asked.set()
    for script, stop, silence_s, why in (
        ("kill -STOP $$", threading.Event(), None, "was held by a signal for 0.2 s and was killed"),
        (f"(until {HELD}; do sleep 0.01; done; kill -CONT $$) & kill -STOP $$", threading.Event(),
         None, None),
        ("sleep 60", threading.Event(), 0.2, "said nothing for 0.2 s and was killed"),
        (ignoring, asked, None, "did not end within 0.2 s and was killed"),
        ("sleep 0.1; exit 7", threading.Event(), None, None),
    ):  # fmt: skip
        monkeypatch.setattr(program, "HELD_PATIENCE_S", 0.2 if why else 30.0)
        running = LocalRunner().start(Command(["/bin/sh", "-c", script], detached=True))
        while stop is asked and not deaf.exists():
            time.sleep(0.01)
        with Supervisor(running, stop, silence_s) as watch:
            running.wait(timeout=60)
        assert watch.killed_because == why


def test_the_first_place_that_has_a_program_wins(tmp_path: Path, root: Path) -> None:
    """What cannot be executed is passed over; a checkout's release build comes before its debug."""
    for name, mode in (("a", 0o644), ("b", 0o755), ("c", 0o755)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "stithy-x").touch()
        (tmp_path / name / "stithy-x").chmod(mode)
    found = find_program("stithy-x", [tmp_path / each for each in "abc"])
    assert found == tmp_path / "b/stithy-x"
    with pytest.raises(PreconditionError, match="cargo build --release"):
        find_program("stithy-x", [tmp_path])
    places = list_default_places()
    release, debug = (places.index(root / "target" / each) for each in ("release", "debug"))
    assert 0 < release < debug


def test_a_leased_program_has_its_job_on_a_line_and_hears_renewals() -> None:
    """Its input stays open; nobody minds that it has ended when a renewal comes late."""
    lease = Lease()
    renewing = threading.Timer(0.2, lease.renew)
    renewing.start()
    script = f"read job; test -n \"$job\" && read renewal && echo '{SUMMARY}'"
    assert _run(script, lease=lease) == CheckSummary(checked=4, broken=())
    renewing.join()
    lease.renew()
