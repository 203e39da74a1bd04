"""The levels of the factor `fault`: one fault, several at once, or one that was drawn.

`drive-slow`, `drive-slow+server-killed`, and `server-killed.3` for the third of those drawn.
"""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from itertools import combinations
from random import Random
from typing import TYPE_CHECKING

from stithy.plan.steps import derive_seed
from stithy.registry import plugins
from stithy.scenarios.failure.fault import FaultKeys, FaultKind, Target, TogetherKeys

if TYPE_CHECKING:
    from stithy.study.model import Study

JOINT, DRAWN = "+", "."
EARLIEST_SHARE, LATEST_SHARE = 0.1, 0.4
"""Own: of the measurement, between which a drawn fault strikes, and how long it lasts."""


def list_parts(level: str) -> list[str]:
    """List the names of the faults that strike in windows of a level."""
    return level.partition(DRAWN)[0].split(JOINT)


def get_fault(level: str) -> FaultKind:
    """Give the fault of a level; several at once behave as one."""
    known = plugins(FaultKind)
    parts = [known[name] for name in list_parts(level)]
    return parts[0] if len(parts) == 1 else FaultsTogether(parts)


def draw_levels(faults: Mapping[str, FaultKeys], count: int, seed: int) -> dict[str, FaultKeys]:
    """Draw so many of the faults, each with its options and a number from 1."""
    names = sorted(faults)
    drawn = (Random(derive_seed(seed, "fault", number)).choice(names)
             for number in range(1, count + 1))  # fmt: skip
    return {f"{name}{DRAWN}{number}": faults[name] for number, name in enumerate(drawn, 1)}


def draw_times_s(level: str, seed: int, duration_s: float) -> tuple[float, float]:
    """Draw when the fault of a drawn level strikes in a measurement, and how long it lasts."""
    random = Random(derive_seed(seed, "times", level.rpartition(DRAWN)[2]))
    shares = (random.uniform(EARLIEST_SHARE, LATEST_SHARE) for _ in range(2))
    return next(shares) * duration_s, next(shares) * duration_s


class FaultsTogether(FaultKind):
    """Several faults that strike at once; they are healed by their rank."""

    def __init__(self, parts: Iterable[FaultKind]) -> None:
        """In the order in which they strike."""
        self._parts = tuple(parts)
        self.name = JOINT.join(part.name for part in self._parts)
        self.text = " and ".join(part.text for part in self._parts)
        self.expects = frozenset().union(*(part.expects for part in self._parts))
        self.explains = frozenset().union(*(part.explains for part in self._parts))
        self.needs = tuple(need for part in self._parts for need in part.needs)
        self.room_share = max(part.room_share for part in self._parts)
        self.examines = any(part.examines for part in self._parts)

    def _pair(self, keys: TogetherKeys) -> list[tuple[FaultKind, FaultKeys]]:
        return [(part, keys.parts[part.name]) for part in self._parts]

    def explain_refusal(self, study: "Study", candidate: str, keys: TogetherKeys) -> str | None:
        """Give the first reason of any, or that one would end what another has begun."""
        pairs = self._pair(keys)
        reasons = (part.explain_refusal(study, candidate, of) for part, of in pairs)
        if because := next(filter(None, reasons), None):
            return because
        for (one, of_one), (other, of_other) in combinations(pairs, 2):
            if same := one.list_rules(of_one) & other.list_rules(of_other):
                return f"{one.name} and {other.name} would end each other: both set {min(same)}"
        return None

    def is_promised(self, study: "Study", candidate: str, keys: TogetherKeys) -> bool:
        """Whether each alone is survived, and no more drives fail than may at once."""
        from stithy.scenarios.failure.faults.drives import count_survived

        pairs = self._pair(keys)
        taken = frozenset[int]().union(*(part.list_taken(of) for part, of in pairs))
        if len(taken) > 1 and len(taken) > count_survived(study, candidate):
            return False
        return all(part.is_promised(study, candidate, of) for part, of in pairs)

    def inject(self, target: Target, keys: TogetherKeys) -> None:
        """Break all, one right after the other."""
        for part, of in self._pair(keys):
            part.inject(target, of)

    def fail_over(self, target: Target, keys: TogetherKeys) -> None:
        """Do it for all, one after the other."""
        for part, of in self._pair(keys):
            part.fail_over(target, of)

    def heal(self, target: Target, keys: TogetherKeys) -> None:
        """Repair the storage first, then what stands on it."""
        with ExitStack() as last_first:  # one that cannot be repaired keeps no other broken
            for part, of in sorted(self._pair(keys), key=lambda pair: -pair[0].rank):
                last_first.callback(part.heal, target, of)

    def find_loss(self, target: Target, keys: TogetherKeys) -> str | None:
        """Give the first loss of any."""
        losses = (part.find_loss(target, of) for part, of in self._pair(keys))
        return next(filter(None, losses), None)

    def rebuild(self, target: Target, keys: TogetherKeys) -> str | None:
        """Restore all redundancy, one after the other."""
        outcomes = [part.rebuild(target, of) for part, of in self._pair(keys)]
        return "; ".join(filter(None, outcomes)) or None

    def is_noticeable(self, target: Target) -> bool:
        """Whether the storage can know of any."""
        return any(part.is_noticeable(target) for part in self._parts)

    def is_detected(self, target: Target) -> bool:
        """Whether the storage knows of any."""
        parts = (part for part in self._parts if part.is_noticeable(target))
        return any(part.is_detected(target) for part in parts)
