"""How many of the measured users each candidate serves within a limit, searched for or not.

Of listed levels the next one may be far off: what is told is a measured level, and never a level
in between.
"""

from dataclasses import dataclass

from stithy.analysis.evidence import Evidence
from stithy.analysis.search.bracket import Trial
from stithy.analysis.search.served import capacity_of, trials
from stithy.search import Limit, Search


@dataclass(frozen=True)
class Within:
    """The highest level that obeys with nothing below it that does not.

    `users` is None where no level is known to; `missing_because` says why. `not_at` is the next
    level that does not obey. Where there is none of these it is *at least* so many: `open_because`
    says why no more is known, None where the highest measured level obeys.
    """

    users: int | None
    not_at: int | None = None
    open_because: str | None = None
    missing_because: str | None = None

    @property
    def at_least(self) -> bool:
        """Whether more users may be within the limit than are known to be.

        Own: no level that does not obey was found.
        """
        return self.users is not None and self.not_at is None


def within(evidence: Evidence, candidate: str, limit: Limit) -> Within:
    """How many users a candidate serves within a limit, by its valid windows.

    Own: the bracket of a search (`bracket`), of which every measured level is one that was tried.
    """
    if not evidence.levels:
        return Within(None, missing_because="the run has no window yet")
    found = capacity_of(evidence, candidate, _search(evidence, limit))
    not_at = found.high.users if found.high else None
    if found.low is not None:
        because = None
        if found.stopped_at is not None:
            because = f"at {found.stopped_at:,} {found.because}"
        elif not_at is None and _is_cut_off(evidence, found.cut_off):
            because = "its search was cut off"
        return Within(found.low.users, not_at, because)
    if not_at is not None:
        return Within(None, not_at, missing_because=f"at {not_at:,} it is beyond the limit")
    return Within(None, missing_because=found.because or "no window tells of it")


def tried(evidence: Evidence, candidate: str, limit: Limit) -> tuple[Trial, ...]:
    """What the windows of a candidate say of a limit, level by level, upwards.

    Edge cases: as `trials` has them; nothing where the run has no window yet.
    Own: what `within` rests on.
    """
    if not evidence.levels:
        return ()
    return trials(evidence, candidate, _search(evidence, limit))


def _search(evidence: Evidence, limit: Limit) -> Search:
    """The run's own search, or one over all levels."""
    if evidence.search is not None and evidence.search.limit == limit:
        return evidence.search
    return Search(limit, min(evidence.levels), max(evidence.levels), evidence.levels)


def _is_cut_off(evidence: Evidence, cut_off: bool) -> bool:
    return evidence.search is not None and cut_off
