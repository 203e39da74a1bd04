"""A run that is killed anywhere at all leaves nothing that `clean` cannot remove."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.long), 3])
def test_a_run_killed_before_lines_of_its_books_can_be_cleaned(place: Path, step: int) -> None:
    """Candidates, sockets, groups, the register's entry: all gone; study and results stay.

    Before every third line, and where there is time before every one.
    """
    environment = {**os.environ, "PYTHONPATH": f"{TESTS.parent / 'python'}:{TESTS}"}
    words = [sys.executable, "-m", "support.killed_run", str(place), str(step)]
    ended = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=500)
    assert ended.returncode == 0, ended.stderr
    kills = json.loads(ended.stdout)
    assert len(kills) > 60 // step
    for fatal, left, others, registered, problems in kills:
        told = f"killed before line {fatal}: {problems}"
        assert left == [], told
        assert set(others) <= {"out", "state", "study.yaml"}, told
        assert registered == [], told
        assert problems == [], told
