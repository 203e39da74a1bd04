"""Were the emulated drives those of their profiles, for those who waited for them?"""

from stithy.analysis.validity.delay import (
    NOTED_SHARE,
    asked_s,
    drive_delay,
    is_beyond,
    is_scattered,
    judged,
)
from stithy.analysis.validity.record import WindowRecord
from stithy.results.drives import PLURALS
from stithy.units import format_duration
from stithy.validity import Check, Flag, Reason

NAME = "drives"
ORDER = 20

DRIVE_SLOWED = Flag(
    "emulated drive too slow",
    "The instrument failed: what was waited for on emulated drives took {delay}: {times}.",
    "It is not the drive that the profile describes. Leave a CPU free for it: let nothing else "
    "run on this machine, use fewer users, or emulate a slower drive.",
    invalidates=True,
)

DRIVE_OFF = Flag(
    "emulated drive not as described",
    "What was waited for on emulated drives took {delay}: {times}.",
    "The candidate had these times, not those of its profile. With a spare CPU the drive comes "
    "closer to its profile.",
)


def delivered(of: WindowRecord) -> Reason | None:
    """Drives let wait for longer, or shorter, than profiles and machine say.

    Source: docs/explanation/method.md, "Emulated drives".
    """
    rows, floors = of.drives, of.floors
    delay = drive_delay(rows, floors, every_write="io_seconds" in of.tables)
    if abs(delay) <= NOTED_SHARE:
        return None
    flag = DRIVE_SLOWED if is_beyond(delay, of.window) else DRIVE_OFF
    how = "longer" if delay > 0 else "less time"
    times = [
        f"{format_duration(row['device_mean_s'])} for {PLURALS[row['operation']]} of {row['role']} "
        f"(asked: {format_duration(asked)})"
        for row in judged(rows)
        if abs(row["device_mean_s"] - (asked := asked_s(row, floors))) > NOTED_SHARE * asked
    ]
    times += [
        f"{row['late_answers']:,} of {row['answered']:,} answers of {row['role']} late, all by "
        f"{format_duration(row['late_mean_s'])} in the mean"
        for row in filter(is_scattered, rows)
    ]
    texts = {"delay": f"{100 * abs(delay):.0f} % {how}", "times": ", ".join(times)}
    return Reason(flag, texts, delay)


CHECKS: tuple[Check[WindowRecord], ...] = (Check(("drives",), delivered),)
