"""What a killed session left is used by the next one where that is proven, and made anew else."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parents[1]
KEPT = "the master copy is unchanged: the database is not loaded again"
After = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def program() -> Iterator[subprocess.Popen[str]]:
    """What kills and resumes, started once for all tests."""
    environment = {**os.environ, "PYTHONPATH": f"{TESTS.parent / 'python'}:{TESTS}"}
    with subprocess.Popen(
        [sys.executable, "-m", "support.session_after"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as started:
        yield started


@pytest.fixture
def after(program: subprocess.Popen[str], place: Path) -> After:
    """What the last session did after these kills and changes; all that holds of any.

    With one user the window of `b` comes first, with two that of `a`, the master's candidate.
    """

    def last_session(words: str, *, users: int = 1) -> dict[str, Any]:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write(json.dumps([str(place), str(users), *words.split()]) + "\n")
        program.stdin.flush()
        told: dict[str, Any] = json.loads(program.stdout.readline())
        assert told["end"] == "finished", told
        assert (told["incomplete"], told["broken"]) == ([], 0), told
        assert told["left"] == told["registered"] == [], told
        assert set(told["others"]) == {"out", "state", "study.yaml"}, told
        return told

    return last_session


@pytest.mark.parametrize("change", ["none", "reboot"])
def test_a_proven_master_copy_is_used_on(after: After, change: str) -> None:
    """Neither loading nor the check of it is done again; after a reboot neither."""
    told = after(f"w-a-u1-b0 {change}")
    assert KEPT in told["notes"]
    assert told["kept"]
    assert "prepare" not in told["steps"]
    assert "check-load" not in told["steps"]
    assert "snapshot" in told["steps"], "drives keep their state anew"
    assert told["ends"] == ["a", "b"]


def test_a_master_copy_that_was_used_on_is_used_on_again(after: After) -> None:
    """The third session knows it from the first."""
    told = after("w-b-u1-b0 none w-a-u1-b0 none")
    assert told["kept"]
    assert "prepare" not in told["steps"]


@pytest.mark.parametrize(
    ("change", "because"),
    [
        ("flip", "has changed"),
        ("touch", "has changed"),
        ("remove", "is gone"),
        ("link", "is gone"),
        ("forget", "the password of its server is no longer known"),
        ("lose", "the password of its server is no longer known"),
    ],
)
def test_whatever_speaks_against_a_master_copy_loads_again(
    after: After, change: str, because: str
) -> None:
    """And says why: a changed byte, a file more, what is gone, what nobody knows any more."""
    told = after(f"w-a-u1-b0 {change}")
    [note] = [each for each in told["notes"] if each.startswith("the database is loaded again: ")]
    assert because in note
    assert not told["kept"]
    assert {"prepare", "check-load", "snapshot"} <= {*told["steps"]}


@pytest.mark.parametrize("words", ["prepare none", "w-a-u1-b0 flip snapshot none"])
def test_a_master_copy_that_was_not_finished_is_not_used(after: After, words: str) -> None:
    """Neither in the first session nor in one that loaded again."""
    told = after(words)
    assert "the database is loaded again: its master copy had not been finished" in told["notes"]
    assert "prepare" in told["steps"]


@pytest.mark.parametrize(
    ("words", "checked"),
    [
        ("check-end-a none", ["check-end-a", "check-end-b"]),
        ("check-end-b none", ["check-end-b"]),
        ("check-end-a none check-end-b none", ["check-end-b"]),
    ],
)
def test_a_final_check_is_made_up_for_where_its_database_is_there(
    after: After, words: str, checked: list[str]
) -> None:
    """Nothing is loaded or restored for it: it looks at what the last window left."""
    told = after(words)
    names = [each.removeprefix("check-end-") for each in checked]
    around = [f"{kind}-{name}" for kind in ("provision", "tear-down") for name in names]
    assert sorted(told["steps"]) == sorted([*around, *checked])
    assert told["ends"] == ["a", "b"]


@pytest.mark.parametrize("change", ["none", "flip"])
def test_a_candidate_that_has_no_window_left_keeps_its_database(after: After, change: str) -> None:
    """While those of others are measured, and also where the database is loaded again."""
    told = after(f"w-a-u1-b0 {change}")
    assert "restore-w-b-u1-b0" not in told["steps"]
    assert {"check-end-a", "check-end-b"} <= {*told["steps"]}
    assert told["ends"] == ["a", "b"]


def test_a_database_that_a_later_session_loads_is_no_windows(after: After) -> None:
    """It lies where the last window's was, and is not taken for it."""
    told = after("w-b-u2-b0 flip snapshot none", users=2)
    assert "check-end-a" not in told["steps"]
    assert any(each.startswith("check-end-a is left out") for each in told["notes"])
    assert told["ends"] == ["b"]


def test_a_final_check_without_its_database_is_told(after: After) -> None:
    """No fresh copy is verified in its place."""
    told = after("check-end-a lose")
    assert sum("is left out" in each for each in told["notes"]) == 2
    assert told["steps"] == told["ends"] == []
