"""What a migration cost, by candidate and way, and whether anything acknowledged was lost."""

from dataclasses import dataclass
from functools import cached_property

from stithy.activities.hammer.judge import LOSSES, UNREADABLE, find_unreadable
from stithy.analysis.decision import Ruling
from stithy.analysis.effect import Effect
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.gathering import WindowChecks, WindowRecord
from stithy.metrics import ALL, TPM, Quantity
from stithy.point import Point
from stithy.scenarios.migration.declared import BEFORE, NOT_BEGUN, NOTHING_MOVES, TIMES
from stithy.scenarios.migration.way import NAME, NONE, WAY
from stithy.validity import Check, Reason

PHASE_TPM = "migration.tpm"


def has_lost(window: Window) -> bool:
    """Whether something acknowledged was lost or changed in a window, valid or not."""
    return any(flag.value in LOSSES for flag in window.failures)


def find_destroyed(of: WindowRecord) -> Reason | None:
    """Find that nobody could read the database once its migration had begun."""
    row = of.values.get((TIMES[0], ALL))
    began = row is not None and row["missing_because"] not in (NOTHING_MOVES, NOT_BEGUN)
    return find_unreadable(of, "migration") if began else None


@dataclass(frozen=True)
class Relocated:
    """A candidate whose database moved in one way, against its windows without, block by block."""

    evidence: Evidence
    candidate: str
    point: Point

    @property
    def method(self) -> str:
        """The name of the way."""
        return str(self.point.values[WAY])

    def list_counted(self) -> tuple[Window, ...]:
        """Its valid windows."""
        return self.evidence.valid_at(self.candidate, self.point)

    def list_lost(self) -> tuple[Window, ...]:
        """The windows in which something acknowledged was lost or changed, valid or not."""
        every = self.evidence.at(self.candidate, self.point)
        return tuple(filter(has_lost, every))

    def explain_destroyed(self) -> str | None:
        """Say why the database of a window could not be read any more; None where all could."""
        windows = self.evidence.at(self.candidate, self.point)
        return next((str(window.row["ledger_unverified_because"]) for window in windows
                     if any(flag.value == UNREADABLE.value for flag in window.failures)),
                    None)  # fmt: skip

    def list_unproven(self) -> tuple[Window, ...]:
        """The windows whose ledger was not compared with the database that moved, valid or not."""
        return tuple(window for window in self.evidence.at(self.candidate, self.point)
                     if not window.row["ledger_acknowledged"]
                     or window.row["ledger_unverified_because"])  # fmt: skip

    @cached_property
    def alone(self) -> Point:
        """The point without a migration."""
        return self.point.replaced(WAY, NONE)

    def compare(self, quantity: Quantity, point: Point) -> Effect:
        """Compare with the windows at another point, of the same blocks."""
        name = self.candidate
        return self.evidence.effect(name, name, self.point, quantity, point)

    def average(self, metric: str, of: str | None = None) -> float | None:
        """Average a value of its valid windows; of a phase by its name."""
        quantity = Quantity(metric, of or (ALL if "pause" not in metric else None))
        return self.evidence.level_of(self.candidate, self.point, quantity)

    def compute_kept_share(self, phase: str) -> float | None:
        """Throughput of a phase relative to before the migration; None where one is not known."""
        before, during = (self.average(PHASE_TPM, name) for name in (BEFORE, phase))
        return during / before if before and during is not None else None

    def estimate_change(self) -> dict[str, float | None]:
        """Throughput of the whole measurement, relative to that without a migration."""
        effect = self.compare(TPM, self.alone)
        numbers = {"change": effect.ratio, "low": effect.low, "high": effect.high}
        return {name: None if each is None else each - 1 for name, each in numbers.items()}


def list_moved(evidence: Evidence) -> tuple[Relocated, ...]:
    """Each candidate at each point with a migration."""
    return tuple(
        Relocated(evidence, name, point)
        for point in evidence.points
        if point.values.get(WAY) not in (None, NONE)
        for name in evidence.candidates
        if evidence.at(name, point)
    )


class MigrationRuling(Ruling):
    """A database that lost something is no answer, and neither is a way that nothing moved by."""

    name = NAME

    def rule(self, evidence: Evidence, *, answered: bool) -> bool:
        """Rule by all windows: one that was measured a second time has lost it all the same."""
        moved = list_moved(evidence)
        if not moved:
            return answered
        if any(map(has_lost, evidence.windows)):
            return False
        ways = {(of.candidate, of.method) for of in moved}
        done = {(of.candidate, of.method) for of in moved if of.list_counted()}
        return answered and ways == done


MIGRATION_CHECKS = WindowChecks(
    NAME, 94, (Check(("values", "load"), find_destroyed, always=True),)
)  # fmt: skip

PLUGINS = (MigrationRuling(), MIGRATION_CHECKS)
