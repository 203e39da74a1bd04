"""How OpenMetrics text is written: names, units, heads of families, labels, numbers.

What a run tells while it goes on and what is exported of its results are written by the same rules,
those of the OpenMetrics text format 1.0. Every family is a gauge: nothing of ours grows over all of
a run, as a counter must.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
END = "# EOF\n"
PREFIX = "stithy"

UNITS = {
    "bytes_per_s": "bytes_per_second", "per_s": "per_second", "per_min": "per_minute",
    "bytes": "bytes", "share": "ratio", "ratio": "ratio", "s": "seconds",
}  # fmt: skip
"""How a name of ours ends, and what the ending is in OpenMetrics: the longest that fits counts."""


@dataclass(frozen=True)
class MetricFamily:
    """A metric family; `name` ends in `unit`, which is empty for what has none."""

    name: str
    unit: str
    help: str

    @property
    def head(self) -> str:
        """Its lines before its samples."""
        unit = f"# UNIT {self.name} {self.unit}\n" if self.unit else ""
        return f"# TYPE {self.name} gauge\n{unit}# HELP {self.name} {escape_text(self.help)}\n"


@dataclass(frozen=True)
class MetricPoint:
    """One value of a family now; `labels` in the order in which they are written."""

    value: float
    labels: Mapping[str, str]


def make_family(parts: Sequence[str], help_text: str) -> MetricFamily:
    """The family of a name of ours with its unit last: `block`, `reads_per_s`.

    What no name may hold becomes `_`.
    """
    name = re.sub(r"[^a-zA-Z0-9_]", "_", "_".join((PREFIX, *parts)))
    for ending, unit in UNITS.items():
        if name.endswith(f"_{ending}"):
            return MetricFamily(f"{name.removesuffix(ending)}{unit}", unit, help_text)
    return MetricFamily(name, "", help_text)


def escape_text(text: str) -> str:
    """A text as it stands within quotes, or as help."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def written(each: MetricFamily, points: Iterable[MetricPoint]) -> str:
    """A family with its values; one that is not a number is left out, as if it were not known."""
    lines = [_write_line(each, point) for point in points if math.isfinite(point.value)]
    return "".join((each.head, *lines)) if lines else ""


def _write_line(each: MetricFamily, point: MetricPoint) -> str:
    labels = ",".join(f'{name}="{escape_text(text)}"' for name, text in point.labels.items())
    return (
        f"{each.name}{{{labels}}} {point.value!r}\n" if labels else f"{each.name} {point.value!r}\n"
    )
