"""A flag with the numbers that raised it, as a sentence and an advice."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from stithy.analysis.validity.flags import Flag
from stithy.analysis.validity.texts import TEXTS


@dataclass(frozen=True)
class Reason:
    """One flag with the numbers that raised it, already as text for its sentence."""

    flag: Flag
    data: Mapping[str, str] = field(default_factory=dict)

    @property
    def invalidates(self) -> bool:
        """Whether this reason alone makes the window invalid."""
        return self.flag.invalidates

    @property
    def sentence(self) -> str:
        """What was seen, in one sentence."""
        return TEXTS[self.flag][0].format(**self.data)

    @property
    def advice(self) -> str:
        """What a person can do about it, in one sentence."""
        return TEXTS[self.flag][1]


def clause(text: str) -> str:
    """A text of elsewhere as the end of a sentence: one line, no full stop of its own.

    Own: what is said here ends with the one full stop of its sentence.
    """
    return " ".join(str(text).split()).rstrip(".")
