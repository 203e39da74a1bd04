"""The names of all files of a run directory, and how they reach the disk.

<run>/
  manifest.json                 what was run, on what, with which versions and seed
  study.yaml                    the study file, byte for byte
  journal.jsonl                 every step and every thing made, before it is made
  run.log                       events with keys, one JSON object a line
  prepare/hammer.jsonl          raw output of loading; with several datasets each has its name first
  calibration.json              what the driver was shown to keep up with
  calibrate/hammer.jsonl        raw output of finding that out
  precondition/<dataset>.hammer.jsonl   raw output of users before the master copy is made
  check/<candidate>.<when>.jsonl
  restore/<candidate>.hammer.jsonl   raw output of its last loading for a window, where it had one
  tables/conditions.parquet     consistency conditions outside of windows
  tables/restores.parquet       one row a restore
  tables/baseline.parquet         one row a block: what the machine was like before it
  baseline/hammer.jsonl           raw output of finding that out
  drives/<candidate>.<role>.latency.hlog   latencies of an emulated drive, second by second
  drives/session-<number>/      the same of drives that a resumed run made anew
  windows/<window id>/
    hammer.jsonl                raw output of the hammer
    hammer.<agent>.jsonl        of each agent, where several hosts drove the users
    warm-up.jsonl  check.jsonl  raw output of the passes before and after
    hammer.{response,service,late}.hlog, and hammer.pool-wait.hlog where users share connections
    hammer.ledger               what was meant and acknowledged, where the study wants it
    verify-ledger.jsonl         raw output of comparing it with the database
    <drive>.trace               each request of an emulated drive, where the study wants it
    recovery.log                what a server wrote that was started again for that
    moved-tables.json           checksums of every table at source and target of a migration
    window.parquet  transactions.parquet  seconds.parquet  series.parquet  conditions.parquet
    histograms.parquet          the logs of the measurement merged, for whoever needs no seconds
    ledger.parquet  ledger_findings.parquet  drives.parquet  surroundings.parquet
    server.log
    tenant-<number>/            raw output and logs of one of several instances
  cut-off/<session>/<window id>/   what a session that was cut off wrote of a window measured again
  master-copy/                  what restores need of the loaded database, while the run goes on
  sensitivity/                  there where `stithy run --sensitivity` was asked for
    against-<candidate>/        the primary question, every assumed number against the candidate
      study.yaml  <candidate>.<role>.toml   what is run, and its varied drive profiles
      run/                      a run of its own, with all of the above
  report.{html,pdf,md,json}     the report, in the formats that were asked for
  SHA256SUMS                    checksum of the manifest; the same file beside each folder's tables
  report/                       figures and the tables behind them, regenerated at will

A file is written beside its place, synced, renamed into it, and the directory synced: a crash
leaves the old file or the new one, never a half. Folders are replaced whole in the same way.
Each table, and the manifest, has its SHA-256 in the file `SHA256SUMS` of its folder, as
`sha256sum --check` reads it: a number that may be wrong is not printed.
"""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from stithy.errors import InfrastructureError, give_reason

WINDOWS = "windows"
"""The folder of all window directories."""

AGAINST = "against-"


class _File:
    def __init__(self, *way: str) -> None:
        self._way = way

    def __get__(self, of: "WindowDirectory | RunDirectory", kind: type) -> Path:
        return of.root.joinpath(*self._way)


@dataclass(frozen=True)
class WindowDirectory:
    """The files of one window."""

    root: Path

    hammer_output = _File("hammer.jsonl")
    """Raw messages of the hammer."""

    hlog_stem = _File("hammer")
    """Stem of the latency logs."""

    ledger = _File("hammer.ledger")
    """What the users meant to do and what was acknowledged."""

    ledger_output = _File("verify-ledger.jsonl")
    """Raw messages of the hammer while it compared the ledger with the database."""

    recovery_log = _File("recovery.log")
    """What the server wrote when it was started again to compare the ledger."""

    warm_up_output = _File("warm-up.jsonl")
    """Raw messages of the hammer while warming up."""

    check_output = _File("check.jsonl")
    """Raw messages of the quick check after the window."""

    server_log = _File("server.log")
    """What the database server wrote during this window."""

    def trace(self, drive: str) -> Path:
        """Each request of one of the candidate's emulated drives."""
        return self.root / f"{drive}.trace"

    def of_instance(self, name: str) -> "WindowDirectory":
        """The files of one of several instances that share the candidate."""
        return WindowDirectory(self.root / name)

    def table(self, name: str) -> Path:
        """A Parquet table of this window, by the name of its `tables.Table`."""
        return self.root / f"{name}.parquet"


@dataclass(frozen=True)
class RunDirectory:
    """The files of one run."""

    root: Path

    @property
    def name(self) -> str:
        """What the run is called: `demo`; one of its sensitivity `demo/against-gp3`."""
        root = self.root.resolve()
        main = root.parent.parent.parent
        if root == RunDirectory(main).corner(root.parent.name.removeprefix(AGAINST)) / "run":
            return f"{main.name}/{root.parent.name}"
        return root.name

    manifest = _File("manifest.json")
    """Versions, study, seed, environment."""

    study = _File("study.yaml")
    """The study file as it was read."""

    journal = _File("journal.jsonl")
    """The append-only record of steps and of things made."""

    log = _File("run.log")
    """Events with keys."""

    def prepare_output(self, dataset: str | None = None) -> Path:
        """Raw messages of the hammer while loading; `dataset` is named where there are several."""
        name = f"{dataset}.hammer.jsonl" if dataset else "hammer.jsonl"
        return self.root / "prepare" / name

    def get_precondition_output(self, dataset: str) -> Path:
        """Raw messages of the hammer while users work before the master copy is made."""
        return self.root / "precondition" / f"{dataset}.hammer.jsonl"

    def restore_output(self, candidate: str) -> Path:
        """Raw messages of the hammer while a candidate was last loaded for a window."""
        return self.root / "restore" / f"{candidate}.hammer.jsonl"

    calibration = _File("calibration.json")
    """The highest rate and number of users with which the driver stayed on time."""

    calibrate_output = _File("calibrate", "hammer.jsonl")
    """Raw messages of the hammer while calibrating."""

    baseline_output = _File("baseline", "hammer.jsonl")
    """Raw messages of the hammer from all baseline checks."""

    def check_output(self, candidate: str, when: str) -> Path:
        """Raw messages of a full check; `when` is `load` or `end`, or a step's own."""
        return self.root / "check" / f"{candidate}.{when}.jsonl"

    def table(self, name: str) -> Path:
        """A Parquet table of the whole run, by the name of its `tables.Table`."""
        return self.root / "tables" / f"{name}.parquet"

    drives = _File("drives")
    """What emulated drives write about themselves, for as long as they are up."""

    master_copy = _File("master-copy")
    """The directory of the master copy, which is there while the run goes on."""

    windows = _File(WINDOWS)
    """Parent of all window directories."""

    def list_measured(self) -> tuple[str, ...]:
        """List the windows whose results are written, by name."""
        return tuple(sorted(path.parent.name for path in self.windows.glob("*/window.parquet")))

    def window(self, window_id: str) -> WindowDirectory:
        return WindowDirectory(self.windows / window_id)

    def cut_off(self, session: int, window_id: str) -> Path:
        """What session `session`, counted from 1, wrote of a window before it was cut off."""
        return self.root / "cut-off" / str(session) / window_id

    sensitivity = _File("sensitivity")
    """Runs with varied drive profiles; it is there where they were asked for."""

    def corner(self, candidate: str) -> Path:
        """The folder of the run in which every assumed number is varied against a candidate."""
        return self.sensitivity / f"{AGAINST}{candidate}"

    def corners(self) -> "dict[str, RunDirectory]":
        """Those of these runs that were prepared, by the candidate that they are against."""
        studies = sorted(self.sensitivity.glob(f"{AGAINST}*/study.yaml"))
        return {
            path.parent.name.removeprefix(AGAINST): RunDirectory(path.parent / "run")
            for path in studies
        }

    page = _File("report.html")
    """The report as a page."""

    def report_as(self, name: str) -> Path:
        """The report in a format; `name` is that of the format."""
        return self.root / f"report.{name}"

    report = _File("report")
    """Figures and tables of the report."""


CHECKSUMS = "SHA256SUMS"
"""The file with the checksums of a folder: a line for each file, digest and name."""


def write_with_checksum(path: Path, content: bytes) -> None:
    """The same as `write_durably`, and note the file's checksum beside it.

    The new checksum is added first and the old one removed last, so that a crash in between leaves
    a file that is known, whichever of the two it is.
    """
    lines = _read_checksum_lines(path.parent)
    line = f"{hashlib.sha256(content).hexdigest()}  {path.name}"
    others = [each for each in lines if each.partition("  ")[2] != path.name]
    if line not in lines:
        _write_checksums(path.parent, [*lines, line])
    write_durably(path, content)
    if len(lines) > len(others) and lines != (kept := [*others, line]):
        _write_checksums(path.parent, kept)


def is_as_written(path: Path, content: bytes) -> bool | None:
    """Whether the content has a checksum that was noted for the file; None where none was."""
    known = [line.partition("  ") for line in _read_checksum_lines(path.parent)]
    digests = {digest for digest, _, name in known if name == path.name}
    return hashlib.sha256(content).hexdigest() in digests if digests else None


def _read_checksum_lines(folder: Path) -> list[str]:
    try:
        return (folder / CHECKSUMS).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _write_checksums(folder: Path, lines: Iterable[str]) -> None:
    write_durably(folder / CHECKSUMS, "".join(f"{line}\n" for line in lines).encode())


def write_durably(path: Path, content: bytes) -> None:
    """Put `content` at `path`; makes missing parents.

    Raises InfrastructureError where the file system refuses, such as a full disk.
    """
    write_pieces_durably(path, (content,))


def write_pieces_durably(path: Path, pieces: Iterable[bytes]) -> None:
    """The same of what is too long to be in memory at once."""
    beside = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        with suppress(OSError):  # what refused to be written may refuse to be removed, too
            beside.unlink()
        problem = f"results could not be written: {give_reason(error)}"
        remedy = "make room on that file system or choose another with --out"
        raise InfrastructureError(problem, where=str(path), remedy=remedy) from error
    except BaseException:
        with suppress(OSError):  # who makes the pieces failed, or a person stopped it
            beside.unlink()
        raise


def empty_folder(folder: Path) -> Path:
    """A new folder; whatever an earlier session left in its place is gone."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def sync_directory(path: Path) -> None:
    """Make renames and removals in the directory survive a crash."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def lock_alone(folder: Path) -> Iterator[None]:
    """Hold a folder, made where it is missing, against others who do the same: they wait.

    Raises OSError. Where a file system knows no locks nobody waits.
    """
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def replace_folder(parent: Path, names: Sequence[str]) -> Iterator[Path]:
    """A place to fill folders of these names, which take those of `parent` once all are filled.

    Whoever fails or is stopped on the way leaves the old ones. Raises OSError.
    """
    new, old = parent / ".new", parent / ".old"
    for each in (new, old):
        shutil.rmtree(each, ignore_errors=True)  # of who was killed
    try:
        for name in names:
            (new / name).mkdir(parents=True)
        yield new
        old.mkdir()
        for name in names:
            with suppress(FileNotFoundError):
                (parent / name).rename(old / name)
            (new / name).rename(parent / name)
    finally:
        for each in (new, old):
            shutil.rmtree(each, ignore_errors=True)
