"""What is said of the windows that are shown where not all can be."""

from stithy.analysis.answers.typical import Block
from stithy.report.words.wording import plural


def block_said(block: Block) -> str:
    """`block 2, the median of 6 by new orders per minute`; `the only block`."""
    again = ", measured again" if block.attempt else ""
    if block.among < 2 or block.value is None:
        return f"block {block.number}{again}"
    among = plural(block.among, "block").removesuffix(" blocks")
    return f"block {block.number}{again}, the median of {among} by {block.metric.noun}"
