"""What limited a candidate at a level: what limited most of its windows there."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from stithy.analysis.limits.judge import Limited, rules


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

CAPS = ("users", "pool", "driver", "emulation")
"""Limits by which a throughput tells of what was asked, not of what answered."""


def at_level(limited: Sequence[Limited]) -> Cause | None:
    """What limited most of these windows; None where there are none.

    Own: the commonest; of equally common ones what comes first.
    """
    if not limited:
        return None
    kind, windows = Counter(each.kind for each in limited).most_common(1)[0]
    mine = [each for each in limited if each.kind == kind]
    storage = [each.storage_share for each in mine if each.storage_share is not None]
    return Cause(
        kind, _share(mine), windows, len(limited), _says(mine[0]),
        fmean(storage) if len(storage) == len(mine) else None,
        any(each.is_storage_result for each in mine),
        *_cpus(limited),
    )  # fmt: skip


def _cpus(limited: Sequence[Limited]) -> tuple[str | None, float | None]:
    """The rule on CPUs that judged all these windows, and how busy they were on average."""
    for rule in CPU_RULES:
        found = [judged.share for each in limited for judged in each.judged if judged.rule == rule]
        shares = [share for share in found if share is not None]
        if len(shares) == len(limited):
            return rule, fmean(shares)
    return None, None


def _share(limited: Sequence[Limited]) -> float | None:
    shares = [each.by.share for each in limited if each.by is not None]
    known = [share for share in shares if share is not None]
    if known:
        return fmean(known)
    return None if limited[0].silent or not limited[0].judged else limited[0].judged[0].share


def _says(limited: Limited) -> str:
    if limited.by is not None:
        return limited.by.says
    if not limited.silent:
        return limited.judged[0].says
    return f"{' and '.join(words(each.rule) for each in limited.silent[:2])} could not be judged"


def words(limit: str) -> str:
    """What limited, as a sentence has it.

    Own: the rule's words.
    """
    return str(rules()[limit].WORDS)


def short(limit: str) -> str:
    """The same in few words.

    Own: the rule's words.
    """
    return str(rules()[limit].SHORT)
