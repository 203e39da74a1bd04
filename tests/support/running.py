"""A real `stithy` in a process of its own, on a study as small as one can be, and what it left."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import polars as pl

from stithy.drives.control import ENTRY
from stithy.drives.filesystems import is_mounted, read_tag
from stithy.engines.postgresql.server import is_gone
from stithy.errors import Exit
from stithy.hosts.processes import find_pids_inside, find_pids_of_run
from stithy.results.layout import RunDirectory
from stithy.run.books import JournalEntry, read_journal
from stithy.run.volumes import KEEPER
from support.forked import Forked

PYTHON = Path(__file__).resolve().parents[2] / "python"
PATIENCE_S = 400.0
QUICK = """import sys
from stithy.hosts import activity
activity.WATCHED_S = 0.05
if {"run", "resume", "block"} & {*sys.argv[1:2]}:
    from stithy.run import deciders, deciding, surroundings
    deciders.Repeats.__call__ = lambda self, so_far: None
    deciding.FUTILE_BLOCKS = 10**9
    surroundings.SPIN_S = surroundings.READ_S = 0.02
"""
"""Stithy as it is, but that it measures no block twice, stops for no invalid ones, and sees only
for a moment what others do and how quick the machine is.
"""

UNDRAWN = """    from stithy.report.page import Page
    Page.drawn = ()
if "report" in sys.argv[1:2]:
    from stithy.report import write
    write.draw.draw_svg = lambda *_: ""
    write._write_figure = lambda *_: None
"""
"""The report that a run ends with has no figures, a later one their words and tables: drawing takes
most of the time.
"""

START = """from stithy.cli.app import main
main()
"""


WAREHOUSE, ROWS = "name: order-entry, warehouses: 1", "name: oltp, tables: 1, rows: 1000"
"""What users work on: 110 MB, and next to nothing."""


def write_study(
    path: Path,
    candidates: Mapping[str, Path | str],
    *,
    users: Sequence[int] | None = (1, 2),
    duration: str = "2 s",
    settings: Mapping[str, str] | None = None,
    load: Mapping[str, str] | None = None,
    workload: str = "",
    data: str = WAREHOUSE,
    thresholds: Sequence[str] = (),
    primary: str = "",
    vary: str = "",
    scenario: str = "",
    restore: str = "files",
) -> Path:
    """A study of a block a level; without ramp-up and calibration.

    Its users pause, so that they leave the CPUs to others. `load` may say otherwise; a value of ""
    takes a key out. `workload`: more of its keys. `users` None lists no levels. `data`: ROWS where
    it does not matter what they work on, as loading, copying and checking a warehouse takes longer.

    A candidate is a directory, or what stands after its name in the file.
    """
    chosen = {"shared_buffers": "32MB", "max_wal_size": "64MB", **(settings or {})}
    keys = {
        "users": str(list(users)) if users else "", "ramp_up": "0 s", "duration": duration,
        "calibrate": "false", "repeat": "1", "pace": "{think: 10 ms}", **(load or {}),
    }  # fmt: skip
    if "rate" in keys:
        del keys["pace"]
    lines = [
        "study: Does it work?\ncandidates:",
        *(f"  {name}: {_candidate(place)}" for name, place in candidates.items()),
        f"database:\n  engine: postgresql\n  memory: 192 MiB\n  restore: {restore}",
        "  settings: {" + ", ".join(f"{k}: {v}" for k, v in chosen.items()) + "}",
        f"workload: {{{data}{workload and ', '}{workload}}}\nload:",
        *(f"  {k}: {v}" for k, v in keys.items() if v),
        *([f"vary: {vary}"] if vary else []),
        *([f"scenario: {scenario}"] if scenario else []),
        *([f"primary: {primary}"] if primary else []),
        *(["thresholds:"] if thresholds else []),
        *(f"  - {text}" for text in thresholds),
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def _candidate(place: Path | str) -> str:
    return place if isinstance(place, str) else f"{{path: {place}}}"


@dataclass
class Stithy:
    """Starts `stithy` with a state directory of its own; `prefix` is put before its words.

    `repeats`: blocks with an invalid window are measured once more. Beside other tests that would
    be nearly all, and prove nothing more. `draws`: a run draws the figures of its report. `waits`:
    blocks wait for a quiet machine, which beside other tests none is. `environment`: what is other
    than for the tests.
    """

    state: Path
    prefix: Sequence[str] = ()
    repeats: bool = False
    draws: bool = False
    waits: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, *words: str | Path) -> subprocess.Popen[str]:
        """Start a command and return at once."""
        own = {"STITHY_STATE": str(self.state), "PYTHONPATH": str(PYTHON)}
        environment = {**os.environ, **own, **self.environment}
        quick = QUICK + ("" if self.draws else UNDRAWN) + START
        program = ("-m", "stithy") if self.repeats else ("-c", quick)
        measures = words[:1] in (("run",), ("resume",), ("block",))
        hurry = () if self.waits or not measures else ("--no-wait",)
        shown = [*map(str, words), *hurry]
        if self.prefix or self.repeats or "STITHY_PLUGINS" in environment:
            command = [*(self.prefix or (sys.executable, *program)), *shown]
            process = Popen(command, stdout=PIPE, stderr=PIPE, text=True, env=environment)
        else:
            process = Forked(shown, quick, environment)
        self.started.append(process)
        return process

    def run(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        process = self.start(*words)
        out, err = process.communicate(timeout=PATIENCE_S)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def run_well(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a command that must go to its end; on a busy machine no window may be valid."""
        done = self.run(*words)
        assert ended_well(done.returncode, done.stderr), done.stdout + done.stderr
        return done

    def finish_well(self, process: subprocess.Popen[str]) -> None:
        """Wait for a command that must go to its end."""
        out, err = process.communicate(timeout=PATIENCE_S)
        assert ended_well(process.returncode, err), out + err

    def assert_nothing_left(self, *outs: Path) -> None:
        """Of these runs, with their mounts, nor of any drive or cluster."""
        left: list[object] = [each for out in outs for each in left_by(out)]
        left += [*self.drives(), *self.registered(), *self.state.glob("clusters/*"),
                 *self.state.glob("bridges/*")]  # fmt: skip
        assert left == []

    def kill(self, moment: Callable[[], object], *words: str | Path) -> None:
        """Start a command, and kill it once that is so."""
        process = self.start(*words)
        wait_for(moment, process)
        process.kill()
        process.communicate()

    def end(self) -> None:
        """End what a failed test left running, and clean where anything is left."""
        for process in self.started:
            process.kill()
            process.communicate()
        if list(self.state.glob("clusters/*")):
            Stithy(self.state).run("cluster", "down", "--all")
        if self.registered() or self.drives() or list(self.state.glob("clusters/*")):
            Stithy(self.state).run("clean")

    def registered(self) -> list[Path]:
        """Runs that the register still holds."""
        return sorted((self.state / "runs").glob("*.jsonl"))

    def drives(self) -> list[Path]:
        """Folders of drives that the register still holds."""
        return sorted(entry.parent for entry in (self.state / "drives").glob(f"*/{ENTRY}"))


def wait_for(condition: Callable[[], Any], process: subprocess.Popen[str]) -> Any:
    """What `condition` gives once it gives something; fails when the process ends before."""
    until_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < until_s:
        if found := condition():
            return found
        if process.poll() is not None:
            out, err = process.communicate()
            raise AssertionError(f"stithy ended with {process.returncode}: {out}\n{err}")
        time.sleep(0.02)
    raise AssertionError("it did not come to that in time")


def entries(out: Path, event: str, **facts: str) -> list[JournalEntry]:
    """The journal's entries of one kind, with these facts among theirs."""
    return [
        entry
        for entry in read_journal(RunDirectory(out).journal)
        if entry.event == event and facts.items() <= entry.facts.items()
    ]


def is_replacing(out: Path, drives: int) -> bool:
    """Whether btrfs replaces a drive of a file system that the journal has on so many."""
    made = entries(out, "creating", kind="mount") if RunDirectory(out).journal.exists() else []
    facts = (each.facts["facts"] for each in made)
    points = {each["path"] for each in facts if len(each["device"].split()) == drives}
    for path in Path("/proc").glob("[0-9]*/cmdline") if points else ():
        with suppress(OSError):  # it has just ended
            words = path.read_text().split("\0")
            if "replace" in words and points & {*words}:
                return True
    return False


def seconds_measured(out: Path, window_id: str) -> int:
    """Seconds that the hammer told so far in a window."""
    try:
        text = RunDirectory(out).window(window_id).hammer_output.read_text()
    except OSError:
        return 0
    return sum('"message":"second"' in line.replace(" ", "") for line in text.splitlines())


def measures(out: Path) -> bool:
    """Whether users work, or worked, in any window."""
    windows = RunDirectory(out).windows
    names = [each.name for each in windows.iterdir()] if windows.is_dir() else []
    return any(seconds_measured(out, name) for name in names)


def window_row(out: Path, window_id: str) -> dict[str, Any]:
    """The row of one window, with that of its load."""
    of = RunDirectory(out).window(window_id)
    window, load = (pl.read_parquet(of.table(name)) for name in ("window", "load"))
    return window.join(load, on="window_id", how="left").row(0, named=True)


def manifest(out: Path) -> dict[str, Any]:
    """The manifest of a run."""
    loaded: dict[str, Any] = json.loads(RunDirectory(out).manifest.read_text())
    return loaded


def ended_well(code: int | None, stderr: str) -> bool:
    """Whether a run went to its end; where the machine is busy, no window of it may be valid."""
    errors = any(line.startswith("error: ") for line in stderr.splitlines())
    return code == Exit.OK or (code == Exit.INVALID and not errors)


def hammer_of(out: Path) -> int:
    """Process id of the hammer of a run."""
    [first] = entries(out, "run-started")
    names = {pid: Path(f"/proc/{pid}/comm") for pid in find_pids_of_run(first.facts["run_id"])}
    [found] = [pid for pid, comm in names.items() if comm.read_text().startswith("stithy-hammer")]
    return found


def left_by(out: Path, *, but_master: bool = False) -> list[str]:
    """Everything that a run made, by its own journal, and that is still there.

    `but_master`: without the master copies, which stay for a resume.
    """
    [first] = entries(out, "run-started")
    left = [f"process {pid}" for pid in find_pids_of_run(first.facts["run_id"])]
    for entry in entries(out, "creating"):
        kind, facts = entry.facts["kind"], entry.facts["facts"]
        if is_there(kind, facts) and not (but_master and facts.get("candidate") == KEEPER):
            left.append(f"{kind} {facts}")
    return left


def is_there(kind: str, facts: Mapping[str, str]) -> bool:
    """Whether a thing of the journal still exists."""
    match kind:
        case "directory" | "scratch" | "cgroup" | "io-group" | "image":
            return Path(facts["path"]).exists()
        case "drive" | "bridge" | "cluster":
            return Path(facts["folder"]).exists()
        case "rbd-image":
            words = ["rbd", "-c", facts["conf"], "--id", facts["user"], "ls", facts["pool"]]
            listed = subprocess.run(words, capture_output=True, text=True, check=True)
            return facts["image"] in listed.stdout.split()
        case "link":
            return Path("/sys/class/net", f"sl{facts['tag']}").exists()
        case "mark":
            return (Path(facts["path"]) / ".stithy.json").exists()
        case "tree":
            return (Path(facts["volume"]) / facts["name"]).exists()
        case "server":
            return bool(find_pids_inside(Path(facts["data"]), facts["program"]))
        case "shared-memory":
            return not is_gone(facts)
        case "mount":
            return is_mounted(Path(facts["path"]))
        case "md":
            return Path("/sys/block", Path(facts["device"]).name, "md").exists()
        case "lvm" | "lvm-cached":
            names = (each.read_text() for each in Path("/sys/block").glob("dm-*/dm/name"))
            return any(name.startswith(f"stithy_{facts['uuid'][:8]}-") for name in names)
        case "formatted":
            return read_tag(facts["device"], "UUID") == facts["uuid"]
        case _:
            raise AssertionError(f"a kind without a check: {kind}")
