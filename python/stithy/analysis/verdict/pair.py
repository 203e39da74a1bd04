"""Which two of several candidates the question is about, and what that choice costs."""

from collections.abc import Mapping


def farthest_pair(means: Mapping[str, float]) -> tuple[str, str] | None:
    """The candidates with the least and the most, in this order; None with fewer than two.

    Edge case: the order of `means` decides between equals, so that equal results are told equally.
    Own: a question about several options is first one about the ends.
    """
    if len(means) < 2:
        return None
    least = min(means, key=lambda name: means[name])
    most = max((name for name in means if name != least), key=lambda name: means[name])
    return least, most


def pairs_among(candidates: int) -> int:
    """From how many pairs the farthest was chosen after all were measured; at least 1.

    Source: Bonferroni's bound, which needs no law of how pairs depend on each other.
    """
    return max(1, candidates * (candidates - 1) // 2)
