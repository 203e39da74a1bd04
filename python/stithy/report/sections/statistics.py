"""How verdicts are made: the statistics, and what cross-checks them."""

from collections.abc import Iterator

from stithy.analysis.comparisons import count_pairs
from stithy.report.blocks import APPENDIX, Block, Section, grid, paragraph
from stithy.report.page import Page
from stithy.report.parts.certainty import verdict_rule

NAME = "statistics"


def sections(page: Page) -> Iterator[Section]:
    """Where candidates were compared."""
    if not page.tables["verdicts"].frame.is_empty():
        blocks = tuple(_blocks(page))
        yield Section("statistics", APPENDIX + 120, "How verdicts are made", blocks)


def _blocks(page: Page) -> Iterator[Block]:
    rule = verdict_rule(page.context)
    yield from paragraph(
        f"The verdict follows from the interval of the mean {rule['of']} over the blocks. It is "
        f"better or worse if the interval excludes {rule['none']}, and equivalent if the interval "
        f"lies within a margin of {rule['margin']} around {rule['none']}. If both hold, the "
        "difference is negligible. If neither holds, the verdict is undecided.",
        f"Interim analyses take place at {rule['interim_blocks']} blocks. Their conservative 95 % "
        "intervals are wide enough for all analyses together. In simulations of equal candidates, "
        "at most 5 of 100 studies claim a difference, and 7 if neighbouring blocks are slightly "
        "correlated. With a candidate that has rare long stalls, wrong claims are more frequent.",
        f"A single interval contains the true {rule['effect']} in 99.4 of 100 studies with normal "
        "noise, and in more from six blocks on. The narrower plain interval is in the data. Before "
        "the first interim analysis there is no verdict, only a plain t interval, which is valid "
        "for a single analysis.",
    )
    yield from paragraph(
        f"One comparison answers the question{_chosen(count_pairs(page.context.evidence))}.",
        "All other comparisons are exploratory. They are adjusted for the number of levels of a "
        "pair and metric (Holm), but not for the number of pairs and metrics. A difference that "
        "the adjusted test does not support is not claimed: the verdict is undecided, or "
        "equivalent if the interval lies within the margin.",
    )
    yield from grid(page.tables["orders"])
    if not page.tables["certainty"].frame.is_empty():
        yield from _cross_checks(page, rule["caution"])


def _chosen(pairs: int) -> str:
    if pairs < 2:
        return ""
    return (
        f": that of the two candidates farthest apart. They were chosen from {pairs} pairs after "
        "the measurement, so the test is adjusted for the number of pairs (Bonferroni)"
    )


def _cross_checks(page: Page, caution: str) -> Iterator[Block]:
    yield from paragraph(
        "The lag-1 correlation is that of neighbouring blocks. Every interval is widened by a "
        f"factor of {caution}, and by more if this correlation is large.",
        '"p-value, at most" is an upper bound: how often the same analyses show at least this '
        "difference if the candidates are equal, adjusted as above. Above 5 %, no difference is "
        "claimed.",
        "The other columns decide nothing. The random-sign test assumes noise that is equally "
        "likely with either sign. Its p-value is at least 2/2ⁿ with n blocks. The bootstrap "
        "resamples the blocks; with few blocks it is too narrow. The last column assumes that mean "
        "and spread stay as they are.",
    )
    yield from grid(page.tables["certainty"])
