"""Findings of a run, a module each: `NAME`, `say(finding, unit)`, and where it is found here
`find(context)`.

`say` gives its sentence, or a few; `unit` is what levels count: `user`, or in an open loop
`connection`. `find` yields values that have `NAME` as their `kind`. They follow those findings on
which verdicts rest, and which `stithy.analysis.answers.findings` therefore makes.
"""

from collections.abc import Sequence
from typing import Any

from stithy.registry import plugins


def sentences(found: Sequence[Any], unit: str) -> tuple[str, ...]:
    """Each finding in words."""
    return tuple(plugins("finding")[finding.kind].say(finding, unit) for finding in found)
