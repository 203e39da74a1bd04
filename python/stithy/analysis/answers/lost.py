"""Whose windows were invalid, and by what; which blocks were measured once more for that.

Windows are rarely lost by chance alone: where it is mostly one candidate's, that is a pattern, and
the windows that are left may not be typical of it.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.validity.flags import Flag


@dataclass(frozen=True)
class Lost:
    """How many of a candidate's `windows` were `invalid`, and how many of these by which flag.

    `flags`: the most frequent first; a window may have several. Windows that were dropped with
    their block alone, for another one's failure, are not among the invalid ones.
    """

    candidate: str
    windows: int
    invalid: int
    flags: tuple[tuple[Flag, int], ...]


@dataclass(frozen=True)
class MeasuredAgain:
    """A block that was measured once more; `valid`: whether all windows of that are valid."""

    users: int
    block: int
    valid: bool


def lost(evidence: Evidence) -> tuple[Lost, ...]:
    """Each candidate with what it lost, in the order of the study.

    Own: a count over all windows, of first and second measurements alike.
    """
    return tuple(_lost(name, evidence.windows) for name in evidence.candidates)


def _lost(candidate: str, windows: Iterable[Window]) -> Lost:
    own = [window for window in windows if window.candidate == candidate]
    failed = [window for window in own if window.failures]
    flags = Counter(flag for window in failed for flag in dict.fromkeys(window.failures))
    return Lost(candidate, len(own), len(failed), tuple(flags.most_common()))


def measured_again(evidence: Evidence) -> tuple[MeasuredAgain, ...]:
    """The blocks that were measured once more, by level and block.

    Own: by the attempts of the windows.
    """
    valid: dict[tuple[int, int], bool] = {}
    for window in evidence.windows:
        if window.attempt:
            key = (window.users, window.block)
            valid[key] = valid.get(key, True) and window.valid
    return tuple(MeasuredAgain(*key, valid=valid[key]) for key in sorted(valid))
