"""What backups cost users, and how long they take, by candidate and setting."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from stithy.analysis.analyze import Analysis, Loss, Losses, list_ratios
from stithy.analysis.comparisons import compare_with_alone
from stithy.analysis.effect import Effect, Paired
from stithy.analysis.evidence import Evidence, Window
from stithy.metrics import ALL, P95, Quantity
from stithy.point import ON, Point, format_value
from stithy.scenarios.backup.keys import (
    BACKUP,
    LIMIT_PERCENT,
    MAXIMUM,
    OWN,
    RATE,
    SETTINGS,
    drop_settings,
)
from stithy.scenarios.backup.plan import LIMIT_SHARE, SHARES_OF, has_no_backup
from stithy.units import format_share

THROUGHPUT, P99, DURATION = Quantity("tpm"), Quantity("p99"), Quantity("backup.duration_s", ALL)
COVERED_LEAST = 0.9
"""Own: the share of a measurement that backups must fill, so that its percentiles are of backups.
With less a short backup would seem harmless because it ended early."""


@dataclass(frozen=True)
class Setting:
    """A candidate at a point with backups; changes are against the windows without, by block.

    `backed_up`: the evidence without windows in which no backup succeeded: their users had none to
    bear. `changes`: by metric what backups change of it.
    """

    evidence: Evidence
    backed_up: Evidence
    candidate: str
    point: Point
    changes: Mapping[Quantity, Paired]
    tail_of: Quantity

    @property
    def throughput(self) -> Effect:
        """What backups change of it."""
        return self.changes[THROUGHPUT].effect

    @property
    def tail(self) -> Effect:
        """What they change of the percentile that there are values enough for."""
        return self.changes[self.tail_of].effect

    def value(self, name: str) -> float | None:
        """A value of the backups, the mean of its windows."""
        return self.backed_up.level_of(self.candidate, self.point, Quantity(f"backup.{name}", ALL))

    @property
    def asked_per_s(self) -> float | None:
        """At what rate transactions arrived; None where users waited for answers.

        By the valid windows: one that never began has none.
        """
        valid = self.evidence.valid_at(self.candidate, self.point)
        rates = {window.row.get("rate_per_s") for window in valid}
        return rates.pop() if len(rates) == 1 else None

    @property
    def at(self) -> tuple[Window, ...]:
        return self.evidence.at(self.candidate, self.point)

    @property
    def counted(self) -> tuple[Window, ...]:
        """Those that are valid, and in which a backup succeeded."""
        return self.backed_up.valid_at(self.candidate, self.point)

    @property
    def without_backup(self) -> int:
        """How many are valid, though none of their backups succeeded."""
        return len(self.evidence.valid_at(self.candidate, self.point)) - len(self.counted)

    @property
    def is_covered(self) -> bool:
        """Whether backups filled its measurements."""
        return (self.value("covered_share") or 0.0) >= COVERED_LEAST

    @property
    def doubt(self) -> str | None:
        """Why its changes give no claim that backups cost little; None where they may."""
        if self.is_covered:
            return None
        covered, least = (
            format_share(self.value("covered_share") or 0.0),
            format_share(COVERED_LEAST),
        )
        return f"backups ran during {covered} of the measurement, and {least} are needed"

    @property
    def load(self) -> Point:
        """All but the settings of backups: what is compared with each other has it in common."""
        return drop_settings(self.point)

    @property
    def text(self) -> str:
        """The settings of backups that the study varies: `processes 2, compression zstd`."""
        every = (factor for factor in self.point.factors if factor[0].startswith(SETTINGS))
        return ", ".join(
            f"{name.removeprefix(SETTINGS)} {format_value(value)}" for name, value in every
        )

    def within(self, limit_share: float) -> bool:
        """Whether it was shown to add no more: the upper end of an interval that decides is within.

        A plain interval gives no claim, nor do measurements that backups did not fill.
        """
        high = None if self.tail.plain or not self.is_covered else self.tail.high
        return high is not None and high - 1 <= limit_share


def list_points(evidence: Evidence) -> list[Point]:
    """Those with backups."""
    return [point for point in evidence.points if point.values.get(BACKUP) == ON]


def list_settings(analysis: Analysis) -> tuple[Setting, ...]:
    """Each candidate at each point with backups."""
    evidence, settings = analysis.evidence, []
    kept = (window for window in evidence.windows
            if window.point.values.get(BACKUP) != ON
            or evidence.value_of(window, DURATION).number is not None)  # fmt: skip
    backed_up = replace(evidence, windows=tuple(kept))
    for point in list_points(evidence):
        off = has_no_backup(point, evidence.points)
        for name in evidence.candidates:
            if evidence.at(name, point):
                changes = {
                    each: compare_with_alone(backed_up, name, point, off, each, analysis.times)
                    for each in (THROUGHPUT, P95, P99)
                }
                settings.append(Setting(evidence, backed_up, name, point, changes, P95))
    tails = {}
    for load in {each.load for each in settings}:
        # The 99th percentile; the 95th where a window has it alone, for too few values.
        known = [each for each in settings if each.load == load and each.tail.pairs]
        as_often = (each.changes[P99].effect.pairs == each.tail.pairs for each in known)
        tails[load] = P99 if known and all(as_often) else P95
    return tuple(replace(each, tail_of=tails[each.load]) for each in settings)


def read_limit_share(analysis: Analysis) -> float:
    """What a backup may add to the percentile, as the study says; without a manifest the usual."""
    return float(_read_facts(analysis).get(LIMIT_SHARE, LIMIT_PERCENT / 100))


def is_own(analysis: Analysis) -> bool:
    """Whether rates are shares of each candidate's own maximum."""
    return _read_facts(analysis).get(SHARES_OF) == OWN


def _read_facts(analysis: Analysis) -> Mapping[str, Any]:
    """What the scenario's keys come to; nothing without a manifest."""
    return analysis.manifest.scenario_facts if analysis.manifest else {}


def find_fastest(settings: Iterable[Setting], share: float) -> Setting | None:
    """The fastest of them that was shown to stay within; None where none was."""
    known = [
        setting for setting in settings if setting.within(share) and setting.value("duration_s")
    ]
    return min(known, key=lambda each: each.value("duration_s") or 0.0, default=None)


@dataclass(frozen=True)
class Maxima:
    """What each candidate did at a point as fast as its users could, transactions a second.

    `doubted`: the candidates whose window is not valid. Rates are shares of it all the same.
    """

    point: Point
    rates: Mapping[str, float]
    doubted: tuple[str, ...]


def list_maxima(analysis: Analysis) -> tuple[Maxima, ...]:
    """The measured maxima, by level."""
    maxima = []
    for point in analysis.evidence.points:
        if point.values.get(RATE) == MAXIMUM:
            known = {}
            for name in analysis.evidence.candidates:
                windows = [window for window in analysis.evidence.at(name, point)
                           if window.block == 0 and window.value("tpm") is not None]  # fmt: skip
                if windows:  # rates were taken of it, valid or not: of a second attempt if any
                    known[name] = max(windows, key=lambda window: window.attempt)
            rates = {name: (each.value("tpm") or 0.0) / 60 for name, each in known.items()}
            doubted = tuple(name for name, each in known.items() if not each.valid)
            if rates:
                maxima.append(Maxima(point, rates, doubted))
    return tuple(maxima)


class BackupLosses(Losses):
    """What users lose to backups, by the metrics that the activity declares."""

    name = BACKUP

    def find_losses(self, analysis: Analysis) -> Iterator[Loss]:
        """Find what each setting of backups changes; nobody works on an idle database."""
        ratios, evidence = list_ratios(BACKUP), analysis.evidence
        for setting in list_settings(analysis):
            if not evidence.at(setting.candidate, has_no_backup(setting.point, evidence.points)):
                continue
            for quantity, change in setting.changes.items():
                paired = replace(change, doubted_because=setting.doubt)
                yield Loss(BACKUP, ratios[quantity], setting.candidate, setting.point, paired)


PLUGINS = (BackupLosses(),)
