"""A run with fakes that is killed anywhere is resumed to the same windows, and leaves nothing."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from stithy.run.cleanup.handlers import CLEANUP_HANDLERS
from stithy.run.executor import ACTIONS

TESTS = Path(__file__).resolve().parents[1]
KILLS = 4


@pytest.mark.timeout(1500)
def test_a_run_killed_before_each_kind_of_line_and_at_other_moments_is_resumed(
    place: Path,
) -> None:
    """All windows are there once and whole, all conditions hold, nothing is left over."""
    environment = {**os.environ, "PYTHONPATH": f"{TESTS.parent / 'python'}:{TESTS}"}
    words = [sys.executable, "-m", "support.resumed_run", str(place), "5", str(KILLS)]
    ended = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=1400)
    assert ended.returncode == 0, ended.stderr
    resumed = json.loads(ended.stdout)
    assert sum(each["kind"] is None for each in resumed) == KILLS
    for each in resumed:
        told = f"killed before {each['kind'] or 'reading'} {each['fatal']}: {each}"
        assert each["end"] == "finished", told
        assert each["measured"] == each["planned"], told
        assert (each["incomplete"], each["broken"]) == ([], 0), told
        assert each["kept_unchanged"], told
        assert each["sessions"][0] == "killed", told
        assert each["left"] == each["registered"] == [], told
        assert set(each["others"]) <= {"out", "state", "study.yaml"}, told
        assert each["expected"] in (None, each["written"]), told
    assert any(len(each["sessions"]) > 2 for each in resumed)
    seen = {kind for each in resumed for kind in each["events"]}
    assert unseen(seen) == set(), "no kill comes before such a line: let the study write it"


ELSEWHERE = {
    "drives-unpaced": "test_drives.py kills runs on emulated drives",
    "drives-paced": "as above",
    "creating drive": "as above",
    "creating mount": "as above",
    "creating image": "as above",
    "step-failed": "a session that failed has ended by itself",
}
"""Kinds of lines that this study cannot write, and why that is no gap."""


def unseen(seen: set[str]) -> set[str]:
    """The kinds of lines that a run can write to its journal, and this study did not."""
    events = {each.split()[0] for each in seen}
    kinds = {f"creating {kind}" for kind in CLEANUP_HANDLERS} | {
        f"step-started {kind}" for kind in ACTIONS
    }
    return (journal_events() - events | (kinds - seen)) - ELSEWHERE.keys()


def journal_events() -> set[str]:
    """The events that the code of a run writes to its journal."""
    sources = [path.read_text() for path in (TESTS.parent / "python/stithy/run").rglob("*.py")]
    text = "\n".join(sources)
    written = re.findall(r"[ .]journal\.write\(\s*([\w\"-]+)", text)
    names = dict(re.findall(r"^([A-Z_]+) = \"([a-z-]+)\"$", text, re.MULTILINE))
    return {each.strip('"') if each.startswith('"') else names[each] for each in written}
