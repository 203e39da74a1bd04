"""A run with fakes that is killed anywhere can be cleaned, or is resumed and leaves nothing.

What a killed session left is used by the next one where that is proven, and made anew else.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest

from stithy.registry import plugins
from stithy.run.activity import StepKind
from stithy.run.cleaning import list_cleanup_handlers

TESTS = Path(__file__).resolve().parents[1]
KILLS = 4
OURS = {"out", "state", "study.yaml"}
Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def program() -> Iterator[Popen[str]]:
    """What kills, cleans and resumes, started once for all tests."""
    environment = {**os.environ, "PYTHONPATH": f"{TESTS.parent / 'python'}:{TESTS}"}
    command = [sys.executable, "-m", "support.killed"]
    with Popen(command, text=True, env=environment, stdin=PIPE, stdout=PIPE) as started:
        yield started


@pytest.fixture
def ask(program: Popen[str], place: Path) -> Ask:
    """What that program tells of a job."""

    def shown(job: str, *words: str | int) -> Any:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write(json.dumps([job, str(place), *words]) + "\n")
        program.stdin.flush()
        return json.loads(program.stdout.readline())

    return shown


@pytest.fixture
def after(ask: Ask) -> Ask:
    """What the last session did after these kills and changes, its windows and remains judged.

    With one user the window of `b` comes first, with two that of `a`, the master's candidate.
    """

    def last_session(words: str, *, users: int = 1) -> Any:
        shown = ask("after", users, *words.split())
        _assert_whole(shown)
        return shown

    return last_session


def _assert_whole(shown: dict[str, Any]) -> None:
    """All windows are there once and whole, all conditions hold, nothing is left over."""
    assert shown["end"] == "finished", shown
    assert shown["measured"] == shown["planned"], shown
    assert (shown["incomplete"], shown["broken"]) == ([], 0), shown
    assert shown["kept_unchanged"], shown
    assert shown["left"] == shown["registered"] == [], shown
    assert set(shown["others"]) == OURS, shown


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.long), 5])
def test_runs_killed_anywhere_are_cleaned(ask: Ask, step: int) -> None:
    """Candidates, sockets, groups, the register's entry: all gone; study and results stay.

    Before every fifth line, and where there is time before every one.
    """
    kills = ask("clean", step)
    assert len(kills) > 60 // step
    for shown in kills:
        assert shown["left"] == shown["registered"] == shown["problems"] == [], shown
        assert set(shown["others"]) <= OURS, shown


@pytest.mark.timeout(1500)
def test_runs_killed_before_any_line_are_resumed(ask: Ask) -> None:
    """Each kind of line that the code can write to a journal is among them."""
    resumed = ask("resume", 5, KILLS)
    assert sum(each["kind"] is None for each in resumed) == KILLS
    for each in resumed:
        _assert_whole(each)
        assert each["sessions"][0] == "killed", each
        assert each["expected"] in (None, each["written"]), each
    assert any(len(each["sessions"]) > 2 for each in resumed)
    seen = {kind for each in resumed for kind in each["events"]}
    assert _unseen(seen) == set(), "no kill comes before such a line: let the study write it"


ELSEWHERE = {
    "drives-unpaced": "test_drives.py kills runs on emulated drives",
    "drives-paced": "as above",
    "creating io-group": "as above",
    "creating drive": "as above",
    "creating mount": "real/drives/test_by_hand.py kills a run after it",
    "creating formatted": "test_storage.py kills runs on devices",
    "creating image": "as above",
    "step-started lay-out": "test_block_io_killed.py kills a run in it",
    "step-started precondition": "as above",
    "step-started read-back": "as above",
    "step-started lay-out-neighbour": "test_tenants.py kills a run in it",
    "step-started prove-backup": "e2e/test_backup.py kills a run in it",
    "step-started prepare-backup": "as above",
    "step-started prove-other-engines": "the same work as that of prove-backup, once an engine",
    "step-started try-agents": "it leaves nothing; test_backup.py resumes a run that ended in it",
    "step-started measure-idle": "unit/run/test_power.py resumes a run after it",
    "creating link": "real/test_links.py kills a run after it",
    "creating agents": "unit/agents/test_window.py resumes a run after it",
    "creating cluster": "e2e/test_ceph.py kills a run after it",
    "creating bridge": "e2e/test_migration.py kills a run after it",
    "creating ceph-fault": "e2e/test_ceph.py kills a run in it",
    "creating rbd-image": "e2e/test_cluster_by_hand.py kills a run after it",
    "creating marked-database": "e2e/test_by_url.py kills a run on databases by URL",
    "creating zfs": "needs a kernel with ZFS; real/test_layers.py removes what it made",
    "creating lvm-vdo": "needs a kernel with dm-vdo; as above",
    "creating md": "needs a kernel with md; real/test_layers.py removes what it made",
    "creating lvm": "needs a kernel with device-mapper; as above",
    "creating lvm-cached": "as above",
    "step-failed": "a session that failed has ended by itself",
}
"""Kinds of lines that this study cannot write, and why that is no gap."""


def _unseen(seen: set[str]) -> set[str]:
    """The kinds of lines that a run can write to its journal, and this study did not."""
    kinds = {f"creating {kind}" for kind in list_cleanup_handlers()}
    kinds |= {f"step-started {kind}" for kind in plugins(StepKind)}
    sources = (TESTS.parent / "python/stithy/run").rglob("*.py")
    text = "\n".join(path.read_text() for path in sources)
    written = re.findall(r"[ .]journal\.write\(\s*([\w\"-]+)", text)
    names = dict(re.findall(r"^([A-Z_]+) = \"([a-z-]+)\"$", text, re.MULTILINE))
    events = {each.strip('"') if each.startswith('"') else names[each] for each in written}
    return (events - {each.split()[0] for each in seen} | (kinds - seen)) - ELSEWHERE.keys()


USED_ON = "the master copy is unchanged: the database is not loaded again"
LOADED = "the database is loaded again: "
NO_PASSWORD = "the password of its server is no longer known"


@pytest.mark.parametrize(
    "words", ["w-a-u1-b0 none", "w-a-u1-b0 reboot", "w-b-u1-b0 none w-a-u1-b0 none"]
)
def test_a_proven_master_copy_is_used_on(after: Ask, words: str) -> None:
    """Neither loading nor the check of it is done again; after a reboot neither, or once more.

    A candidate that has no window left keeps its database, while those of others are measured.
    """
    shown = after(words)
    assert USED_ON in shown["notes"]
    assert shown["kept"]
    assert not {"prepare", "check-load", "restore-w-b-u1-b0"} & {*shown["steps"]}
    assert {"snapshot", "check-end-a", "check-end-b"} <= {*shown["steps"]}
    assert shown["ends"] == ["a", "b"]


def test_other_runs_leave_the_master_copy(after: Ask) -> None:
    """What its last windows left is gone."""
    shown = after("w-a-u1-b0 clear")
    assert USED_ON in shown["notes"]
    assert "prepare" not in shown["steps"]
    assert shown["ends"] == ["a"]


@pytest.mark.parametrize(("words", "because"), [
    ("w-a-u1-b0 flip", "has changed"),
    ("w-a-u1-b0 remove", "is gone"),
    ("w-a-u1-b0 link", "is gone"),
    ("w-a-u1-b0 forget", NO_PASSWORD),
    ("w-a-u1-b0 lose", NO_PASSWORD),
    ("prepare none", "its master copy had not been finished"),
    ("w-a-u1-b0 flip snapshot none", "its master copy had not been finished"),
])  # fmt: skip
def test_a_doubtful_master_copy_is_loaded_again(after: Ask, words: str, because: str) -> None:
    """And says why: a changed byte, what is gone or unknown, what was not finished.

    Each other change of a tree is noticed in unit/storage/test_path.py.
    """
    shown = after(words)
    [note] = [each for each in shown["notes"] if each.startswith(LOADED)]
    assert because in note
    assert not shown["kept"]
    assert {"prepare", "check-load", "snapshot"} <= {*shown["steps"]}
    if words == "w-a-u1-b0 flip":  # the other candidate's database is kept nevertheless
        assert "restore-w-b-u1-b0" not in shown["steps"]
        assert shown["ends"] == ["a", "b"]


@pytest.mark.parametrize(("words", "checked"), [
    ("check-end-a none", ["a", "b"]),
    ("check-end-b none", ["b"]),
    ("check-end-a none check-end-b none", ["b"]),
])  # fmt: skip
def test_a_missed_final_check_is_made(after: Ask, words: str, checked: list[str]) -> None:
    """Nothing is loaded or restored for it: it looks at what the last window left."""
    shown = after(words)
    around = ("provision", "check-end", "tear-down")
    assert sorted(shown["steps"]) == sorted(f"{kind}-{name}" for kind in around for name in checked)
    assert shown["ends"] == ["a", "b"]


def test_an_impossible_final_check_is_left_out(after: Ask) -> None:
    """No fresh copy is verified in its place."""
    shown = after("check-end-a lose")
    assert sum("is left out" in each for each in shown["notes"]) == 2
    assert shown["steps"] == shown["ends"] == []


def test_a_later_database_is_no_windows(after: Ask) -> None:
    """It lies where the last window's was, and is not taken for it."""
    shown = after("w-b-u2-b0 flip snapshot none", users=2)
    assert "check-end-a" not in shown["steps"]
    assert any(each.startswith("check-end-a is left out") for each in shown["notes"])
    assert shown["ends"] == ["b"]
