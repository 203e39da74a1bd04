"""What windows shorter than usual cost: said before a study is run, and in its report.

Short windows are right for a first look and for a demonstration. Who chooses them must know what
they do not show.
"""

from stithy.study.users import DURATION_S, RAMP_UP_S
from stithy.units import format_duration


def costs_of_short_windows(ramp_up_s: float, duration_s: float) -> tuple[str, ...]:
    """A sentence for each part of the windows that is shorter than its default; in seconds."""
    told = []
    if ramp_up_s < RAMP_UP_S:
        told.append(
            f"A ramp-up of {format_duration(ramp_up_s)} instead of {format_duration(RAMP_UP_S)}: "
            "caches, log and drive may still be settling while they are measured."
        )
    if duration_s < DURATION_S:
        told.append(
            f"Windows of {format_duration(duration_s)} instead of {format_duration(DURATION_S)}: "
            "they scatter more, so that a verdict takes more blocks; a checkpoint or a stall falls "
            "into few of them; high percentiles rest on few answers."
        )
    return tuple(told)
