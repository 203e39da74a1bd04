"""What backups cost users, and how long they take, by candidate and setting."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.verdict.effect import Effect
from stithy.factor import factor_named
from stithy.metrics import ALL, P95, Quantity
from stithy.plan.scenarios.backup import BACKUP, MAXIMUM, NAME, OFF, ON, RATE, limit_said
from stithy.plan.scenarios.backup.during import of_said
from stithy.point import Point, said
from stithy.report.context import Context

THROUGHPUT, P99, DURATION = Quantity("tpm"), Quantity("p99"), Quantity("backup.duration_s", ALL)
SETTINGS = f"scenario.{NAME}."


@dataclass(frozen=True)
class Setting:
    """A candidate at a point with backups; changes are against the windows without, by block."""

    evidence: Evidence
    candidate: str
    point: Point
    tail_of: Quantity

    @cached_property
    def throughput(self) -> Effect:
        """What backups change of it."""
        return self._effect(THROUGHPUT)

    @cached_property
    def tail(self) -> Effect:
        """What they change of the percentile that windows have values enough for."""
        return self._effect(self.tail_of)

    def _effect(self, quantity: Quantity) -> Effect:
        off = self.point.replaced(BACKUP, OFF)
        return self.evidence.effect(
            self.candidate, self.candidate, self.point, quantity, against=off
        )

    def value(self, name: str) -> float | None:
        """A value of the backups, the mean of its windows."""
        return self.evidence.level_of(self.candidate, self.point, Quantity(f"backup.{name}", ALL))

    @property
    def asked_per_s(self) -> float | None:
        """At what rate transactions arrived; None where users waited for answers."""
        rates = {window.row.get("rate_per_s") for window in self.at}
        return rates.pop() if len(rates) == 1 else None

    @property
    def at(self) -> tuple[Window, ...]:
        """Its windows."""
        return self.evidence.at(self.candidate, self.point)

    @property
    def load(self) -> Point:
        """All but the settings of backups: what is compared with each other has it in common."""
        return Point(tuple(each for each in self.point.factors if not _is_setting(each[0])))

    @property
    def text(self) -> str:
        """The settings of backups that the study varies: `processes 2, compression zstd`."""
        every = (each for each in self.point.factors if each[0].startswith(SETTINGS))
        return ", ".join(f"{name.removeprefix(SETTINGS)} {said(value)}" for name, value in every)

    def within(self, limit_share: float) -> bool:
        """Whether it was shown to add no more: the upper end of the interval is within."""
        return self.tail.high is not None and self.tail.high - 1 <= limit_share


def _is_setting(name: str) -> bool:
    return name == BACKUP or name.startswith(SETTINGS)


def points_of(evidence: Evidence) -> list[Point]:
    """Those with backups."""
    return [each for each in evidence.points if each.values.get(BACKUP) == ON]


def drawn_point(context: Context) -> Point | None:
    """Where figures show backups; None where a study has none."""
    return context.asked_of(points_of(context.evidence))


def at_load(context: Context, load: Point) -> str:
    """At which load, in words, where there are several."""
    told = [each for each in load.factors if each[0] in context.factors]
    return f" at {Point(tuple(told)).in_words(context.level_unit)}" if told else ""


def settings_of(context: Context) -> tuple[Setting, ...]:
    """Each candidate at each point with backups."""
    evidence = context.evidence
    points = points_of(evidence)
    tail = _tail(evidence, points)
    return tuple(
        Setting(evidence, name, point, tail)
        for point in points
        for name in evidence.candidates
        if evidence.at(name, point)
    )


def _tail(evidence: Evidence, points: list[Point]) -> Quantity:
    """The 99th percentile; the 95th where no window has values enough for it."""
    for point in points:
        for name in evidence.candidates:
            if Setting(evidence, name, point, P99).tail.value is not None:
                return P99
    return P95


def limit_share(context: Context) -> float:
    """What a backup may add to the percentile, as the study says."""
    return limit_said(context.manifest.scenario if context.manifest else "")


def is_own(context: Context) -> bool:
    """Whether rates are shares of each candidate's own maximum."""
    return of_said(context.manifest.scenario if context.manifest else "") == "own"


def fastest(settings: Iterable[Setting], share: float) -> Setting | None:
    """The fastest of them that was shown to stay within; None where none was."""
    known = [each for each in settings if each.within(share) and each.value("duration_s")]
    return min(known, key=lambda each: each.value("duration_s") or 0.0, default=None)


def maxima(context: Context) -> tuple[tuple[Point, dict[str, float]], ...]:
    """What each candidate did as fast as its users could, transactions a second, by level."""
    evidence = context.evidence
    found = []
    for point in evidence.points:
        if point.values.get(RATE) == MAXIMUM:
            rates = {
                name: value / 60
                for name in evidence.candidates
                if (value := _first(evidence, name, point)) is not None
            }
            if rates:
                found.append((point, rates))
    return tuple(found)


def _first(evidence: Evidence, candidate: str, point: Point) -> float | None:
    """Of the window that the rates were taken from, valid or not: of a second attempt if any."""
    windows = sorted(evidence.at(candidate, point), key=lambda each: -each.attempt)
    known = (each.value("tpm") for each in windows if each.measured and each.block == 0)
    return next((each for each in known if each is not None), None)


def where(context: Context, setting: Setting) -> str:
    """The candidate, and what of the point tells it from others."""
    others = [
        f"{name.removeprefix(SETTINGS)} {said(setting.point.values[name])}"
        for name in context.factors
        if name != BACKUP and not factor_named(name).counts
    ]
    return f"{setting.candidate} ({', '.join(others)})" if others else setting.candidate
