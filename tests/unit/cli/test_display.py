"""What is seen of a run while it goes on, as lines and as numbers."""

import socket
from dataclasses import replace
from pathlib import Path

import pytest

from fakes.clock import FakeClock
from stithy.cli.app import run
from stithy.cli.running.display import Plain, line_of, with_live_numbers
from stithy.plan.steps import Cost, Step, WindowPlan
from stithy.run.events import (
    Event,
    InterimAnalysis,
    Note,
    Progress,
    RunStarted,
    SecondPassed,
    StepFinished,
    StepSkipped,
    StepStarted,
)

WINDOW = WindowPlan("w-disk-u4-b0", "disk", 4, 0, 0, 5.0, 20.0, 1, checkpoint=True)


STEP = Step("w-disk-u4-b0", "window", "disk", Cost(29.0, 40.0, 0, 0), WINDOW)


SECOND = SecondPassed(WINDOW, 9, "measure", 12_345.6, 0.0123)


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (RunStarted("runs/x", 17, 250.0), "17 steps, about 4 min 10 s; results go to runs/x"),
        (StepStarted(STEP, 7, 17, 88.4), "[7/17] w-disk-u4-b0, about 1 min 28 s left"),
        (
            RunStarted("runs/x", 50, 440.0, 700.0),
            "50 steps, about 7 min 20 s (11 min 40 s if it stays undecided); results go to runs/x",
        ),
        (
            StepStarted(STEP, 7, 50, 88.4, 200.0),
            "[7/50] w-disk-u4-b0, about 1 min 28 s left (3 min 20 s if it stays undecided)",
        ),
        (InterimAnalysis("b is better.", 4, decided=True), "interim analysis: b is better."),
        (StepSkipped(STEP, "b is better."), None),
        (StepFinished(STEP, 31.25, "4,400 NOPM"), "    4,400 NOPM (31.2 s)"),
        (Note("mind the gap"), "note: mind the gap"),
        (SECOND, "    10 s (measure): 12,346 TPM, p95 12.3 ms"),
        (replace(SECOND, p95_s=None, tpm=0.0), "    10 s (measure): 0 TPM"),
        (replace(SECOND, second=10), None),
        (Progress("loading", 1, 2), None),
    ],
)
def test_each_event_has_its_line_or_none(event: object, expected: str | None) -> None:
    """Every tenth second is enough for a log of hours."""
    assert line_of(event) == expected  # type: ignore[arg-type]  # the table mixes all kinds


def test_lines_carry_the_time_of_day_and_go_to_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Standard output stays for data."""
    Plain(FakeClock()).show(Note("hello"))
    Plain(FakeClock()).show(Progress("loading", 1, 2))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith(" note: hello\n")
    assert len(err.splitlines()) == 1


def test_without_an_address_events_are_shown_only() -> None:
    """Nothing stands between the run and the display."""
    shown: list[Event] = []
    with with_live_numbers(None, shown.append) as tell:
        tell(Note("hello"))
    assert shown == [Note("hello")]


def test_with_an_address_events_are_shown_as_well(capsys: pytest.CaptureFixture[str]) -> None:
    """Where the numbers are is told on standard error."""
    shown: list[Event] = []
    with with_live_numbers("127.0.0.1:0", shown.append) as tell:
        tell(Note("hello"))
    assert shown == [Note("hello")]
    assert "live numbers: http://127.0.0.1:" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["run", "resume"])
def test_a_port_in_use_ends_the_command_before_anything_starts(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 3, although the study or run that is named does not even exist."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert run([command, str(tmp_path / "gone"), "--metrics", address]) == 3
    assert f"--metrics {address}" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_address_for_other_machines_is_a_wrong_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2."""
    assert run(["run", str(tmp_path / "gone"), "--metrics", "0.0.0.0:9464"]) == 2
    assert "other machines could read it there" in capsys.readouterr().err
