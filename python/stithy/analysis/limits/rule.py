"""What a rule is: one thing that can limit a window, judged from what was seen of the window.

A rule is one module in `rules/` with `NAME`, `LETTER` (its mark in a strip; one of its own),
`WORDS` (what limited, as in "limited by …"), `SHORT` (the same in few words), `HEADING` (its share
above a column), `TOLD` (its share in a sentence, empty where that says nothing), `HOLDS_FROM` (from
which share on it limits, with the reason), `IS_STORAGE` (whether other storage would lift it) and
`judge(sight)`; one that comes after another where both hold, however tight, names it in
`YIELDS_TO`. It returns an `Answer`, or None where it does not apply. What was not watched makes a
rule unable to speak, which is not the same as a limit that was not there.
"""

from dataclasses import dataclass
from math import ceil

HALF = 0.5
"""Own: from half on, all else together could at most double the throughput, and nothing else can
have a larger part of the same time."""

NEARLY_FULL = 0.8
"""Source: the utilisation law (Denning and Buzen, 1978): what is busy for four fifths of the time
can do at most a quarter more. Own: a fifth is what arrivals by chance leave idle of a full queue
with few users."""


@dataclass(frozen=True)
class Answer:
    """What a rule found: how much of its bound the window reached, as a share of 1, and in words.

    `share` is None where the rule could not speak, `because` says then what is missing.
    `is_proven`: the throughput itself shows that the bound is reached, whatever else was full.
    """

    share: float | None
    says: str = ""
    because: str | None = None
    is_proven: bool = False


def unknown(because: str) -> Answer:
    """The answer of a rule that cannot speak.

    Own: missing is never 0.
    """
    return Answer(None, "", because)


def at_most(share: float) -> str:
    """A share of which is said that nothing was more: never rounded down.

    Own: as `percent`.
    """
    return f"{ceil(100 * share - 1e-9)} %"


def percent(share: float) -> str:
    """A share as the words of a rule have it: `63 %`.

    Own: whole per cents, which is what samples of a window bear.
    """
    return f"{100 * share:.0f} %"
