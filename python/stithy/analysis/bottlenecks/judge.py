"""What limited a window, and what limited a candidate at a level: the tightest of the bounds.

Where no rule that has a result holds, a rule without one may have: then it is not determined.
Where all have one, several limits have a part and none of them half.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from stithy.analysis.bottlenecks.observation import Observation, bound_share
from stithy.analysis.bottlenecks.rules import RULES, RuleResult

SEVERAL, UNKNOWN = "several", "unknown"
"""What a window is limited by where no rule holds."""

NO_STORAGE_SHARE = 0.1
"""Own: storage that took no time at all would let the users do at most a ninth more."""


@dataclass(frozen=True, kw_only=True)
class Judged(RuleResult):
    """What a rule of this name found in a window; `holds` is None where it could not speak."""

    rule: str
    holds: bool | None


@dataclass(frozen=True)
class Limited:
    """What limited a window: `by` None where no rule holds. `judged` are all, tightest first.

    `storage_share`: part of the users' time that they spent with storage; None where not known.
    `storage_samples`: of so many samples; None where it was counted.
    """

    window_id: str
    by: Judged | None
    judged: tuple[Judged, ...]
    storage_share: float | None
    storage_samples: int | None = None

    @property
    def kind(self) -> str:
        """The name of the rule, `several` or `unknown`."""
        if self.by is not None:
            return self.by.rule
        return UNKNOWN if self.silent else SEVERAL

    @property
    def also(self) -> tuple[Judged, ...]:
        """The others that hold."""
        return tuple(each for each in self.judged if each.holds and each is not self.by)

    @property
    def silent(self) -> tuple[Judged, ...]:
        """The rules that could not speak."""
        return tuple(each for each in self.judged if each.holds is None)

    @property
    def is_storage_result(self) -> bool:
        """Whether other storage could have changed the throughput; True where it is not known."""
        if self.by is None or RULES[self.by.rule].is_storage:
            return True
        return self.storage_share is None or self.storage_share > NO_STORAGE_SHARE


def judge(observed: Observation) -> Limited:
    """What limited a window.

    Own: the tightest of the bounds that are reached far enough, those first that the throughput
    proves; of equal ones the first of the table.
    """
    judged = []
    for rule in RULES.values():
        if (answer := rule.judge(observed)) is not None:
            holds = None if answer.share is None else bool(answer.share >= rule.holds_from)
            facts = {**vars(answer), "is_proven": bool(holds and answer.is_proven)}
            judged.append(Judged(**facts, rule=rule.name, holds=holds))
    # What is proven first, then the largest share, and last what could not speak.
    judged.sort(key=lambda each: (not each.is_proven, each.share is None, -(each.share or 0.0)))
    held = [each for each in judged if each.holds]
    before = RULES[held[0].rule].yields_to if held else ()
    by = next((each for each in held if each.rule in before), held[0] if held else None)
    shares = observed.storage_share, observed.storage_samples
    return Limited(observed.window_id, by, tuple(judged), *shares)


@dataclass(frozen=True)
class Cause:
    """What limited most of some windows.

    `limit`: the name of a rule, `several` or `unknown`. `share`: the mean of what they reached of
    that bound; of several limits what the first of these windows reached of the tightest one; None
    where it is not determined. `windows` of `windows_all` it was. `says`: what was seen in the
    first of these, or what could not be judged. `storage_share`: mean part of the users' time that
    went to storage at most, where it is known of all of them. `is_storage_result`: whether other
    storage could have changed the throughput. `cpus`: the rule that judged the CPUs of the server,
    or of the host where it may use all; `cpus_share`: how busy they were, mean over the windows.
    `samples`, `storage_samples`: from how many samples the shares come; None where counted. `of`:
    the exporter of the host that limited the first of these; empty for this machine.
    """

    limit: str
    share: float | None
    windows: int
    windows_all: int
    says: str
    storage_share: float | None
    is_storage_result: bool
    cpus: str | None = None
    cpus_share: float | None = None
    samples: int | None = None
    storage_samples: int | None = None
    of: str = ""

    @property
    def storage_most(self) -> float | None:
        """The upper end of what is known of `storage_share`, for who says that it was at most so.

        Own: of few samples the end of their interval.
        """
        known = bound_share(self.storage_share, self.storage_samples)
        return self.storage_share if known is None else known[1]

    @property
    def is_full(self) -> bool:
        """Whether CPUs were so busy that faster storage could hardly give more throughput."""
        return self.cpus_share is not None and self.cpus_share >= CPUS_FULL

    @property
    def is_cap(self) -> bool:
        """Whether it is the users, or the instrument, that kept the throughput down."""
        return self.limit in CAPS


CPUS_FULL = 0.85
"""Source: the utilisation law: at most 18 % more throughput is left where CPUs are so busy, so that
a ratio of throughputs beyond it cannot show."""

CPU_RULES = ("server-cpu", "host-cpu")

CAPS = ("demand", "pool", "driver", "network", "emulation")
"""Limits by which a throughput tells of what was asked, not of what answered."""


def judge_level(limited: Sequence[Limited]) -> Cause | None:
    """What limited most of these windows; None where there are none.

    Own: the commonest; of equally common ones what comes first.
    """
    if not limited:
        return None
    kind, windows = Counter(each.kind for each in limited).most_common(1)[0]
    mine = [each for each in limited if each.kind == kind]
    storage = [each.storage_share for each in mine if each.storage_share is not None]
    return Cause(
        kind, _average_share(mine), windows, len(limited), _explain_limit(mine[0]),
        fmean(storage) if len(storage) == len(mine) else None,
        any(each.is_storage_result for each in mine),
        *_find_cpus(limited), _sum_samples([each.by.samples if each.by else None for each in mine]),
        _sum_samples([each.storage_samples for each in mine]), mine[0].by.of if mine[0].by else "",
    )  # fmt: skip


def _sum_samples(each: Sequence[int | None]) -> int | None:
    """All of some windows; None where one of them was counted."""
    known = [count for count in each if count is not None]
    return sum(known) if len(known) == len(each) else None


def _find_cpus(limited: Sequence[Limited]) -> tuple[str | None, float | None]:
    for rule in CPU_RULES:
        found = [judged.share for each in limited for judged in each.judged if judged.rule == rule]
        shares = [share for share in found if share is not None]
        if len(shares) == len(limited):
            return rule, fmean(shares)
    return None, None


def _average_share(limited: Sequence[Limited]) -> float | None:
    shares = [each.by.share for each in limited if each.by is not None]
    known = [share for share in shares if share is not None]
    if known:
        return fmean(known)
    return None if limited[0].silent or not limited[0].judged else limited[0].judged[0].share


def _explain_limit(limited: Limited) -> str:
    if limited.by is not None:
        return limited.by.says
    if not limited.silent:
        return limited.judged[0].says
    silent = (RULES[each.rule].words for each in limited.silent[:2])
    return f"{' and '.join(silent)} could not be judged"
