"""What stays on one line, in all that is drawn and set; elsewhere a space is a space.

Numbers with their units, and a dot between two parts with the part before it.
"""

import re

NO_BREAK = "\N{NO-BREAK SPACE}"

_UNIT = r"(?:(?:%|[µm]?s|min|h|[KMGT]iB|[kMGT]?B)(?:/s|/min)?|users?|blocks?|windows?)(?![\w}])"
_BEFORE_UNIT = re.compile(rf"(?<=\d) (?={_UNIT})")
"""Also of a template's source, in which `%}` ends a statement and is no percent sign."""

_WITHIN_DURATION = re.compile(rf"(?<=\d{NO_BREAK}h) (?=\d+{NO_BREAK}min)")
_WITHIN_MINUTES = re.compile(rf"(?<=\d{NO_BREAK}min) (?=\d+{NO_BREAK}s)")


def bound(text: str) -> str:
    """The text with no-break spaces: in `95 %`, `2 min 5 s`, `4 blocks`, before each ` · `."""
    text = _BEFORE_UNIT.sub(NO_BREAK, text).replace(" · ", f"{NO_BREAK}· ")
    return _WITHIN_MINUTES.sub(NO_BREAK, _WITHIN_DURATION.sub(NO_BREAK, text))
