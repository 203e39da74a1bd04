"""A synthetic run directory: plausible curves in every table, drawn from a seed, no server needed.

Two candidates by default: the first behaves like a disk that saturates, the second like memory.
Every number follows from the arguments, so two calls with equal arguments write equal tables.
"""

import fcntl
import hashlib
import json
import math
import os
import random
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import polars as pl

from stithy.activities.hammer.declared import LOAD
from stithy.activity import list_every_table
from stithy.collectors.collector import Collector
from stithy.point import Point
from stithy.pricing.keys import Pricing
from stithy.registry import plugins
from stithy.results import tables
from stithy.results.comparability import check_comparable, make_comparability_key
from stithy.results.files import list_window_tables, write_frame, write_json, write_table
from stithy.results.layout import RunDirectory
from stithy.results.manifest import (
    CalibrationFacts,
    CandidateFacts,
    DatabaseFacts,
    End,
    Fact,
    LimitFacts,
    LoadFacts,
    Manifest,
    MemoryFacts,
    PlanFacts,
    QuestionFacts,
    SearchFacts,
    SessionFacts,
    WorkloadFacts,
    hash_text,
)
from stithy.thresholds import Threshold
from support.places import quick_parent
from support.sample_conditions import condition, full_checks
from support.sample_drives import drive_rows, sample_drive
from support.sample_ledger import finding_rows, ledger_rows
from support.sample_logs import write_logs

START_S = 1_800_000_000.0
TRANSACTIONS = {
    "new-order": 0.45, "payment": 0.43, "order-status": 0.04, "delivery": 0.04, "stock-level": 0.04,
}  # fmt: skip
"""Close to the workload's mix; in windows of minutes the difference would be a contradiction."""

SLOWNESS = {
    "new-order": 1.0, "payment": 0.6, "order-status": 0.3, "delivery": 2.2, "stock-level": 1.4,
}  # fmt: skip
STATES = ("user", "system", "nice", "irq", "iowait", "idle", "steal")
CURVES = ("block", "cgroup", "cpu", "database", "pressure")
"""The collectors whose samples are made up with care; the others have a value each."""

Row = dict[str, Any]

_PREFIX = "stithy-made-runs-"
_MADE = TemporaryDirectory(prefix=_PREFIX, dir=quick_parent())
"""Made-up runs by a digest of their shape; removed when the program ends."""


def _locked(folder: str | Path, age_s: float = 0.0) -> bool:
    """Whether the folder has this age, and this program has it for itself from now on."""
    try:
        if time.time() - Path(folder).stat().st_mtime < age_s:
            return False  # another program may be about to lock it
        fcntl.flock(os.open(folder, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False  # another program has it, or it is just gone
    return True


_locked(_MADE.name)
for _left in quick_parent().glob(f"{_PREFIX}*"):
    # Of a program that was killed before it could remove them.
    if _locked(_left, age_s=60.0):
        shutil.rmtree(_left, ignore_errors=True)


@dataclass(frozen=True)
class Shape:
    """What kind of run is built; every field has a usual value."""

    question: str = "Does this database feel the difference between disk and memory?"
    candidates: tuple[str, ...] = ("disk", "memory")
    users: tuple[int, ...] = (1, 4, 13)
    repeat: int = 1
    ramp_up_s: int = 5
    duration_s: int = 20
    series: bool = True
    logs: bool = False
    memory_limit_enforced: bool = True
    memory_limit_note: str | None = None
    left_out: frozenset[str] = frozenset()
    mix: Mapping[str, float] = field(default_factory=lambda: TRANSACTIONS)
    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    surroundings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    baselines: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    load: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    waiting: int = 0
    seed: int = 1
    end: End = "finished"
    end_because: str | None = None
    calibration: CalibrationFacts = CalibrationFacts(connections=13, rate_per_s_max=12_000.0)
    ledger: bool = False
    lost: Mapping[str, int] = field(default_factory=dict)
    drives: Mapping[str, float] = field(default_factory=dict)
    thresholds: tuple[Threshold, ...] = ()
    primary: QuestionFacts | None = None
    search: SearchFacts | None = None
    limit: LimitFacts | None = None
    pricing: Pricing | None = None
    null: bool = False
    skipped: frozenset[str] = frozenset()
    sessions: tuple[SessionFacts, ...] = ()
    again: frozenset[tuple[int, int]] = frozenset()
    think_s: float = 0.0
    pool: int | None = None
    planned: tuple[int, ...] = ()


def window_id(candidate: str, users: int, block: int, attempt: int = 0) -> str:
    """The id of a window, as the plan makes it."""
    return f"w-{candidate}-u{users}-b{block}{'-again' if attempt else ''}"


def build_run(directory: Path, shape: Shape | None = None) -> RunDirectory:
    """Write a whole run to `directory`; `shape.left_out` windows exist in no table.

    `shape.changes` maps a window's id to columns of its `window` row that are replaced,
    `shape.surroundings` and `shape.baselines` the same of those tables, `shape.lost` to how many
    orders its ledger misses. `shape.drives` maps a candidate on an emulated drive to the share of
    answers that were late. `shape.again` are the blocks, each a level and its number, that were
    measured once more. `shape.logs`: whether windows have latency logs, which take a while.
    A run of one shape is made once a session; this is a copy of it, which may be changed.
    `shape.pool`: so many connections are shared by all users, who pause for `shape.think_s`.
    """
    shutil.copytree(_made(shape or Shape()), directory, dirs_exist_ok=True)
    return RunDirectory(directory)


def rewrite(path: Path, frame: pl.DataFrame) -> None:
    """Write a table of a run again with other rows, as Stithy would have written them."""
    [table] = [each for each in list_every_table() if each.name == path.stem]
    write_frame(path, table, frame)


def _made(shape: Shape) -> Path:
    """The run of a shape, for reading only."""
    name = hashlib.sha256(repr(shape).encode()).hexdigest()
    if not (found := Path(_MADE.name, name)).exists():
        with patch("os.fsync"):  # half of the time, and no made-up run must outlive a power cut
            _build(half := found.with_suffix(".part"), shape)
        half.rename(found)
    return found


def _build(directory: Path, shape: Shape) -> None:
    run = RunDirectory(directory)
    directory.mkdir(parents=True, exist_ok=True)
    write_json(run.manifest, manifest(shape))
    run.study.write_text(study_text(shape))
    run.journal.write_text("")
    restores: list[Row] = []
    baselines: list[Row] = []
    for order, (users, block, attempt, candidate) in enumerate(_windows(shape)):
        name = window_id(candidate, users, block, attempt)
        if name in shape.left_out:
            continue
        if order % len(shape.candidates) == 0:
            baselines.append(_baseline(shape, name, (users, block, attempt), order))
        restores.append(_restore(name, candidate, order))
        _write_window(run, shape, _Place(name, candidate, users, block, attempt, order))
    _write(run.table("restores"), tables.RESTORES, restores)
    _write(run.table("baseline"), tables.BASELINE, baselines)
    _write(run.table("conditions"), tables.CONDITIONS, full_checks(shape.candidates))


@dataclass(frozen=True)
class _Place:
    """One window and its turn in the run."""

    window_id: str
    candidate: str
    users: int
    block: int
    attempt: int
    order: int


def _windows(shape: Shape) -> list[tuple[int, int, int, str]]:
    draw = random.Random(shape.seed)
    blocks = []
    order: list[str] = []
    for users in shape.users:
        for block in range(shape.repeat):
            fresh = list(shape.candidates)
            draw.shuffle(fresh)
            # Reversed in each second block, as planned orders are.
            order = order[::-1] if block % 2 else fresh
            for attempt in range(2 if (users, block) in shape.again else 1):
                blocks += [(users, block, attempt, candidate) for candidate in order]
    return blocks


def study_text(shape: Shape) -> str:
    """The study file of the run."""
    candidates = "".join(
        f"  {json.dumps(name, ensure_ascii=False)}: {{path: /var/tmp/stithy-{index}}}\n"
        for index, name in enumerate(shape.candidates)
    )
    return (
        f"study: {json.dumps(shape.question, ensure_ascii=False)}\ncandidates:\n{candidates}"
        "database:\n  engine: postgresql\n  memory: 1 GiB\n  settings: {shared_buffers: 384MB}\n"
        "workload: {name: order-entry, warehouses: 10}\n"
        f"load:\n  users: {list(shape.users)}\n  ramp_up: {shape.ramp_up_s} s\n"
        f"  duration: {shape.duration_s} s\n  repeat: {shape.repeat}\nseed: {shape.seed}\n"
    )


def manifest(shape: Shape) -> Manifest:
    """The manifest of the run, finished."""
    options = {
        "users_per_warehouse": None, "delivery": "awaited", "profile": "specification",
        "procedures": True, **shape.options,
    }  # fmt: skip
    workload = WorkloadFacts(name="order-entry", size={"warehouses": 10}, options=options)
    load = LoadFacts(
        users=shape.users, pace="think" if shape.think_s else "none",
        think_s=shape.think_s or None, connections=shape.pool, ramp_up_s=shape.ramp_up_s,
        duration_s=shape.duration_s, repeat=shape.repeat, checkpoint=True,
        isolation="read-committed", error_limit=100, ledger=shape.ledger,
    ).model_copy(update=dict(shape.load))  # fmt: skip
    database = DatabaseFacts(
        engine="postgresql", settings={"shared_buffers": "384MB"}, server_version="15.13",
        restore="files",
        effective_settings={"shared_buffers": "384MB", "fsync": "on", "max_wal_size": "1GB",
                            **shape.settings},
    )  # fmt: skip
    memory = MemoryFacts(
        limit_bytes=2**30, enforced=shape.memory_limit_enforced, note=shape.memory_limit_note
    )
    parts = check_comparable("load", workload, load, database, memory, "0.1.0")
    windows = [window_id(name, users, block, n) for users, block, n, name in _windows(shape)]
    further = tuple(each for each in windows if each.endswith("-again"))
    return Manifest(
        stithy_version="0.1.0", hammer_version="stithy-hammer 0.1.0", question=shape.question,
        study_file="sample.yaml", study_sha256=hash_text(study_text(shape)), seed=shape.seed,
        comparability_key=make_comparability_key(parts), comparability=parts, workload=workload,
        load=load, database=database, memory=memory, calibration=shape.calibration,
        plan=PlanFacts(
            windows=tuple(each for each in windows if each not in further), further=further,
            points=tuple(Point.of(users=users) for users in shape.planned),
            master_candidate=shape.candidates[0],
            question=shape.primary, search=shape.search, limit=shape.limit,
            null=shape.null,
            skipped=tuple(sorted(shape.skipped)),
        ),
        candidates=tuple(_candidate(shape, index) for index in range(len(shape.candidates))),
        environment=_environment(), started_at_s=START_S,
        ended_at_s=START_S + 100.0 * len(windows), end=shape.end,
        end_because=shape.end_because, thresholds=shape.thresholds, cost=shape.pricing,
        sessions=shape.sessions,
    )  # fmt: skip


def _candidate(shape: Shape, index: int) -> CandidateFacts:
    fast = index % 2 == 1
    return CandidateFacts(
        name=shape.candidates[index], provider="path", path=f"/var/tmp/stithy-{index}",
        filesystem="tmpfs" if fast else "ext4", mount_point="/dev/shm" if fast else "/",
        mount_options="rw,relatime", devices=() if fast else ("vda",), memory_backed=fast,
        master=index == 0,
        drives=(sample_drive(),) if shape.candidates[index] in shape.drives else (),
        effective_settings={},
    ).model_copy(update=dict(shape.own.get(shape.candidates[index], {})))  # fmt: skip


def _environment() -> dict[str, Fact]:
    return {
        "cpu_model": Fact(value="Example CPU"),
        "cpus": Fact(value=2),
        "memory_bytes": Fact(value=2**33),
        "kernel": Fact(value="6.1.0"),
        "cpu_governor": Fact(value=None, missing_because="no cpufreq on this machine"),
    }


def _write_window(run: RunDirectory, shape: Shape, place: _Place) -> None:
    draw = random.Random(f"{shape.seed}/{place.window_id}")
    where = run.window(place.window_id)
    where.root.mkdir(parents=True)
    load = _Load(shape, place, draw)
    row = {**load.window_row(), **shape.changes.get(place.window_id, {})}
    for table in (tables.WINDOW, LOAD):
        own = {column.name: row[column.name] for column in table.columns}
        _write(where.table(table.name), table, [own])
    if row["missing_because"] is not None:
        for table in {*list_window_tables(), tables.SERIES} - {tables.WINDOW, LOAD}:
            _write(where.table(table.name), table, [])
        return
    times, seconds = load.transaction_rows(), load.second_rows()
    _write(where.table("transactions"), tables.TRANSACTIONS, times)
    _write(where.table("seconds"), tables.SECONDS, seconds)
    for table in (tables.VALUES, tables.SPANS):
        _write(where.table(table.name), table, [])
    if shape.logs:
        write_logs(where.hlog_stem, seconds, times, f"{shape.seed}/{place.window_id}")
    series = load.series_rows() if shape.series else []
    _write(where.table("series"), tables.SERIES, series)
    _write(where.table("conditions"), tables.CONDITIONS, load.condition_rows())
    around = {**load.surroundings_row(), **shape.surroundings.get(place.window_id, {})}
    _write(where.table("surroundings"), tables.SURROUNDINGS, [around])
    late_share = shape.drives.get(place.candidate)
    used = [] if late_share is None else drive_rows(place.window_id, late_share)
    _write(where.table("drives"), tables.DRIVES, used)
    lost = shape.lost.get(place.window_id, 0)
    kept = ledger_rows(place.window_id, row["headline_committed"], lost) if shape.ledger else []
    _write(where.table("ledger"), tables.LEDGER, kept)
    findings = finding_rows(place.window_id, lost)
    _write(where.table("ledger_findings"), tables.LEDGER_FINDINGS, findings)


class _Load:
    """The numbers of one window, from a small closed queueing model."""

    def __init__(self, shape: Shape, place: _Place, draw: random.Random) -> None:
        self.shape, self.place, self.draw = shape, place, draw
        index = shape.candidates.index(place.candidate)
        peak, alone = ((180.0, 45.0), (540.0, 160.0))[index % 2]
        noise = draw.gauss(1.0, 0.01)
        # Throughput of a closed loop: rises with the users, bends at the candidate's peak.
        self.rate = noise * peak * (1 - math.exp(-alone * place.users / peak))
        self.response_s = place.users / self.rate - shape.think_s
        self.connections = shape.pool or place.users
        served_s = self.connections / self.rate
        self.service_share = 0.95 if shape.pool is None else min(0.95, served_s / self.response_s)
        self.busy = min(0.98, self.rate / peak)
        self.fast = index % 2 == 1
        self.started_at_s = START_S + place.order * 100.0

    @property
    def _all(self) -> int:
        return round(self.rate * self.shape.duration_s)

    def counts(self) -> dict[str, tuple[int, int]]:
        """Committed and rolled back by transaction type, exact in their sum with `all`."""
        done = {name: round(self._all * share) for name, share in self.shape.mix.items()}
        back = {name: round(n * 0.01) if name == "new-order" else 0 for name, n in done.items()}
        return {name: (n - back[name], back[name]) for name, n in done.items()}

    def window_row(self) -> Row:
        """The row of the `window` table, of a window in which all is well; null where not said."""
        shape, place = self.shape, self.place
        counts = self.counts()
        minutes = shape.duration_s / 60
        total = sum(c + b for c, b in counts.values())
        whole = round(total * (shape.duration_s + shape.ramp_up_s) / shape.duration_s)
        orders = round(whole * 0.4455)
        begin = self.started_at_s + shape.ramp_up_s
        return dict.fromkeys(each.name for each in LOAD.columns) | {
            "window_id": place.window_id, "candidate": place.candidate, "activity": "hammer",
            "point": f"users={place.users}", "users": place.users,
            "block": place.block, "tried": False, "attempt": place.attempt,
            "position": place.order % len(shape.candidates),
            "pace": "think" if shape.think_s else "none", "think_mean_s": shape.think_s or None,
            "rate_per_s": None, "options": "profile=specification, procedures=true",
            "suppressed_arrivals": 0, "backlog": 0, "connections_opened": self.connections,
            "connections_lost": 0, "connections_reopened": 0, "first_success_s": None,
            "gap_s": 0.02, "gap_from_s": begin + 1, "user_gap_p50_s": 0.1, "user_gap_p99_s": 0.2,
            "user_gap_max_s": 0.25, "units_touched": 10, "units_total": 10,
            "database_bytes": 11 * 10**8,
            "buffer_pool_bytes": 384 * 2**20, "driver_nice": -10,
            "longest_response_s": self.response_s * 22,
            "started_at_s": self.started_at_s, "measure_from_s": begin,
            "measure_to_s": begin + shape.duration_s, "complete": True, "missing_because": None,
            "headline_committed": counts["new-order"][0], "transactions": total,
            "headline_per_min": counts["new-order"][0] / minutes,
            "headline_per_s": counts["new-order"][0] / (60 * minutes), "tpm": total / minutes,
            "errors": 0, "errors_expected": 0, "error_text": None, "retries": place.users // 4,
            "lateness_mean_s": 10e-6, "lateness_p99_s": 30e-6,
            "service_p50_s": self.response_s * 0.7,
            "driver_rate_per_s_max": shape.calibration.rate_per_s_max, "driver_users_max": None,
            "driver_others_share": shape.calibration.others_share,
            "ledger_acknowledged": 2 * counts["new-order"][0] if shape.ledger else None,
            "ledger_sync_max_s": None, "ledger_problem": None,
            "ledger_unverified_because": None, "ledger_shares": None,
            "driver_cpu_s": total * 15e-6, "driver_run_queue_s": total * 2e-6,
            "proof_before": 300_100, "proof_after": 300_100 + orders,
            "headline_acknowledged": orders, "headline_in_doubt": 0,
            "headline_in_doubt_found": 0, "client_commits": whole, "client_rollbacks": 7,
            "server_commits": whole + 14 + 2 * self.connections, "server_rollbacks": 7,
            "checkpoints_inside": 1, "maintenance_runs": 0, "server_cpus": None,
            "memory_limit_enforced": shape.memory_limit_enforced,
            "memory_limit_bytes": shape.own.get(place.candidate, {}).get(
                "memory_limit_bytes", 2**30),
            "memory_limit_note": shape.memory_limit_note,
            "memory_peak_bytes": 900 * 2**20, "checkpoint_before": "forced",
            "restore_s": 14.0 + place.order, "warm_up_s": 2.5,
        }  # fmt: skip

    def _times(self, middle_s: float) -> Row:
        return {
            "mean_s": middle_s, "min_s": middle_s * 0.2, "p50_s": middle_s * 0.8,
            "p90_s": middle_s * 1.7, "p95_s": middle_s * 2.1, "p99_s": middle_s * 4.0,
            "p999_s": middle_s * 9.0, "max_s": middle_s * 20.0,
        }  # fmt: skip

    def transaction_rows(self) -> list[Row]:
        """Rows of the `transactions` table, the merged one last."""
        counts = self.counts()
        total = (sum(c for c, _ in counts.values()), sum(b for _, b in counts.values()))
        mean = sum(SLOWNESS[name] * share for name, share in self.shape.mix.items())
        rows = []
        for name, (committed, back) in {**counts, "all": total}.items():
            middle = self.response_s * SLOWNESS.get(name, mean) / mean
            times = self._times(middle)
            rows.append({
                "window_id": self.place.window_id, "transaction": name, "committed": committed,
                "rolled_back": back, "errors": 0, "retries": 0,
                **{f"response_{key}": value for key, value in times.items()},
                **{f"service_{key}": value * self.service_share for key, value in times.items()},
                **{f"pool_wait_{key}": value * (1 - self.service_share) if self.shape.pool else None
                   for key, value in times.items()},
            })  # fmt: skip
        return rows

    def second_rows(self) -> list[Row]:
        """Rows of the `seconds` table: ramp-up, then measurement, with a dip at the checkpoint."""
        rows = []
        for second in range(self.shape.ramp_up_s + self.shape.duration_s):
            dip = 0.6 if second == self.shape.ramp_up_s + self.shape.duration_s // 2 else 1.0
            pace = dip * self.draw.uniform(0.94, 1.06)
            for name, share in {**self.shape.mix, "all": 1.0}.items():
                middle = self.response_s / pace * SLOWNESS.get(name, 0.96)
                rows.append({
                    "window_id": self.place.window_id, "second": second,
                    "at_s": self.started_at_s + second,
                    "phase": "ramp-up" if second < self.shape.ramp_up_s else "measure",
                    "transaction": name, "committed": round(self.rate * share * pace),
                    "rolled_back": 0, "errors": 0, "retries": 0,
                    "waiting": self.shape.waiting if name == "all" else None,
                    "response_p50_s": middle * 0.8, "response_p95_s": middle * 2.1,
                    "response_p99_s": middle * 4.0,
                })  # fmt: skip
        return rows

    def series_rows(self) -> list[Row]:
        """Rows of the `series` table from every collector; memory has no block device."""
        rows: list[Row] = []
        whole = {"window_id": self.place.window_id, "instance": ""}
        if self.fast:
            rows.append({
                **whole, "at_s": self.started_at_s, "second": 0.0, "collector": "block",
                "subject": "", "metric": "reads_per_s", "unit": "1/s", "value": None,
                "missing_because": "no block device lies under the volumes",
            })  # fmt: skip
        for second in range(self.shape.ramp_up_s + self.shape.duration_s):
            for collector, subject, metric, unit, value in self._samples(second):
                rows.append({
                    **whole, "at_s": self.started_at_s + second + 1,
                    "second": float(second + 1), "collector": collector, "subject": subject,
                    "metric": metric, "unit": unit, "value": value, "missing_because": None,
                })  # fmt: skip
        return rows

    def _samples(self, second: int) -> list[tuple[str, str, str, str, float]]:
        wobble = self.draw.uniform(0.95, 1.05)
        user, system = 0.5 * self.busy * wobble, 0.2 * self.busy * wobble
        iowait = 0.0 if self.fast else 0.25 * self.busy
        shares = (user, system, 0.0, 0.01, iowait, max(0.0, 0.99 - user - system - iowait), 0.0)
        samples = [
            ("cpu", "", f"{state}_share", "", share)
            for state, share in zip(STATES, shares, strict=True)
        ]
        if not self.fast:
            samples += self._device_samples(wobble)
        begun_s = self.started_at_s + self.shape.ramp_up_s + self.shape.duration_s // 2 - 1.5
        late = second > self.shape.ramp_up_s + self.shape.duration_s // 2
        samples += [
            ("pressure", "cpu", "some_share", "", 0.6 * self.busy),
            ("pressure", "io", "some_share", "", 0.0 if self.fast else 0.5 * self.busy),
            ("pressure", "memory", "some_share", "", 0.01),
            ("cgroup", "", "used_bytes", "B", 2**30 * 0.9 * wobble),
            ("cgroup", "", "page_cache_bytes", "B", 2**30 * 0.4 * wobble),
            ("database", "", "last_checkpoint_at_s", "s", begun_s if late else begun_s - 60),
            ("database", "", "log_syncs_per_s", "1/s", self.rate * 0.8 * wobble),
            *self._session_samples(),
            ("database", "", "log_bytes_per_s", "B/s", self.rate * 4000 * wobble),
            ("database", "", "blocks_read_per_s", "1/s", self.rate * 3 * wobble),
        ]
        return samples + _without_curve(wobble)

    def _session_samples(self) -> list[tuple[str, str, str, str, float]]:
        """Active sessions: half of them wait for reads and the log's syncs, a fifth for the log."""
        active = self.busy * self.connections
        types = {"CPU": 0.3, "IO": 0.5, "LWLock": 0.2}
        events = {"CPU": 0.3, "IO:DataFileRead": 0.3, "IO:WALSync": 0.2, "LWLock:WALWrite": 0.2}
        return [
            ("database", "", "active_sessions", "", active),
            *(("database", n, "waiting_sessions", "", active * p) for n, p in types.items()),
            *(("database", n, "waiting_sessions_by_event", "", active * p)
              for n, p in events.items()),
        ]  # fmt: skip

    def _device_samples(self, wobble: float) -> list[tuple[str, str, str, str, float]]:
        return [
            ("block", "vda", "reads_per_s", "1/s", self.rate * 2 * wobble),
            ("block", "vda", "writes_per_s", "1/s", self.rate * 3 * wobble),
            ("block", "vda", "flushes_per_s", "1/s", self.rate * wobble),
            ("block", "vda", "read_bytes_per_s", "B/s", self.rate * 2 * 8192 * wobble),
            ("block", "vda", "write_bytes_per_s", "B/s", self.rate * 3 * 8192 * wobble),
            ("block", "vda", "read_latency_s", "s", 0.0008 * (1 + self.busy) * wobble),
            ("block", "vda", "write_latency_s", "s", 0.0014 * (1 + self.busy) * wobble),
            ("block", "vda", "flush_latency_s", "s", 0.003 * (1 + self.busy) * wobble),
            ("block", "vda", "queue_length", "", 4 * self.busy * wobble),
            ("block", "vda", "utilisation_share", "", self.busy),
        ]

    def surroundings_row(self) -> Row:
        """The row of a window beside which nothing happened."""
        return {
            "window_id": self.place.window_id, "span_s": self.shape.duration_s + 5.0, "cpus": 2,
            "others_cpu_s": 0.1, "others_bytes": 4096, "others_here_bytes": 4096,
            "others_names": "cron", "disks_bytes": 2**30, "idle_bytes": 8192,
            "idle_names": "memory", "log_bytes": 2**26, "pages_written": None, "log_files_made": 0,
            "checkpoint_after_s": 300.0, "checkpoint_after_bytes": 2**28,
            "memory_limit_lost": None,
        }  # fmt: skip

    def condition_rows(self) -> list[Row]:
        """Rows of the quick check after the window."""
        return [
            condition(self.place.candidate, self.place.window_id, "window", number)
            for number in (1, 2, 3, 4)
        ]


def _without_curve(value: float) -> list[tuple[str, str, str, str, float]]:
    """A value for each metric of all other collectors, so that a figure of a new one is drawn.

    Of other hosts there is none: `support.hosts` has them.
    """
    return [
        (name, "", metric.name, metric.unit, value)
        for name, module in plugins(Collector).items()
        if name not in (*CURVES, "exporters")
        for metric in module.metrics
    ]


def _restore(window: str, candidate: str, order: int) -> Row:
    return {
        "window_id": window, "candidate": candidate, "copy_s": 8.0 + order, "verify_s": 4.0,
        "sync_s": 2.0, "files": 1200, "size_bytes": 2**30, "identical": True,
        "resident_bytes": 0, "resident_note": None,
    }  # fmt: skip


def _baseline(shape: Shape, window: str, turn: tuple[int, int, int], order: int) -> Row:
    """Of a machine that stays as it was; `turn`: level, block and attempt."""
    users, block, attempt = turn
    wobble = random.Random(f"{shape.seed}/baseline/{window}").gauss(1.0, 0.005)
    return {
        "window_id": window, "point": f"users={users}", "block": block, "attempt": attempt,
        "at_s": START_S + order * 100.0 - 20,
        "one_rounds_per_s": 120_000.0 * wobble, "all_rounds_per_s": 230_000.0 * wobble,
        "threads": 2, "reads": 2400, "read_mean_s": 0.000105 / wobble,
        "read_p50_s": 0.0001 / wobble, "read_p99_s": 0.0003, "read_max_s": 0.002,
        "waited_s": 3.0, "busy_because": None,
        "missing_because": None, **shape.baselines.get(window, {}),
    }  # fmt: skip


def _write(path: Path, table: tables.Table, rows: Sequence[Row]) -> None:
    write_table(path, table, rows)
