"""Where a run stands, as numbers: what each event changes, and what is not told."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from fakes.clock import FakeClock
from stithy.errors import UserError
from stithy.plan.steps import Cost, Step, WindowPlan
from stithy.results.layout import RunDirectory
from stithy.run.events import (
    Looked,
    Progress,
    RunStarted,
    SecondPassed,
    StepFinished,
    StepSkipped,
    StepStarted,
)
from stithy.run.live.numbers import LiveNumbers
from support.openmetrics import Read, read

WINDOW = WindowPlan("w-disk-u4-b0", "disk", 4, 0, 0, 5.0, 20.0, 1, checkpoint=True)
STEP = Step("w-disk-u4-b0", "window", "disk", Cost(29.0, 40.0, 0, 0), WINDOW)
LOADING = Step("prepare", "prepare", "disk", Cost(29.0, 40.0, 0, 0))


def none_invalid(directory: RunDirectory, windows: Sequence[str]) -> Mapping[str, str]:
    """A judge who finds nothing wrong."""
    return {}


def all_invalid(directory: RunDirectory, windows: Sequence[str]) -> Mapping[str, str]:
    """A judge who finds every window wrong."""
    return dict.fromkeys(windows, "errors")


def value(families: Mapping[str, Read], name: str) -> float:
    """The only value of a family."""
    ((_, number, at_s),) = families[name].samples
    assert at_s is None
    return number


def test_before_the_run_begins_nothing_is_known() -> None:
    """A document without a family, and no zeros that nobody measured."""
    assert LiveNumbers(FakeClock(), none_invalid).text() == "# EOF\n"


def test_a_window_under_way_tells_its_last_second() -> None:
    """Throughput, response time, how far it is, and whose it is."""
    numbers = LiveNumbers(FakeClock(), none_invalid)
    for event in (
        RunStarted("runs/x", 17, 250.0),
        StepStarted(STEP, 7, 17, 88.0, 200.0),
        SecondPassed(WINDOW, 9, "measure", 12_345.0, 0.0123),
    ):
        numbers.show(event)
    families = read(numbers.text())
    assert value(families, "stithy_now_transactions_per_minute") == 12_345.0
    assert value(families, "stithy_now_response_p95_seconds") == 0.0123
    assert value(families, "stithy_now_progress_ratio") == 10 / 25
    assert value(families, "stithy_run_step") == 7
    assert value(families, "stithy_run_steps") == 17
    assert value(families, "stithy_run_left_seconds") == 88.0
    assert value(families, "stithy_run_left_undecided_seconds") == 200.0
    labels, _, _ = families["stithy_now_transactions_per_minute"].samples[0]
    assert labels == {
        "run": "x", "window": "w-disk-u4-b0", "candidate": "disk", "users": "4", "block": "0",
        "phase": "measure",
    }  # fmt: skip


def test_what_is_emulated_says_so_beside_each_of_its_numbers() -> None:
    """With the label that exports have; a candidate of which nothing must be said has none."""
    for notes, expected in (({"disk": "EMULATED drive"}, "EMULATED drive"), ({"other": "x"}, None)):
        numbers = LiveNumbers(FakeClock(), none_invalid)
        for event in (
            RunStarted("runs/x", 17, 250.0, notes=notes),
            StepStarted(STEP, 7, 17, 88.0),
            SecondPassed(WINDOW, 9, "measure", 12_345.0, 0.0123),
        ):
            numbers.show(event)
        families = read(numbers.text())
        of_it = [name for name in families if name.startswith("stithy_now_")]
        assert len(of_it) == 3
        for name in (*of_it, "stithy_run_step"):
            [(labels, _, _)] = families[name].samples
            assert labels.get("note") == expected


def test_the_time_left_goes_down_and_never_below_nothing() -> None:
    """A step that takes longer than expected leaves no less than 0."""
    clock = FakeClock()
    numbers = LiveNumbers(clock, none_invalid)
    numbers.show(RunStarted("runs/x", 17, 250.0))
    numbers.show(StepStarted(STEP, 7, 17, 88.0))
    clock.sleep_s(8.0)
    assert value(read(numbers.text()), "stithy_run_left_seconds") == 80.0
    clock.sleep_s(100.0)
    families = read(numbers.text())
    assert value(families, "stithy_run_left_seconds") == 0.0
    assert "stithy_run_left_undecided_seconds" not in families


def test_a_window_that_is_over_tells_no_last_second_any_more() -> None:
    """What it did a while ago is not what happens now; it is counted."""
    numbers = LiveNumbers(FakeClock(), none_invalid)
    for event in (
        RunStarted("runs/x", 17, 250.0),
        StepStarted(STEP, 7, 17, 88.0),
        SecondPassed(WINDOW, 9, "measure", 0.0, None),
    ):
        numbers.show(event)
    families = read(numbers.text())
    assert value(families, "stithy_now_transactions_per_minute") == 0.0
    assert "stithy_now_response_p95_seconds" not in families
    numbers.show(StepFinished(STEP, 31.25, "4,400 NOPM"))
    numbers.show(StepSkipped(STEP, "decided"))
    families = read(numbers.text())
    assert not any(name.startswith("stithy_now_") for name in families)
    assert value(families, "stithy_run_windows_done") == 2


def test_loading_tells_how_far_it_is_and_a_look_where_the_question_stands() -> None:
    """The stage is a label."""
    numbers = LiveNumbers(FakeClock(), none_invalid)
    for event in (
        RunStarted("runs/x", 17, 250.0),
        StepStarted(LOADING, 2, 17, 88.0),
        Progress("loading", 1, 4),
        Looked("b is better.", 4, decided=True),
    ):
        numbers.show(event)
    families = read(numbers.text())
    assert families["stithy_now_progress_ratio"].samples == [
        ({"run": "x", "stage": "loading"}, 0.25, None)
    ]
    assert value(families, "stithy_run_question_blocks") == 4
    assert value(families, "stithy_run_question_decided") == 1


def test_invalid_windows_are_counted_those_of_earlier_sessions_too(tmp_path: Path) -> None:
    """A run that is resumed has some before its first window."""
    before = tmp_path / "windows" / "w-disk-u1-b0"
    before.mkdir(parents=True)
    (before / "window.parquet").write_bytes(b"")
    numbers = LiveNumbers(FakeClock(), all_invalid)
    numbers.show(RunStarted(str(tmp_path), 17, 250.0))
    assert value(read(numbers.text()), "stithy_run_windows_invalid") == 1
    numbers.show(StepFinished(STEP, 31.25, "4,400 NOPM"))
    assert value(read(numbers.text()), "stithy_run_windows_invalid") == 2


def test_a_result_that_cannot_be_read_ends_neither_the_run_nor_the_numbers() -> None:
    """An observer must not fail."""

    def unreadable(directory: RunDirectory, windows: Sequence[str]) -> Mapping[str, str]:
        raise UserError("no such directory", where=str(directory.root), remedy="none")

    numbers = LiveNumbers(FakeClock(), unreadable)
    numbers.show(RunStarted("runs/x", 17, 250.0))
    numbers.show(StepFinished(STEP, 31.25, "4,400 NOPM"))
    assert value(read(numbers.text()), "stithy_run_windows_done") == 1
