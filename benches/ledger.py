"""What a ledger costs: the same load with and without one, in turns, on one instance.

The ledger lies on the same disk as the database, which is the worst place for it: its syncs and the
database's then share a device. Each pair of runs has one seed; the order within a pair alternates.
"""

import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import measurements
from instance import Instance, started
from kept import TARGET_MISSED
from measurements import Drive

TPM_LEAST = 0.97
"""A ledger may cost so much of the throughput, on one disk with the database."""


@dataclass(frozen=True)
class Pair:
    """The same load without and with a ledger."""

    without: Drive
    kept: Drive

    @property
    def tpm_ratio(self) -> float:
        """Throughput with a ledger over that without."""
        return self.kept.tpm / self.without.tpm

    @property
    def cpu_us_more(self) -> float:
        """CPU time of the driver that the ledger adds to a transaction."""
        return self.kept.cpu_us_per_transaction - self.without.cpu_us_per_transaction


def main(words: list[str]) -> int:
    """Measure and print; 99 where the target is missed."""
    pairs, duration_s = (2, 4.0) if "--quick" in words else (10, 6.0)
    with started() as instance, tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        measurements.prepare(instance)
        instance.sql("VACUUM (FREEZE, ANALYZE)", measurements.DRIVEN)
        done = [measured(instance, Path(folder), turn, duration_s) for turn in range(pairs)]
    ratio = statistics.median(pair.tpm_ratio for pair in done)
    more = statistics.median(pair.cpu_us_more for pair in done)
    print(f"ledger, {pairs} pairs of {duration_s:.0f} s, {measurements.USERS} users back to back:")
    for pair in done:
        both = f"{pair.without.tpm:,.0f} without, {pair.kept.tpm:,.0f} with"
        print(f"  TPM {both}: {pair.tpm_ratio:.3f}")
    print(f"  TPM with over without: {ratio:.3f}, target {TPM_LEAST} at least")
    print(f"  driver CPU per transaction: {more:+.2f} µs")
    return 0 if ratio >= TPM_LEAST else TARGET_MISSED


def measured(instance: Instance, folder: Path, turn: int, duration_s: float) -> Pair:
    """One pair; every second one begins with the ledger."""
    ledger = folder / f"{turn}.ledger"

    def drive(place: Path | None) -> Drive:
        return measurements.drive(instance, duration_s=duration_s, seed=turn + 1, ledger=place)

    if turn % 2:
        kept, without = drive(ledger), drive(None)
    else:
        without, kept = drive(None), drive(ledger)
    return Pair(without, kept)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
