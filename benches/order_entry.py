"""`make bench`: order entry on MariaDB, by procedures and loaded, on one server in one run.

Two figures count: what a transaction costs the driver in CPU, and how long loading takes beside a
raw `LOAD DATA` of the same rows by as many sessions. Writes
`benches/results/<date>-order-entry.json`.
"""

import statistics
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import measurements
from hammer import Line, Load, Reference, Target, say, show, verdict
from kept import keep
from mariadb import SETTINGS, Dump, MariaDb, dump, load_raw, start_mariadb
from measurements import COPIED, DRIVEN, LOADERS, USERS, WAREHOUSES, Drive


@dataclass(frozen=True)
class Effort:
    """How long the bench looks at each thing."""

    loads: int
    rounds: int
    drive_s: int


FULL, QUICK = Effort(loads=4, rounds=6, drive_s=10), Effort(loads=1, rounds=1, drive_s=5)


def main() -> int:
    """Measure, show, keep."""
    quick = "--quick" in sys.argv[1:]
    effort = QUICK if quick else FULL
    with start_mariadb() as mariadb, tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        ((version,),) = mariadb.sql("SELECT version()")
        loads = measure_loads(mariadb, Path(folder), effort)
        drives = measure_drives(mariadb, effort)
        broken = measurements.broken_conditions(mariadb, after_load=False)
    lines = compare(drives, loads)
    errors = sum(drive.errors for drive in drives)
    show(lines, errors, broken)
    if not quick:
        facts = {
            "mariadb": version, "settings": SETTINGS, "users": USERS, "warehouses": WAREHOUSES,
            "effort": asdict(effort),
        }  # fmt: skip
        table = [asdict(line) | {"ratio": line.ratio, "met": line.met} for line in lines]
        keep("order-entry", facts, {"table": table, "drives": drives, "loads": loads})
    return verdict(lines, errors, broken)


def measure_loads(mariadb: MariaDb, folder: Path, effort: Effort) -> list[Load]:
    """Both ways in turns, each first every other time; the hammer's rows are left."""
    say("load", "the hammer loads, which is not counted")
    measurements.prepare(mariadb)
    if broken := measurements.broken_conditions(mariadb, after_load=True):
        raise SystemExit(f"after loading, conditions {broken} do not hold")
    rows = dump(mariadb, DRIVEN, folder)
    return [_load_twice(mariadb, rows, turn, effort) for turn in range(effort.loads)]


def _load_twice(mariadb: MariaDb, rows: Dump, turn: int, effort: Effort) -> Load:
    say("load", f"turn {turn + 1} of {effort.loads}")
    if turn % 2:
        prepare_s = measurements.prepare(mariadb)
        return Load(prepare_s, load_raw(mariadb, COPIED, rows, LOADERS))
    copy_s = load_raw(mariadb, COPIED, rows, LOADERS)
    return Load(measurements.prepare(mariadb), copy_s)


def measure_drives(mariadb: MariaDb, effort: Effort) -> list[Drive]:
    """The full mix, back to back, in rounds."""
    drives = []
    for turn in range(effort.rounds):
        say("run", f"round {turn + 1} of {effort.rounds}")
        drives.append(measurements.drive(mariadb, duration_s=effort.drive_s, seed=turn + 1))
    return drives


def compare(drives: list[Drive], loads: list[Load]) -> list[Line]:
    """Medians over the rounds."""
    median = statistics.median
    cpu_us = median(drive.cpu_us_per_transaction for drive in drives)
    nopm = median(drive.nopm for drive in drives)
    raw_s = median(load.copy_s for load in loads)
    raw = Reference(f"LOAD DATA by {LOADERS} sessions", raw_s, "s")
    prepare_s = median(load.prepare_s for load in loads)
    return [
        Line("MariaDB: driver CPU per transaction", cpu_us, "µs", None, Target(25)),
        Line("MariaDB: new orders per minute", nopm, "NOPM", None, None),
        Line("MariaDB: load, keys included", prepare_s, "s", raw, Target(1.5)),
    ]


if __name__ == "__main__":
    sys.exit(main())
