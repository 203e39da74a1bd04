"""What a page says of the driver's head-room."""

from pathlib import Path

import pytest

from stithy.report.context import Context, context_of
from stithy.report.parts import machine
from stithy.results.manifest import CalibrationFacts
from stithy.results.read import read_run
from support.sample_run import Shape, build_run


def context(root: Path, facts: CalibrationFacts) -> Context:
    """A sample run with this calibration."""
    build_run(root, Shape(users=(1, 13), calibration=facts))
    return context_of(read_run(root))


def calibrated(rate_per_s: float) -> CalibrationFacts:
    """A driver that can do so much over 13 connections."""
    return CalibrationFacts(connections=13, rate_per_s_max=rate_per_s)


def test_little_head_room_weakens_the_answer_with_its_numbers(tmp_path: Path) -> None:
    """The worst window is named, and how many there are."""
    made = context(tmp_path, calibrated(900))
    told = machine.headroom_sentence(made)
    assert told is not None
    assert told.weakens
    assert told.text.endswith("in w-memory-u13-b0: it may be what limits this window.")
    assert any(
        "little driver headroom" in r.flag.value for w in made.evidence.windows for r in w.reasons
    )


def test_a_driver_that_did_more_than_its_limit_refutes_it(tmp_path: Path) -> None:
    """Then head-room is not proven, in any window, and nothing is told to be a share of it."""
    made = context(tmp_path, calibrated(200))
    told = machine.headroom_sentence(made)
    assert told is not None
    assert told.weakens
    assert told.text.startswith("The driver's headroom is not proven: it did 5")
    assert told.text.endswith("in w-memory-u13-b0, more than the 200 that it was shown to sustain.")
    assert machine.headroom_frame(made)["rate_share"].to_list() == [None] * 4
    reasons = [reason.flag.value for each in made.evidence.windows for reason in each.reasons]
    assert not [text for text in reasons if "headroom" in text]


def test_what_a_busy_host_was_shown_to_do_proves_head_room_and_no_want_of_it(
    tmp_path: Path,
) -> None:
    """The driver can do at least as much: little of it is much, much of it is nothing known."""
    busy = calibrated(700).model_copy(update={"others_share": 0.43})
    told = machine.headroom_sentence(context(tmp_path / "little", busy))
    assert told == machine.Sentence(
        "The driver's headroom is not proven: other programs used 43 % of the CPUs while it was "
        "found what the driver can do.",
        True,
    )
    enough = machine.headroom_sentence(
        context(tmp_path / "enough", busy.model_copy(update={"rate_per_s_max": 12_000.0}))
    )
    assert enough is not None
    assert not enough.weakens


@pytest.mark.parametrize("because", ["the study did not ask for it", None])
def test_without_calibration_head_room_is_not_proven(tmp_path: Path, because: str | None) -> None:
    """And the page says so, with the reason where there is one."""
    made = context(tmp_path, CalibrationFacts(missing_because=because))
    told = machine.headroom_sentence(made)
    assert told is not None
    assert told.weakens
    assert told.text.startswith("The driver's headroom is not proven: ")
    assert (because or "not known why") in told.text
    assert [show.column for show in machine.headroom_shows(made)] == ["rate_per_s"]
