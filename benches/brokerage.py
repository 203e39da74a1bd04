"""What is asked of the workload brokerage on PostgreSQL, once: mix, CPU, reads to writes, loading.

The mix is counted over a million transactions in memory. Loading stands beside `pg_restore` of
the same rows, which copies them raw and then makes the same indexes and keys, in turns. Reads and
writes are those of an emulated data drive, the log on another one, while the server has a tenth of
the data's size as memory and makes checkpoints. That data has trades of 120 days: daily prices do
not grow with days, and at the fewest that are possible they alone would outgrow that tenth. The
CPU that a transaction takes of the driver stands beside that of order-entry, in turns. Writes
`benches/results/<date>-brokerage.json`.

Usage: brokerage.py [--quick] [load] [mix] [driver] [traffic]; only the parts that are named, if
any are. `--quick` takes seconds of each, and keeps no numbers. Needs root.
"""

import os
import shutil
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import measurements
from hammer import Line, Load, Reference, Target, say, show, verdict
from instance import SETTINGS, Instance, started
from kept import NOT_VALID, keep
from measurements import COPIED, DRIVEN, LOADERS
from measurements import WORKLOAD as ORDERS
from processes import run, run_together
from stithy.results.files import read_run
from stithy.wire.jobs import PrepareJob, RunJob, WorkloadChoice
from stithy.workloads.brokerage import BROKERAGE, BrokerageChoice
from studies import stithy

USERS = 8
WORKLOAD = BrokerageChoice(
    customers=1000, days=12, price_period_s=20.0, exchange_delay_s=1.0,
    maintenance_interval_s=2.0, skew_part=4,
)  # fmt: skip
"""Prices swing quickly, so that limit orders are reached from the ramp-up on."""

PARTS = ("load", "mix", "driver", "traffic")
ENTRY = "entry"
"""The database of order-entry."""
TRANSACTIONS = 1_000_000
RAMP_UP_S = 30.0
CPU_S = 12.0
CHECKPOINT_S = 30
"""The shortest that PostgreSQL allows."""

STUDY = """\
study: How much more does a broker's house read from its data volume than it writes?
candidates:
  drives: {{drive: io2, roles: {{log: {{drive: io2}}}}}}
database:
  engine: postgresql
  memory: {memory_mib} MiB
  settings: {{shared_buffers: 32MB, checkpoint_timeout: {checkpoint_s}s, max_wal_size: 1GB}}
workload:
  {{name: brokerage, customers: {customers}, days: {days}, price_period: 20 s,
    maintenance_interval: 2 s}}
load: {{users: [8], ramp_up: {ramp_up_s} s, duration: {duration_s} s, repeat: 1, calibrate: false}}
"""


@dataclass(frozen=True)
class Effort:
    """How long the bench looks at each thing; `days` and times of the window in a tenth."""

    loads: int
    transactions: int
    days: int
    ramp_up_s: int
    duration_s: int
    pairs: int


FULL = Effort(2, TRANSACTIONS, days=120, ramp_up_s=30, duration_s=4 * CHECKPOINT_S, pairs=5)
NO_TURNS = Effort(0, 0, 0, 0, 0, 0)
QUICK = Effort(1, 10_000, days=120, ramp_up_s=5, duration_s=10, pairs=1)


@dataclass(frozen=True)
class Mix:
    """How often each transaction was done; `errors` of them failed."""

    duration_s: float
    counts: dict[str, int]
    errors: int
    retries: int

    @property
    def whole(self) -> int:
        """All that have a share."""
        return sum(self.counts.values())

    @property
    def off_points(self) -> dict[str, float]:
        """By how many points each share is off what is specified."""
        shares = {each.name: each.share for each in BROKERAGE.transactions if each.share}
        return {
            name: 100 * (self.counts[name] / self.whole - share) for name, share in shares.items()
        }


@dataclass(frozen=True)
class DriverCpu:
    """The load driver's CPU time over all transactions of a run, those of the ramp-up included."""

    brokerage_us: float
    order_entry_us: float


@dataclass(frozen=True)
class Traffic:
    """What the data drive answered in a window by operation, and what users did meanwhile."""

    requests: dict[str, int]
    moved_bytes: dict[str, int]
    committed: dict[str, int]
    database_bytes: int
    memory_bytes: int
    checkpoints: int
    complete: bool

    @property
    def ratio(self) -> float:
        """Reads for each write."""
        return self.requests["read"] / self.requests["write"]


def main() -> int:
    """Measure, show, keep."""
    words = sys.argv[1:]
    effort = QUICK if "--quick" in words else FULL
    parts = [part for part in PARTS if part in words] or [*PARTS]
    loads, mix, traffic, broken = list[Load](), None, None, list[int]()
    driver: list[DriverCpu] = []
    facts: dict[str, object] = {"effort": effort, "workload": WORKLOAD, "users": USERS}
    if "traffic" in parts:
        facts["study"] = write_study(effort)
        traffic = measure_traffic(effort)
        say("traffic", f"{traffic}")
    if {"load", "mix", "driver"}.intersection(parts):
        with started() as instance, tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            facts |= {"postgresql": instance.sql("SHOW server_version")[0][0], "settings": SETTINGS}
            loads = measure_loads(instance, Path(folder), effort if "load" in parts else NO_TURNS)
            say("load", f"{loads}")
            mix = measure_mix(instance, effort) if "mix" in parts else None
            driver = measure_driver(instance, effort) if "driver" in parts else []
            broken = measurements.broken_conditions(
                instance, after_load=not (mix or driver), workload=WORKLOAD
            )
    lines, errors = compare(loads, mix, driver, traffic), mix.errors if mix else 0
    show(lines, errors, broken)
    for name, off in (mix.off_points if mix else {}).items():
        print(f"{name:<20}{off:+.3f} points")
    if effort is FULL:
        table = [asdict(line) | {"ratio": line.ratio, "met": line.met} for line in lines]
        raw = {"loads": loads, "mix": mix and asdict(mix) | {"off_points": mix.off_points},
               "driver": driver, "traffic": traffic}  # fmt: skip
        keep("brokerage", facts, {"table": table, "broken": broken, **raw})
    if traffic is not None and not (traffic.complete and traffic.checkpoints):
        return NOT_VALID
    return verdict(lines, errors, broken)


def measure_loads(instance: Instance, folder: Path, effort: Effort) -> list[Load]:
    """Both ways in turns; the last thing done is a load, so that the users start from one."""
    say("load", "the hammer loads, which is not counted")
    measurements.prepare(instance, WORKLOAD)
    if broken := measurements.broken_conditions(instance, after_load=True, workload=WORKLOAD):
        raise SystemExit(f"after loading, conditions {broken} do not hold")
    rows, sessions = str(folder / "rows"), f"-j{LOADERS}"
    dump = [instance.program("pg_dump"), "-Fd", "-Z0", sessions, "-f", rows, DRIVEN]
    run(dump, environment=instance.environment)
    restore = [instance.program("pg_restore"), sessions, "-e", "-O", "-d", COPIED, rows]
    loads = []
    for turn in range(effort.loads):
        say("load", f"turn {turn + 1} of {effort.loads}: restore, then load")
        instance.renew(COPIED)
        copy_s = run_together([restore], environment=instance.environment)
        loads.append(Load(measurements.prepare(instance, WORKLOAD), copy_s))
    instance.sql(f"DROP DATABASE IF EXISTS {COPIED}")
    return loads


def measure_mix(instance: Instance, effort: Effort) -> Mix:
    """Run until there are so many transactions, each run as long as the rest of them takes."""
    mix = _drive(instance, 5.0, seed=1)
    while (rest := effort.transactions - mix.whole) > 0:
        more = _drive(instance, max(5.0, 1.05 * rest * mix.duration_s / mix.whole), seed=rest)
        counts = {name: count + more.counts[name] for name, count in mix.counts.items()}
        mix = Mix(mix.duration_s + more.duration_s, counts, mix.errors + more.errors,
                  mix.retries + more.retries)  # fmt: skip
    return mix


def _drive(instance: Instance, duration_s: float, seed: int) -> Mix:
    say("mix", f"users work for {RAMP_UP_S + duration_s:.0f} s")
    summary, _ = _run(instance, DRIVEN, WORKLOAD, seed, RAMP_UP_S, duration_s)
    kinds = {kind["name"]: kind for kind in summary["transactions"]}
    return Mix(
        summary["measure_to_s"] - summary["measure_from_s"],
        {
            each.name: kinds[each.name]["committed"] + kinds[each.name]["rolled_back"]
            for each in BROKERAGE.transactions
            if each.share
        },
        sum(kind["errors"] for kind in kinds.values()),
        sum(kind["retries"] for kind in kinds.values()),
    )


def _run(
    instance: Instance, database: str, workload: WorkloadChoice, seed: int, ramp_up_s: float,
    duration_s: float,
) -> tuple[dict[str, Any], float]:  # fmt: skip
    """All users, back to back; the hammer's summary and its CPU time in seconds."""
    instance.settle()
    job = RunJob(
        url=instance.url(database), workload=workload, seed=seed, users=USERS,
        ramp_up_s=ramp_up_s, duration_s=duration_s, isolation="read-committed", error_limit=10,
        hlog_stem=None, ledger=None,
    )  # fmt: skip
    messages, _, cpu_s = measurements.hammer(job)
    return messages[-1], cpu_s


def measure_driver(instance: Instance, effort: Effort) -> list[DriverCpu]:
    """Both workloads in turns."""
    say("driver", "order-entry is loaded")
    instance.renew(ENTRY)
    entry = PrepareJob(url=instance.url(ENTRY), workload=ORDERS, seed=1, loaders=LOADERS)
    measurements.hammer(entry)

    def measure(database: str, workload: WorkloadChoice, seed: int) -> float:
        summary, cpu_s = _run(instance, database, workload, seed, 3.0, CPU_S)
        return 1e6 * cpu_s / int(summary["commits"] + summary["rollbacks"])

    found = []
    for turn in range(effort.pairs):
        pair = DriverCpu(measure(DRIVEN, WORKLOAD, turn), measure(ENTRY, ORDERS, turn))
        say("driver", f"{pair}")
        found.append(pair)
    return found


def write_study(effort: Effort) -> str:
    """The study of a window whose server has a tenth of the data's size as memory."""
    customers = WORKLOAD.customers
    data = BROKERAGE.data_bytes({"customers": customers, "days": effort.days})
    return STUDY.format(
        memory_mib=data // 10 // 2**20, checkpoint_s=CHECKPOINT_S, customers=customers,
        days=effort.days, ramp_up_s=effort.ramp_up_s, duration_s=effort.duration_s,
    )  # fmt: skip


def measure_traffic(effort: Effort) -> Traffic:
    """One window of a real study; its run is removed."""
    say("traffic", "a study with two emulated drives")
    folder = Path(tempfile.mkdtemp(prefix="stithy-bench-", dir="/var/tmp"))
    try:
        study, out = folder / "traffic.yaml", folder / "run"
        study.write_text(write_study(effort))
        ended = stithy(folder, "run", study, "--out", out)
        if not (out / "manifest.json").is_file():
            raise SystemExit(f"the study ended with {ended.returncode}: {ended.stderr[-2000:]}")
        return read_traffic(out)
    finally:
        stithy(folder, "clean")
        shutil.rmtree(folder)


def read_traffic(out: Path) -> Traffic:
    """What the drive and the server counted in its last window, ramp-up included."""
    found = read_run(out)
    window = max(found.window.to_dicts(), key=lambda row: row["attempt"])
    own = {"window_id": window["window_id"]}
    drives = found.drives.filter(role="data", **own).to_dicts()
    data = {row["operation"]: row for row in drives}
    return Traffic(
        {name: data[name]["answered"] for name in ("read", "write")},
        {name: data[name]["moved_bytes"] for name in ("read", "write")},
        {
            row["transaction"]: row["committed"]
            for row in found.transactions.filter(**own).to_dicts()
        },
        window["database_bytes"],
        window["memory_limit_bytes"],
        window["checkpoints_inside"],
        window["complete"],
    )


def compare(
    loads: list[Load], mix: Mix | None, driver: list[DriverCpu], traffic: Traffic | None
) -> list[Line]:
    """Each figure that was measured beside its target."""
    lines = []
    if loads:
        raw_s = median(each.copy_s for each in loads)
        raw = Reference("pg_restore of the same rows", raw_s, "s")
        prepare_s = median(each.prepare_s for each in loads)
        lines.append(Line("load, keys and indexes included", prepare_s, "s", raw, Target(1.5)))
    if mix:
        worst = max(map(abs, mix.off_points.values()))
        lines.append(Line(f"worst share of {mix.whole:,}", worst, "points", None, Target(0.5)))
    if driver:
        of_entry = Reference("order-entry", median(each.order_entry_us for each in driver), "µs")
        own = median(each.brokerage_us for each in driver)
        of_pairs = median(each.brokerage_us / each.order_entry_us for each in driver)
        lines.append(Line("driver CPU a transaction", own, "µs", of_entry, Target(1.3), of_pairs))
    if traffic:
        words = f"reads a write, data {traffic.database_bytes / traffic.memory_bytes:.1f} x memory"
        bounds = Target(7, at_most=False), Target(12)
        lines += [Line(words, traffic.ratio, "", None, bound) for bound in bounds]
    return lines


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("emulated drives need root, for FUSE, loop devices and mounting")
    sys.exit(main())
