"""How what limited a window is shown: its letter, words and colour, the same everywhere."""

from dataclasses import dataclass

from stithy.analysis.limits.judge import SEVERAL, UNKNOWN, rules
from stithy.report.drawing import palette

INVALID = "invalid"
"""In place of a limit, of windows that support no claim."""


@dataclass(frozen=True)
class Look:
    """Letter and words of a limit, and the light literal of its colour."""

    letter: str
    words: str
    colour: str

    @property
    def label(self) -> str:
        """In a legend: `L  the commit log`."""
        return f"{self.letter}  {self.words}"


def looks(*, is_open: bool = False) -> dict[str, Look]:
    """All limits by name, in the order of a legend: rules, then what is none of them."""
    found = {
        name: Look(rule.LETTER, rule.WORDS, palette.LIMIT_COLOURS.get(name, palette.OTHER_LIMIT)[0])
        for name, rule in rules().items()
    }
    if is_open:
        users = found["users"]
        found["users"] = Look(users.letter, "the rate that was asked for", users.colour)
    return found | {
        SEVERAL: Look("M", "several, none by itself", palette.LIMIT_COLOURS[SEVERAL][0]),
        UNKNOWN: Look("?", "not determined", palette.LIMIT_COLOURS[UNKNOWN][0]),
        INVALID: Look("–", "invalid window", palette.PAPER[0]),
    }
