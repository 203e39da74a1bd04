"""Stalls while a checkpoint runs: seconds in which hardly anything was done."""

from stithy.analysis.limits.rule import Answer, percent, unknown
from stithy.analysis.limits.sight import Sight

NAME = "checkpoints"
LETTER = "P"
WORDS = "stalls in checkpoints"
SHORT = "checkpoint stalls"
HEADING = "Lost in checkpoints"
TOLD = "{share} of the throughput"
HOLDS_FROM = 0.1
"""Own: a tenth of the throughput is more than windows vary by themselves."""

IS_STORAGE = True


def judge(sight: Sight) -> Answer:
    """The share of the throughput that stalls in checkpoints cost.

    Own: against the median of the seconds.
    """
    if sight.stalled_share is None:
        return unknown(sight.unseen.get("database", "checkpoints were not sampled"))
    share = sight.stalled_share
    return Answer(share, f"stalls in checkpoints cost {percent(share)} of the throughput")
