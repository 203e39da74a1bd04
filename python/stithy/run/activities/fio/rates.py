"""The rate of a window: a share of what its candidate did as fast as it goes, or as it is asked.

The maximum is a window of the run, so a run that is resumed finds it among its results.
"""

from dataclasses import dataclass

from stithy.errors import InvalidMeasurement
from stithy.fio.curve import is_past
from stithy.plan.steps import WindowPlan
from stithy.run.context import Context
from stithy.run.windows.earlier import value_of
from stithy.scenarios.block_io.plan import PROFILE, spec_of
from stithy.scenarios.block_io.rates import MAXIMUM, RATE, amount, share_of


@dataclass(frozen=True)
class Rate:
    """Requests a second that are asked for; `maximum_per_s` None: it is not known."""

    asked_per_s: float
    maximum_per_s: float | None


def rate_of(context: Context, window: WindowPlan) -> Rate | None:
    """What is asked of a window; None where it goes as fast as it can.

    Raises InvalidMeasurement for a share of a maximum that was not measured.
    """
    value = window.point.values.get(RATE, MAXIMUM)
    if value == MAXIMUM:
        spec = spec_of(context.file.study.at(window.point))
        name = str(window.point.values[PROFILE])
        asked = spec.replayed_per_s(name) or spec.mixed_rate(name)
        return None if asked is None else Rate(asked, None)
    at = window.point.replaced(RATE, MAXIMUM)
    maximum = value_of(context, window.candidate, at, "fio.iops")
    share = share_of(value)
    if share is None:
        return Rate(float(value), maximum)
    if not maximum:
        raise InvalidMeasurement(
            f"{value} of its maximum cannot be asked: the window that measures it gave none",
            where=f"window {window.id}",
            remedy="see why that window has no numbers, then run again",
        )
    return Rate(share * maximum, maximum)


def not_needed(context: Context, window: WindowPlan) -> str | None:
    """Why a window is left out: a lower rate was beyond the latency at which the study stops."""
    limit_s = spec_of(context.file.study.at(window.point)).stop_at_s
    asked = window.point.values.get(RATE, MAXIMUM)
    if limit_s is None or asked == MAXIMUM:
        return None
    for lower in spec_of(context.file.study).rates:
        if amount(lower) < amount(asked):
            at = window.point.replaced(RATE, lower)
            mean_s = value_of(context, window.candidate, at, "fio.mean_s")
            if is_past(mean_s, limit_s):
                return f"at {lower} the mean latency of {window.candidate} was beyond stop_at"
    return None
