"""What a migration cost, by candidate and way, and whether anything acknowledged was lost."""

from stithy.activities.hammer.judge import LOSSES, UNREADABLE, find_unreadable
from stithy.analysis.decision import Ruling
from stithy.analysis.evidence import Contrast, Evidence, Window
from stithy.analysis.gathering import WindowChecks, WindowRecord
from stithy.metrics import ALL, TPM, Quantity
from stithy.scenarios.migration.declared import (
    BEFORE,
    COMPARED,
    DAMAGED,
    DIFFERING,
    NOT_BEGUN,
    NOTHING_MOVES,
    TABLES,
    TIMES,
)
from stithy.scenarios.migration.way import NAME, WAY
from stithy.validity import Check, Flag, Reason

PHASE_TPM = "migration.tpm"

TABLES_DIFFER = Flag(
    "moved tables differ",
    "{differing:+table} of {compared} had other rows than at the source, by checksums.",
    "The file moved-tables.json of this window says which. Do not trust this way or this target.",
    invalidates=True,
)

BLOCKS_DAMAGED = Flag(
    "moved blocks damaged",
    "{damaged:+block} at the target differed from the source.",
    "The kernel log (dmesg) names those that checksums found. Do not trust this way or target.",
    invalidates=True,
)

LOST = LOSSES | {TABLES_DIFFER.value, BLOCKS_DAMAGED.value}
"""Flags of windows whose database lost or changed something."""


def find_destroyed(of: WindowRecord) -> Reason | None:
    """Find that nobody could read the database once its migration had begun."""
    row = of.values.get((TIMES[0], ALL))
    began = row is not None and row["missing_because"] not in (NOTHING_MOVES, NOT_BEGUN)
    return find_unreadable(of, "migration") if began else None


def find_differing(of: WindowRecord) -> Reason | None:
    """Find that tables had not the rows that they have at the source."""
    compared, differing = (of.values.get((name, ALL), {}).get("value") or 0 for name in TABLES)
    counts = {"compared": round(compared), "differing": round(differing)}
    return Reason(TABLES_DIFFER, counts) if differing else None


def find_damaged(of: WindowRecord) -> Reason | None:
    """Find that blocks came to the target otherwise than they were at the source."""
    damaged = of.values.get((DAMAGED, ALL), {}).get("value")
    return Reason(BLOCKS_DAMAGED, {"damaged": round(damaged)}) if damaged else None


class Relocated(Contrast):
    """A candidate whose database moved in one way, against its windows without, block by block."""

    factor, losses = WAY, LOST

    def list_destroyed(self) -> tuple[Window, ...]:
        """The windows whose database could not be read any more."""
        return tuple(window for window in self.list_all() if window.is_flagged(UNREADABLE.value))

    def list_unproven(self) -> tuple[Window, ...]:
        """The windows whose ledger was not compared with the database that moved, valid or not."""
        return tuple(window for window in self.list_all() if not self.is_compared(window))

    def count_differing(self) -> int | None:
        """Count tables that differed, over all windows; None where none was compared."""
        counts = [window.values.get((DIFFERING, ALL), {}).get("value")
                  for window in self.list_all()]  # fmt: skip
        known = [count for count in counts if count is not None]
        return round(sum(known)) if known else None

    def list_uncompared(self) -> tuple[Window, ...]:
        """The valid windows whose tables were not compared with the source."""
        return tuple(window for window in self.list_counted()
                     if window.values.get((COMPARED, ALL), {}).get("value") is None)  # fmt: skip

    def explain_uncompared(self) -> str | None:
        """Say why the first of them were not; None where all were, or nothing says it."""
        rows = (window.values.get((COMPARED, ALL), {}) for window in self.list_uncompared())
        return next((because for row in rows if (because := row.get("missing_because"))), None)

    def compute_kept_share(self, phase: str) -> float | None:
        """Throughput of a phase relative to before the migration; None where one is not known."""
        before, during = (self.average(Quantity(PHASE_TPM, name)) for name in (BEFORE, phase))
        return during / before if before and during is not None else None

    def estimate_change(self) -> dict[str, float | None]:
        """Throughput of the whole measurement, relative to that without a migration."""
        effect = self.compare(TPM)
        numbers = {"change": effect.ratio, "low": effect.low, "high": effect.high}
        return {name: None if each is None else each - 1 for name, each in numbers.items()}


class MigrationRuling(Ruling):
    """A database that lost something is no answer, and neither is a way that nothing moved by."""

    name = NAME

    def rule(self, evidence: Evidence, *, answered: bool) -> bool:
        """Rule by all windows: one that was measured a second time has lost it all the same."""
        moved = Relocated.list_in(evidence)
        if not moved:
            return answered
        if any(window.is_flagged(*LOST) for window in evidence.windows):
            return False
        ways = {(of.candidate, of.happened) for of in moved}
        done = {(of.candidate, of.happened) for of in moved if of.list_counted()}
        return answered and ways == done


MIGRATION_CHECKS = WindowChecks(
    NAME, 94,
    (
        Check(("values", "load"), find_destroyed, always=True),
        Check(("values",), find_differing, always=True),
        Check(("values",), find_damaged, always=True),
    ),
)  # fmt: skip

PLUGINS = (MigrationRuling(), MIGRATION_CHECKS)
