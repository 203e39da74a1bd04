"""`make bench`: the hammer beside its references, on one instance, in one run, in turns.

Four figures count: what a transaction costs the driver in CPU, as procedures and as plain SQL, how
many new orders a minute the machine gives, and how fast the tables are loaded. Most stand beside a
reference that is taken in the same run, so that the ratio holds on any machine. Writes
`benches/results/<date>.json`.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import measurements
import references
from instance import SETTINGS, Instance, started
from kept import NOT_VALID, TARGET_MISSED, keep
from measurements import Drive
from references import RoundTrips


@dataclass(frozen=True)
class Effort:
    """How long the bench looks at each thing."""

    rounds: int
    reads_s: int
    bank_s: int
    calls_s: int
    drive_s: int
    plain_s: int
    loads: int


FULL = Effort(rounds=3, reads_s=8, bank_s=15, calls_s=8, drive_s=20, plain_s=10, loads=2)
QUICK = Effort(rounds=1, reads_s=3, bank_s=5, calls_s=3, drive_s=8, plain_s=5, loads=1)


@dataclass(frozen=True)
class Round:
    """The driver and its references, once each, in turn."""

    reads: RoundTrips
    bank_tps: float
    calls: RoundTrips
    drive: Drive
    plain: Drive

    @property
    def errors(self) -> int:
        """Transactions that failed."""
        return self.drive.errors + self.plain.errors


@dataclass(frozen=True)
class Load:
    """The hammer's loading and the raw copy of the same rows, seconds."""

    prepare_s: float
    copy_s: float


@dataclass(frozen=True)
class Reference:
    """What a figure stands beside, measured in the same run."""

    what: str
    value: float
    unit: str


@dataclass(frozen=True)
class Target:
    """A bound of the ratio to the reference, or of the value itself where there is none."""

    bound: float
    at_most: bool = True

    def met_by(self, measured: float) -> bool:
        """Whether it is reached."""
        return measured <= self.bound if self.at_most else measured >= self.bound

    def __str__(self) -> str:
        return f"{'at most' if self.at_most else 'at least'} {self.bound:g}"


@dataclass(frozen=True)
class Line:
    """One line of the table; without a target it is there to be read."""

    what: str
    value: float
    unit: str
    reference: Reference | None
    target: Target | None

    pairs: float | None = None
    """The ratio where both were measured in pairs: the median of theirs."""

    @property
    def ratio(self) -> float | None:
        """The value over its reference."""
        if self.pairs is not None:
            return self.pairs
        return self.value / self.reference.value if self.reference else None

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None without one."""
        measured = self.value if self.ratio is None else self.ratio
        return self.target.met_by(measured) if self.target else None


def main() -> int:
    """Measure, show, keep."""
    effort = QUICK if "--quick" in sys.argv[1:] else FULL
    with started() as instance, tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        version = instance.sql("SHOW server_version")[0][0]
        loads = measure_loads(instance, Path(folder), effort)
        rounds = measure_rounds(instance, Path(folder), effort)
        broken = measurements.broken_conditions(instance, after_load=False)
    lines = compare(rounds, loads)
    errors = sum(each.errors for each in rounds)
    show(lines, errors, broken)
    if effort is FULL:
        keep_all(lines, version, effort, {"rounds": rounds, "loads": loads, "broken": broken})
    return verdict(lines, errors, broken)


def measure_loads(instance: Instance, folder: Path, effort: Effort) -> list[Load]:
    """Load and copy in turns; the last thing done is a load, so that the runs start from one."""
    say("load", "the hammer loads")
    first_s = measurements.prepare(instance)
    if broken := measurements.broken_conditions(instance, after_load=True):
        raise SystemExit(f"after loading, conditions {broken} do not hold")
    rows = measurements.export(instance, folder)
    loads = []
    for turn in range(effort.loads):
        say("load", f"turn {turn + 1} of {effort.loads}: copy, then load")
        copy_s = measurements.copy_raw(instance, rows)
        loads.append(Load(measurements.prepare(instance), copy_s))
    say("load", f"the first load, not counted, took {first_s:.1f} s")
    return loads


def measure_rounds(instance: Instance, folder: Path, effort: Effort) -> list[Round]:
    """Every reference and the hammer once a round, so that a slow minute hits them all."""
    references.make_bank(instance)
    instance.sql("VACUUM (FREEZE, ANALYZE)", measurements.DRIVEN)
    rounds = []
    for turn in range(effort.rounds):
        say("run", f"round {turn + 1} of {effort.rounds}")
        rounds.append(
            Round(
                reads=references.round_trips(instance, effort.reads_s),
                bank_tps=references.bank_tps(instance, effort.bank_s),
                drive=measurements.drive(instance, duration_s=effort.drive_s, seed=turn + 1),
                calls=references.same_calls(instance, folder, effort.calls_s),
                plain=measurements.drive(
                    instance, duration_s=effort.plain_s, seed=turn + 1, procedures=False
                ),
            )
        )
    return rounds


def compare(rounds: list[Round], loads: list[Load]) -> list[Line]:
    """Medians over the rounds, beside the medians of their references."""
    median = statistics.median
    cpu_us = median(each.drive.cpu_us_per_transaction for each in rounds)
    plain_us = median(each.plain.cpu_us_per_transaction for each in rounds)
    reads_us = median(each.reads.cpu_us_per_round_trip for each in rounds)
    calls_us = median(each.calls.cpu_us_per_round_trip for each in rounds)
    nopm = median(each.drive.nopm for each in rounds)
    bank = Reference("pgbench TPC-B-like", median(each.bank_tps for each in rounds), "tps")
    prepare_s = median(each.prepare_s for each in loads)
    copy = Reference("raw COPY by 2 sessions", median(each.copy_s for each in loads), "s")
    reads = Reference("pgbench -S, a round trip", reads_us, "µs")
    calls = Reference("pgbench, the same calls", calls_us, "µs")
    return [
        Line("driver CPU per transaction", cpu_us, "µs", reads, Target(1.6)),
        Line("driver CPU per transaction", cpu_us, "µs", calls, None),
        Line("driver CPU, plain SQL", plain_us, "µs", None, Target(120)),
        Line("new orders per minute", nopm, "NOPM", bank, Target(20, at_most=False)),
        Line("load, keys and indexes included", prepare_s, "s", copy, Target(1.25)),
    ]


def show(lines: list[Line], errors: int, broken: list[int]) -> None:
    """The table on standard output."""
    print(f"\n{'what':<34}{'value':>14}  {'reference':<26}{'value':>12}  {'ratio':>6}  target")
    for line in lines:
        print(_row(line))
    state = f"{broken} do not hold" if broken else "all hold"
    print(f"\nunexpected errors: {errors}; consistency conditions after the runs: {state}")


def _row(line: Line) -> str:
    beside, ratio = f"{'none':<26}{'':>12}", ""
    if line.reference and line.ratio is not None:
        value = f"{amount(line.reference.value)} {line.reference.unit}"
        beside, ratio = f"{line.reference.what:<26}{value:>12}", f"{line.ratio:.2f}"
    mark = {None: "", True: ": met", False: ": MISSED"}[line.met]
    value = f"{amount(line.value)} {line.unit}"
    return f"{line.what:<34}{value:>14}  {beside}  {ratio:>6}  {line.target or 'none'}{mark}"


def amount(value: float) -> str:
    """Four digits where they mean something, thousands set apart."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def keep_all(lines: list[Line], version: str, effort: Effort, raw: Mapping[str, object]) -> None:
    """The table and what it was made of."""
    facts = {
        "postgresql": version,
        "settings": SETTINGS,
        "users": measurements.USERS,
        "warehouses": measurements.WAREHOUSES,
        "effort": asdict(effort),
    }
    table = [asdict(line) | {"ratio": line.ratio, "met": line.met} for line in lines]
    keep("hammer", facts, {"table": table, **raw})


def verdict(lines: list[Line], errors: int, broken: list[int]) -> int:
    """The exit code: broken conditions and errors first, then missed targets."""
    if broken or errors:
        return NOT_VALID
    return TARGET_MISSED if any(line.met is False for line in lines) else 0


def say(stage: str, text: str) -> None:
    """One line of progress on standard error."""
    print(f"{time.strftime('%H:%M:%S')} {stage}: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
