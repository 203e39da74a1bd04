"""The names of all files of a run directory.

<run>/
  manifest.json                 what was run, on what, with which versions and seed
  study.yaml                    the study file, byte for byte
  journal.jsonl                 every step and every thing made, before it is made
  run.log                       events with keys, one JSON object a line
  prepare/hammer.jsonl          raw output of loading; with several datasets each has its name first
  calibration.json              what the driver was shown to keep up with
  calibrate/hammer.jsonl        raw output of finding that out
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
    warm-up.jsonl  check.jsonl  raw output of the passes before and after
    hammer.{response,service,late}.hlog, and hammer.pool-wait.hlog where users share connections
    hammer.ledger               what was meant and acknowledged, where the study wants it
    verify-ledger.jsonl         raw output of comparing it with the database
    <drive>.trace               each request of an emulated drive, where the study wants it
    recovery.log                what a server wrote that was started again for that
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
"""

from dataclasses import dataclass
from pathlib import Path

WINDOWS = "windows"
"""The folder of all window directories."""

AGAINST = "against-"


@dataclass(frozen=True)
class WindowDirectory:
    """The files of one window."""

    root: Path

    @property
    def hammer_output(self) -> Path:
        """Raw messages of the hammer."""
        return self.root / "hammer.jsonl"

    @property
    def hlog_stem(self) -> Path:
        """Stem of the latency logs."""
        return self.root / "hammer"

    @property
    def ledger(self) -> Path:
        """What the users meant to do and what was acknowledged."""
        return self.root / "hammer.ledger"

    @property
    def ledger_output(self) -> Path:
        """Raw messages of the hammer while it compared the ledger with the database."""
        return self.root / "verify-ledger.jsonl"

    @property
    def recovery_log(self) -> Path:
        """What the server wrote when it was started again to compare the ledger."""
        return self.root / "recovery.log"

    @property
    def warm_up_output(self) -> Path:
        """Raw messages of the hammer while warming up."""
        return self.root / "warm-up.jsonl"

    @property
    def check_output(self) -> Path:
        """Raw messages of the quick check after the window."""
        return self.root / "check.jsonl"

    @property
    def server_log(self) -> Path:
        """What the database server wrote during this window."""
        return self.root / "server.log"

    def trace(self, drive: str) -> Path:
        """Each request of one of the candidate's emulated drives."""
        return self.root / f"{drive}.trace"

    def of_tenant(self, name: str) -> "WindowDirectory":
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
    def manifest(self) -> Path:
        """Versions, study, seed, environment."""
        return self.root / "manifest.json"

    @property
    def study(self) -> Path:
        """The study file as it was read."""
        return self.root / "study.yaml"

    @property
    def journal(self) -> Path:
        """The append-only record of steps and of things made."""
        return self.root / "journal.jsonl"

    @property
    def log(self) -> Path:
        """Events with keys."""
        return self.root / "run.log"

    def prepare_output(self, dataset: str | None = None) -> Path:
        """Raw messages of the hammer while loading; `dataset` is named where there are several."""
        name = f"{dataset}.hammer.jsonl" if dataset else "hammer.jsonl"
        return self.root / "prepare" / name

    def restore_output(self, candidate: str) -> Path:
        """Raw messages of the hammer while a candidate was last loaded for a window."""
        return self.root / "restore" / f"{candidate}.hammer.jsonl"

    @property
    def calibration(self) -> Path:
        """The highest rate and number of users with which the driver stayed on time."""
        return self.root / "calibration.json"

    @property
    def calibrate_output(self) -> Path:
        """Raw messages of the hammer while calibrating."""
        return self.root / "calibrate" / "hammer.jsonl"

    @property
    def baseline_output(self) -> Path:
        """Raw messages of the hammer from all baseline checks."""
        return self.root / "baseline" / "hammer.jsonl"

    def check_output(self, candidate: str, when: str) -> Path:
        """Raw messages of a full check; `when` is `load` or `end`, or a step's own."""
        return self.root / "check" / f"{candidate}.{when}.jsonl"

    def table(self, name: str) -> Path:
        """A Parquet table of the whole run, by the name of its `tables.Table`."""
        return self.root / "tables" / f"{name}.parquet"

    @property
    def drives(self) -> Path:
        """What emulated drives write about themselves, for as long as they are up."""
        return self.root / "drives"

    @property
    def master_copy(self) -> Path:
        """The directory of the master copy, which is there while the run goes on."""
        return self.root / "master-copy"

    @property
    def windows(self) -> Path:
        """Parent of all window directories."""
        return self.root / WINDOWS

    def window(self, window_id: str) -> WindowDirectory:
        """The directory of one window."""
        return WindowDirectory(self.windows / window_id)

    def cut_off(self, session: int, window_id: str) -> Path:
        """What session `session`, counted from 1, wrote of a window before it was cut off."""
        return self.root / "cut-off" / str(session) / window_id

    @property
    def sensitivity(self) -> Path:
        """Runs with varied drive profiles; it is there where they were asked for."""
        return self.root / "sensitivity"

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

    @property
    def page(self) -> Path:
        """The report as a page."""
        return self.report_as("html")

    def report_as(self, name: str) -> Path:
        """The report in a format; `name` is that of the format."""
        return self.root / f"report.{name}"

    @property
    def report(self) -> Path:
        """Figures and tables of the report."""
        return self.root / "report"
