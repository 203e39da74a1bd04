"""All rules on one window: the tightest bound is what limited it, the others that hold come after.

Where no rule that could speak holds, a rule that could not may have: then it is not determined.
Where all spoke, several limits have a part and none of them half.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType

from stithy.analysis.limits.rule import Answer
from stithy.analysis.limits.sight import Sight
from stithy.registry import plugins

SEVERAL, UNKNOWN = "several", "unknown"
"""What a window is limited by where no rule holds."""

NO_STORAGE_SHARE = 0.1
"""Own: storage that took no time at all would let the users do at most a ninth more."""


@dataclass(frozen=True)
class Judged:
    """What a rule of this name said of a window; `holds` is None where it could not speak.

    `is_proven`: as of an `Answer`.
    """

    rule: str
    share: float | None
    says: str
    because: str | None
    holds: bool | None
    is_proven: bool = False


@dataclass(frozen=True)
class Limited:
    """What limited a window: `by` None where no rule holds. `judged` are all, tightest first.

    `storage_share`: part of the users' time that they spent with storage; None where not known.
    """

    window_id: str
    by: Judged | None
    judged: tuple[Judged, ...]
    storage_share: float | None

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
        if self.by is None or rules()[self.by.rule].IS_STORAGE:
            return True
        return self.storage_share is None or self.storage_share > NO_STORAGE_SHARE


def rules() -> dict[str, ModuleType]:
    """All rules by name.

    Own: found like every plug-in.
    """
    return plugins("limit")


def judge(sight: Sight) -> Limited:
    """What limited a window.

    Own: the tightest of the bounds that are reached far enough, those first that the throughput
    proves; of equal ones the first by file.
    """
    found = [(rule, rule.judge(sight)) for rule in rules().values()]
    judged = _ordered(_judged(rule, answer) for rule, answer in found if answer is not None)
    return Limited(sight.window_id, _tightest(judged), judged, sight.storage_share)


def _tightest(judged: Sequence[Judged]) -> Judged | None:
    """The first that holds, or the one that holds to which it yields; None where none does."""
    held = [each for each in judged if each.holds]
    if not held:
        return None
    before = getattr(rules()[held[0].rule], "YIELDS_TO", ())
    return next((each for each in held if each.rule in before), held[0])


def _judged(rule: ModuleType, answer: Answer) -> Judged:
    holds = None if answer.share is None else bool(answer.share >= rule.HOLDS_FROM)
    proven = bool(holds and answer.is_proven)
    return Judged(rule.NAME, answer.share, answer.says, answer.because, holds, proven)


def _ordered(judged: Iterable[Judged]) -> tuple[Judged, ...]:
    """What is proven first, then the largest share, and last what could not speak."""
    return tuple(
        sorted(
            judged,
            key=lambda each: (not each.is_proven, each.share is None, -(each.share or 0.0)),
        )
    )
