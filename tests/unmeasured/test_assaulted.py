"""Bad days on a run's way: what is killed or held costs its window and nothing else."""

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from stithy.results.layout import RunDirectory
from support.html_page import page_text
from support.places import a_place
from support.running import (
    PATIENCE_S,
    Stithy,
    entries,
    hammer_of,
    left_by,
    seconds_measured,
    wait_for,
    window_row,
    write_study,
)

pytestmark = pytest.mark.needs_postgresql

DURATION = "4 s"
"""Time enough for what is done to a window, where another test runs beside."""


def postmaster(data: Path) -> int:
    """Process id of the server on a data directory."""
    return int((data / "postmaster.pid").read_text().splitlines()[0])


@dataclass(frozen=True)
class Assaulted:
    """A run of four windows: its server killed, its hammer killed, its hammer held, and nothing."""

    out: Path
    code: int
    stderr: str


@pytest.fixture(scope="module")
def assaulted() -> Iterator[Assaulted]:
    """One run for all who ask what somebody did to its windows cost."""
    with a_place() as place:
        stithy, out = Stithy(place / "state"), place / "out"
        candidates = {"a": place / "a"}
        study = write_study(place / "study.yaml", candidates, users=[1, 2, 3, 4], duration=DURATION)
        try:
            process = stithy.start("run", study, "--out", out)
            wait_for(lambda: seconds_measured(out, "w-a-u1-b0") >= 1, process)
            os.kill(postmaster(place / "a/data"), signal.SIGKILL)
            wait_for(lambda: seconds_measured(out, "w-a-u2-b0") >= 1, process)
            os.kill(hammer_of(out), signal.SIGKILL)
            wait_for(lambda: seconds_measured(out, "w-a-u3-b0") >= 1, process)
            os.kill(hammer_of(out), signal.SIGSTOP)
            _, stderr = process.communicate(timeout=PATIENCE_S)
            yield Assaulted(out, process.returncode, stderr)
        finally:
            stithy.end()


def test_a_server_or_hammer_that_is_killed_costs_its_window_only(assaulted: Assaulted) -> None:
    """The window is invalid with the reason and measured once more, the run goes on."""
    out = assaulted.out
    assert assaulted.code == 0, assaulted.stderr
    server, hammer, other = (window_row(out, f"w-a-u{users}-b0") for users in (1, 2, 4))
    assert not server["complete"]
    assert "the server was ended by SIGKILL" in server["missing_because"]
    assert not hammer["complete"]
    assert "was ended by SIGKILL without a summary" in hammer["missing_because"]
    assert other["complete"]
    for users in (1, 2, 3):
        again = window_row(out, f"w-a-u{users}-b0-again")
        assert (again["complete"], again["attempt"], again["block"]) == (True, 1, 0)
    added = [entry.facts["because"] for entry in entries(out, "windows-added")]
    assert [why for why in added if "w-a-u4" not in why] == [
        f"the block is measured once more, for this is invalid: w-a-u{users}-b0 (no numbers)"
        for users in (1, 2, 3)
    ]
    assert "added: the block is measured once more" in assaulted.stderr
    assert "Block 0 at 1 user" in page_text(RunDirectory(out).page)
    assert left_by(out) == []


def test_a_hammer_that_is_held_costs_its_window_only(assaulted: Assaulted) -> None:
    """SIGSTOP must not hold the run for ever."""
    assert assaulted.code == 0, assaulted.stderr
    held, other = (window_row(assaulted.out, f"w-a-u{users}-b0") for users in (3, 4))
    assert "was held by a signal" in held["missing_because"]
    assert other["complete"]
    assert left_by(assaulted.out) == []
