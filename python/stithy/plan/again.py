"""Measuring a block once more: which blocks are over, and the windows of their second measurement.

A window that is invalid says nothing of its storage, and its block nothing of the comparison. The
whole block is measured once more and not the one window alone: candidates are compared only if they
were measured back to back. Users draw from the same seed and the windows keep their order, so that
it stands for the block that was drawn. That is done once: what fails twice will fail again.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from stithy.plan.ids import window_id
from stithy.plan.steps import Step, WindowPlan

Block = tuple[WindowPlan, ...]
"""The windows of one block in their order."""


def blocks_over(steps: Iterable[Step], done: Collection[str]) -> Iterator[Block]:
    """The blocks whose windows are all over, without those of which a second attempt is known.

    Nor are the windows of a search among them: it compares nobody within a block, and measures
    those that say nothing again by itself.
    """
    all_windows = (step.window for step in steps if step.kind == "window")
    windows = [window for window in all_windows if window and not window.tried]
    again = {(window.users, window.block) for window in windows if window.attempt}
    blocks: dict[tuple[int, int], list[WindowPlan]] = {}
    for window in windows:
        blocks.setdefault((window.users, window.block), []).append(window)
    for key, block in blocks.items():
        if key not in again and all(window.id in done for window in block):
            yield tuple(block)


def again(block: Block) -> Block:
    """The same windows in the same order from the same seed, as the block's second attempt."""
    return tuple(
        replace(each, id=window_id(each.candidate, each.users, each.block, attempt=1), attempt=1)
        for each in block
    )
