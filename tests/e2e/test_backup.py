"""A real database, backed up while users work, restored, and proven equal; backups are killed."""

import os
import shutil
import signal
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from stithy.activities.hammer.judge import COMMITS
from stithy.analysis.evidence import Window
from stithy.drives.control import Control
from stithy.drives.program import CONTROL
from stithy.engines.postgresql.engine import find_installation
from stithy.errors import Exit
from stithy.hosts.host import LocalHost
from stithy.hosts.processes import pids_of_run
from stithy.report.context import context_of
from stithy.results.files import read_run
from stithy.results.layout import RunDirectory
from stithy.wire.drive.jobs import Gone
from support.places import DISK, a_place
from support.running import Stithy, entries, left_by, wait_for, write_study
from support.scenarios import PROVEN

pytestmark = pytest.mark.needs_postgresql

PROGRAMS = {"basebackup": b"/pg_basebackup", "dump": b"/pg_dump", "pgbackrest": b"pgbackrest"}
"""What makes a backup, by method."""


def study(place: Path, scenario: str = "{}", vary: str = "") -> Path:
    """Two users at a rate, on one candidate, with and without backups."""
    return write_study(
        place / "study.yaml", {"a": place / "a"}, users=[2],
        load={"rate": "40/s", "ledger": "true"}, scenario=f"{{backup: {scenario}}}", vary=vary,
    )  # fmt: skip


def killed(methods: Sequence[str]) -> dict[str, Window]:
    """By method, the window whose first backup is killed, of a whole run."""
    with a_place() as place:
        stithy = Stithy(place / "state")
        if len(methods) > 1:
            vary, keys = f"{{scenario.backup.method: [{', '.join(methods)}]}}", "{cycles: 2}"
        else:  # slow enough to be seen while it runs
            vary, keys = "", f"{{method: {methods[0]}, cycles: 2, bandwidth: 32 MiB}}"
        running = stithy.start("run", study(place, keys, vary), "--out", place / "run")
        ended = threading.Event()
        killer = threading.Thread(target=kill_first_ones, args=(place, methods, ended))
        killer.start()
        said, wrong = running.communicate(timeout=600)
        ended.set()
        killer.join()
        # A machine that does other work may make windows invalid; the proof does not depend on it.
        proven = "10 tables are equal after backup and restore, nothing acknowledged is missing"
        assert proven in said + wrong
        windows = context_of(read_run(place / "run")).evidence.windows
        return {
            method: next(
                window
                for window in windows
                if "on" in window.id and (method in window.id or len(methods) == 1)
            )
            for method in methods
        }


def kill_first_ones(place: Path, methods: Sequence[str], ended: threading.Event) -> None:
    """Kill the first backup of each method, while the run lasts."""
    left = {PROGRAMS[method] for method in methods}
    pause_s = 0.1 if len(methods) == 1 else 0.005  # those of one method are slow enough to be seen
    while left and not ended.wait(pause_s):
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().split(b"\0")[:-1]
            except OSError:
                continue
            found = {each for each in left if words and words[0].endswith(each)}
            if found and str(place).encode() in b" ".join(words) and is_backup(words):
                os.kill(int(path.parent.name), signal.SIGKILL)
                left -= found


def is_backup(words: list[bytes]) -> bool:
    """Whether a program is the one that makes a backup; one of several tasks names its own last."""
    return not words[0].endswith(b"pgbackrest") or words[-1] == b"backup"


@pytest.mark.needs_pgbackrest
@pytest.mark.parametrize(
    "methods",
    [("basebackup",), pytest.param(("dump", "pgbackrest"), marks=pytest.mark.long)],
    ids=", ".join,
)
def test_a_killed_backup_is_a_span_that_does_not_count_and_nothing_else_fails(
    methods: Sequence[str],
) -> None:
    """The next one is made, restored and checked; the users' window is complete.

    Long: each method is a run's windows and proofs; `tests/real` kills one of each in seconds.
    """
    for window in killed(methods).values():
        rows = {row["name"]: row for row in window.spans}
        assert list(rows) == ["backup 1", "backup 2", "restore"]
        assert "signal 9" in rows["backup 1"]["invalid_because"]
        assert rows["backup 2"]["invalid_because"] is None
        assert rows["restore"]["outcome"] == PROVEN
        assert window.measured
        assert window.value("tpm")
        assert COMMITS not in [reason.flag for reason in window.reasons]


def test_a_run_that_is_killed_while_it_proves_a_backup_is_resumed(
    stithy: Stithy, place: Path
) -> None:
    """The proof is made again, from the backup to the equal tables."""
    out = place / "run"
    journal = RunDirectory(out).journal
    stithy.kill(
        lambda: journal.exists() and entries(out, "step-started", kind="prove-backup"),
        "run", study(place), "--out", out,
    )  # fmt: skip
    resumed = stithy.run("resume", out)
    assert "10 tables are equal after backup and restore" in resumed.stdout + resumed.stderr
    assert left_by(out) == []


@pytest.mark.long
@pytest.mark.needs_pgbackrest
def test_a_run_that_is_killed_while_it_prepares_a_repository_is_resumed_or_cleaned(
    stithy: Stithy, place: Path
) -> None:
    """The window is begun anew, with its database and repository; in between nothing is left.

    Long: a whole run, begun twice.
    """
    out = place / "run"
    journal = RunDirectory(out).journal
    stithy.kill(
        lambda: journal.exists() and entries(out, "step-started", kind="prepare-backup"),
        "run", study(place, "{method: pgbackrest, kind: incremental}"), "--out", out,
    )  # fmt: skip
    stithy.run("clean")
    assert left_by(out) == []
    resumed = stithy.run("resume", out)
    assert "10 tables are equal after backup and restore" in resumed.stdout + resumed.stderr
    assert left_by(out) == []


@pytest.mark.long
@pytest.mark.needs_root
@pytest.mark.needs_drive
def test_a_drive_of_backups_that_is_gone_costs_its_cycles_and_not_what_users_did(
    stithy: Stithy, place: Path
) -> None:
    """From the middle of a backup on every request to it fails: no backup of the window succeeds.

    Long: a whole run on a drive.
    """
    out = place / "run"
    path = study(place, "{cycles: 2, bandwidth: 32 MiB}")
    own = f"{{path: {place}/a, roles: {{backup: {{drive: generic-nvme}}}}}}"
    path.write_text(path.read_text().replace(f"{{path: {place}/a}}", own))
    running = stithy.start("run", path, "--out", out)
    wait_for(lambda: RunDirectory(out).journal.exists() and _backs_up(out), running)
    for folder in stithy.drives():
        Control(folder / CONTROL).fault("backup", Gone())
    said = running.communicate(timeout=240)
    run = read_run(out)
    [window] = [each for each in context_of(run).evidence.windows if "on" in each.id]
    assert window.measured, said
    assert window.value("tpm")
    assert {row["outcome"] for row in window.spans} == {"failed"}, window.spans
    [took] = run.values.filter(window_id=window.id, metric="backup.duration_s").to_dicts()
    assert took["missing_because"] == "no backup of the window succeeded"
    assert left_by(out) == []


def _backs_up(out: Path) -> bool:
    """Whether a backup of this run is under way."""
    [first] = entries(out, "run-started")
    names = (Path(f"/proc/{pid}/comm") for pid in pids_of_run(first.facts["run_id"]))
    return any(name.read_text().startswith("pg_basebackup") for name in names if name.exists())


CHANGING = """#!/bin/sh
# Unpacks as asked. Once the log is there too, one row of the restored database is changed.
{tar} "$@" || exit
for word; do
    case "$word" in
    --directory=*/pg_wal)
        cd "${{word#--directory=}}/.."
        echo "UPDATE warehouse SET w_name = 'changed' WHERE w_id = 1" |
            {postgres} --single -D . stithy >&2
    esac
done
"""


KILLED_ONCE = """#!/bin/sh
# Unpacks as asked; the first time it is killed once the files are there, before the log.
{tar} "$@" || exit
mkdir {once} 2>/dev/null || exit 0
kill -KILL $$
"""


def test_a_restore_that_is_killed_is_a_span_that_does_not_count_and_nothing_else_fails(
    place: Path,
) -> None:
    """The users' window is complete, and the proof at the end restores an equal database."""
    with a_place(DISK) as programs:
        script = KILLED_ONCE.format(tar=shutil.which("tar"), once=programs / "once")
        stithy = Stithy(place / "state", environment={"PATH": _with_tar(programs, script)})
        programs.chmod(0o777)  # the server's user restores
        finished = stithy.run("run", study(place), "--out", place / "run")
    said = finished.stdout + finished.stderr
    assert "10 tables are equal after backup and restore, nothing acknowledged is missing" in said
    windows = context_of(read_run(place / "run")).evidence.windows
    # A machine that does other work may make the window invalid; it is then measured once more.
    [(window, restore)] = [
        (each, span)
        for each in windows for span in each.spans
        if span["outcome"] == "restore failed"
    ]  # fmt: skip
    assert "signal 9" in restore["invalid_because"]
    assert window.measured
    assert window.value("tpm")
    assert left_by(place / "run") == []


def _with_tar(programs: Path, script: str) -> str:
    """The search path with a `tar` of the test's own."""
    (programs / "tar").write_text(script)
    (programs / "tar").chmod(0o755)
    return f"{programs}:{os.environ['PATH']}"


def test_a_row_that_a_restore_changes_fails_the_study_by_its_exit_code(place: Path) -> None:
    """The server starts, all conditions hold, and the table is named."""
    postgres = find_installation(LocalHost()).programs / "postgres"
    with a_place(DISK) as programs:  # memory may be mounted so that no program can lie in it
        script = CHANGING.format(tar=shutil.which("tar"), postgres=postgres)
        stithy = Stithy(place / "state", environment={"PATH": _with_tar(programs, script)})
        finished = stithy.run("run", study(place), "--out", place / "run")
    assert finished.returncode == Exit.INVALID, finished.stderr
    assert "a backup does not restore to an equal database: public.warehouse" in finished.stderr
    assert left_by(place / "run") == []
