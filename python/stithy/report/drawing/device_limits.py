"""What the devices under the volumes can do at most, as far as a drive profile says so.

Nothing is known of a device without a profile, and nothing is drawn of it.
"""

from collections.abc import Iterator, Mapping, Sequence

from stithy.analysis.limits.ability import ability
from stithy.report.context import Context
from stithy.report.drawing.chart import Line
from stithy.report.words.drives import named
from stithy.report.words.wording import count
from stithy.results.manifest import CandidateFacts

DRAWN_WITHIN = 3.0
"""Own: a limit further above what was reached would press all points to the axis."""

BYTES_PER_MB = 1e6

WORDS = {
    "read_iops": "reads", "write_iops": "writes", "total_iops": "of both together",
    "read_bytes_per_s": "MB read", "write_bytes_per_s": "MB written",
    "total_bytes_per_s": "MB of both together",
}  # fmt: skip
"""What so many of are allowed in a second, by the profile's key."""


def lines(context: Context, key: str, reached: float, divisor: float = 1.0) -> tuple[Line, ...]:
    """The limits by `key` that are near to what was reached, of each candidate that has one.

    `reached`: the largest value drawn, in units of `divisor`.
    """
    return tuple(
        Line(value / divisor, f"limit of {name}", context.styles[name].colour)
        for name, value in _most(context, key).items()
        if 0 < value / divisor <= DRAWN_WITHIN * reached
    )


def told(context: Context, keys: Sequence[str]) -> str:
    """What the profiles allow, each profile once; empty where none says anything."""
    each = list(dict.fromkeys(_profiles(context, keys)))
    if not each:
        return ""
    return (
        f" By their profiles the drives do at most: {'; '.join(each)}. Limits far above what was "
        "reached are not drawn."
    )


def _most(context: Context, key: str) -> Mapping[str, float]:
    """By candidate; one whose drives differ in it has no single limit."""
    found = {}
    for candidate in _emulated(context):
        caps = {
            able.caps.get(key)
            for drive in candidate.drives
            if (able := ability(drive.profile, drive.scale)) is not None
        }
        if len(caps) == 1 and (cap := caps.pop()) is not None:
            found[candidate.name] = cap
    return found


def _profiles(context: Context, keys: Sequence[str]) -> Iterator[str]:
    """`generic-sata 93,000 reads, 43,000 writes a second`."""
    for candidate in _emulated(context):
        for drive in candidate.drives:
            able = ability(drive.profile, drive.scale)
            caps = able.caps if able is not None else {}
            parts = [f"{_shown(key, caps[key])} {WORDS[key]}" for key in keys if key in caps]
            if parts:
                yield f"{named(drive)} {', '.join(parts)} a second"


def _shown(key: str, value: float) -> str:
    return count(value / BYTES_PER_MB if key.endswith("_bytes_per_s") else value)


def _emulated(context: Context) -> Iterator[CandidateFacts]:
    candidates = context.manifest.candidates if context.manifest else ()
    return (each for each in candidates if each.drives)
