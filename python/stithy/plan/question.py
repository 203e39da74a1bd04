"""The primary question of a study: what it asks, as declared or else derived."""

from dataclasses import dataclass

from stithy.metrics import NOPM, P95
from stithy.study.model import Study
from stithy.study.primary import BLOCKS_LEAST


@dataclass(frozen=True)
class Question:
    """Which of two candidates is better at a level, by a metric, beyond a margin.

    `metric` is written as a study has it.

    `candidates`: the pair; None for the slowest and the fastest of more than two. `blocks_least`
    are measured in any case, `blocks_most` if it stays undecided; they are equal where the study
    fixes their number. `derived`: the keys that the study does not declare.
    """

    users: int
    metric: str
    margin_share: float
    candidates: tuple[str, str] | None
    blocks_least: int
    blocks_most: int
    derived: tuple[str, ...]

    def may_spare(self, users: int, block: int) -> bool:
        """Whether this block, counted from 0, is left out once the question is decided."""
        return users == self.users and block >= self.blocks_least


def question(study: Study, names: tuple[str, ...]) -> Question | None:
    """The primary question about these candidates.

    None where a single one compares with none, and where there is no level to ask about.
    """
    if len(names) < 2 or not study.load.users:
        return None
    primary, repeat = study.primary, study.load.repeat
    asked = ("users", "metric", "margin_percent")
    return Question(
        users=primary.users or max(study.load.users),
        metric=primary.metric or _metric(study),
        margin_share=primary.margin_percent / 100,
        candidates=_pair(primary.candidates or names),
        blocks_least=repeat or min(BLOCKS_LEAST, primary.blocks),
        blocks_most=repeat or primary.blocks,
        derived=tuple(key for key in asked if key not in primary.model_fields_set),
    )


def _pair(names: tuple[str, ...]) -> tuple[str, str] | None:
    return (names[0], names[1]) if len(names) == 2 else None


def _metric(study: Study) -> str:
    """Response time where the users themselves, and not the storage, say how much is done."""
    paced = study.load.pauses or study.load.rate_per_s is not None
    return str(P95 if paced else NOPM)
