"""The adviser that asks for a block once more where a window of it is invalid.

Whether one is invalid is not known here: `analysis` knows, and the command line hands that in.
"""

from collections.abc import Callable, Mapping, Sequence

from stithy.plan.again import again, blocks_over
from stithy.plan.further import Further
from stithy.results.layout import RunDirectory
from stithy.run.deciding.further import SoFar

Invalid = Callable[[RunDirectory, Sequence[str]], Mapping[str, str]]
"""Which of these windows are invalid, by id, and why in a few words.

A window without results is not. A seam: tests say it of what they like.
"""


class Again:
    """Asks once for each block that has an invalid window."""

    def __init__(self, invalid: Invalid) -> None:
        """`invalid` is asked once for each block."""
        self._invalid = invalid
        self._sound: set[str] = set()

    def __call__(self, so_far: SoFar) -> Further | None:
        """The windows of the first such block, once more; an `Adviser`."""
        for block in blocks_over(so_far.steps, so_far.done):
            last = block[-1].id
            if last in self._sound:
                continue
            if found := self._invalid(so_far.directory, [window.id for window in block]):
                told = ", ".join(f"{name} ({why})" for name, why in found.items())
                because = f"the block is measured once more, for this is invalid: {told}"
                return Further(last, again(block), because)
            self._sound.add(last)
        return None
