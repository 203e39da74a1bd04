"""The emulation of drives: answers that were late, or took longer than their profile says."""

from stithy.analysis.limits.rule import HALF, Answer
from stithy.analysis.limits.sight import Sight

NAME = "emulation"
LETTER = "E"
WORDS = "the emulation of drives"
SHORT = "drive emulation"
HEADING = "Emulation"
TOLD = ""
HOLDS_FROM = HALF
IS_STORAGE = False


def judge(sight: Sight) -> Answer | None:
    """All where it failed; None where no drive is emulated.

    Source: docs/explanation/method.md, on emulated drives.
    """
    if not sight.emulated:
        return None
    if sight.slowed is None:
        return Answer(0.0, "it kept to its profiles")
    return Answer(1.0, sight.slowed, is_proven=True)
