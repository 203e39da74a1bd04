"""The primary question of a run, as analysis reads it: what is compared, where, how finely."""

from dataclasses import dataclass

from stithy.analysis.verdict.boundaries import BLOCKS_MOST
from stithy.analysis.verdict.decide import MARGIN_SHARE
from stithy.metrics import NOPM, Quantity


@dataclass(frozen=True)
class Asked:
    """Which of two candidates is better by `metric` at a level, beyond a margin.

    `users` None: at the highest level at which two can be compared. `pair` None: the two that are
    farthest apart. `blocks_most`: valid blocks after which no further ones are measured.
    `by_search`: nothing of this is asked, but which candidate serves more users within a limit.
    """

    metric: Quantity = NOPM
    users: int | None = None
    pair: tuple[str, str] | None = None
    margin_share: float = MARGIN_SHARE
    blocks_most: int = BLOCKS_MOST
    by_search: bool = False
