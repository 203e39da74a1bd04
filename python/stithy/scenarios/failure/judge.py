"""What a fault cost users, by candidate, and whether anything acknowledged was lost."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from stithy.analysis.analyze import Analysis
from stithy.analysis.effect import Effect
from stithy.analysis.evidence import Evidence, Window
from stithy.metrics import ALL, TPM, Quantity
from stithy.point import Point
from stithy.scenarios.failure.declared import PHASES
from stithy.scenarios.failure.fault import NONE
from stithy.scenarios.failure.keys import FAULT

PAUSE, USER_PAUSE = Quantity("fault.pause_s"), Quantity("fault.user_pause_s")
PHASE_TPM, PHASE_P99 = "fault.tpm", "fault.p99_s"
LOST = frozenset({"acknowledged work is gone", "acknowledged work disagrees", "consistency broken"})
"""Flags of windows whose database lost or changed something."""


@dataclass(frozen=True)
class Suffered:
    """A candidate under a fault at a point, against its windows without it, block by block."""

    evidence: Evidence
    candidate: str
    point: Point

    @property
    def fault(self) -> str:
        """The name of the fault."""
        return str(self.point.values[FAULT])

    def list_counted(self) -> tuple[Window, ...]:
        """Its valid windows."""
        return self.evidence.valid_at(self.candidate, self.point)

    def list_lost(self) -> tuple[Window, ...]:
        """The windows in which something acknowledged was lost or changed, valid or not."""
        every = self.evidence.at(self.candidate, self.point)
        return tuple(window for window in every if LOST & {flag.value for flag in window.failures})

    def list_unproven(self) -> tuple[Window, ...]:
        """The valid windows whose ledger was not compared with the database."""
        return tuple(window for window in self.list_counted()
                     if not window.row["ledger_acknowledged"]
                     or window.row["ledger_unverified_because"])  # fmt: skip

    @cached_property
    def alone(self) -> Point:
        """The point without the fault."""
        return self.point.replaced(FAULT, NONE)

    def compare(self, quantity: Quantity) -> Effect:
        """Compare with the windows without the fault, of the same blocks."""
        return self.evidence.effect(
            self.candidate, self.candidate, self.point, quantity, self.alone
        )

    def average(self, metric: str, of: str | None = None) -> float | None:
        """Average a value of its valid windows; of a phase by its name."""
        quantity = Quantity(metric, of or (ALL if "pause" not in metric else None))
        return self.evidence.level_of(self.candidate, self.point, quantity)

    def compute_kept_share(self) -> float | None:
        """Throughput during the fault relative to before it; None where one is not known."""
        before, during = (self.average(PHASE_TPM, phase) for phase in PHASES[:2])
        return during / before if before and during is not None else None

    def describe_change(self) -> Mapping[str, float | None]:
        """Throughput of the whole measurement with the fault, relative to that without."""
        effect = self.compare(TPM)
        numbers = {"change": effect.ratio, "low": effect.low, "high": effect.high}
        return {name: None if each is None else each - 1 for name, each in numbers.items()}


def list_suffered(analysis: Analysis) -> tuple[Suffered, ...]:
    """Each candidate at each point with a fault."""
    evidence = analysis.evidence
    return tuple(
        Suffered(evidence, name, point)
        for point in evidence.points
        if point.values.get(FAULT) not in (None, NONE)
        for name in evidence.candidates
        if evidence.at(name, point)
    )


PLUGINS = ()
