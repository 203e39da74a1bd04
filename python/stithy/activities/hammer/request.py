"""How a study's users are to be driven, in the words of the hammer."""

from stithy.errors import InvalidMeasurement
from stithy.plan.steps import WindowPlan
from stithy.point import Point
from stithy.results.layout import WindowDirectory
from stithy.run.context import Context, pace_of
from stithy.run.windows.earlier import value_of
from stithy.study.model import Study
from stithy.wire.jobs import (
    Pace,
    Rate,
    RunRequest,
)


def pace_at(context: Context, window: WindowPlan) -> Pace:
    """When users act in a window: at a share of a measured maximum, or as the load says.

    Raises InvalidMeasurement for a share of a maximum that was not measured.
    """
    load = context.file.study.at(window.point).load
    if window.rate_share is None:
        return pace_of(load)
    assert window.maximum_at is not None  # the plan says both
    at = Point.parse(window.maximum_at)
    per_minute = [value_of(context, name, at, "tpm") for name in window.maximum_of]
    known = [each for each in per_minute if each]
    if len(known) < len(per_minute):
        raise InvalidMeasurement(
            f"{window.rate_share:.0%} of the maximum cannot be asked: a window that measures it "
            "gave none",
            where=f"window {window.id}",
            remedy=f"see why a window at {at} has no numbers, then run again",
        )
    per_s = window.rate_share * min(known) / 60
    return Rate(per_s=per_s, arrivals=load.arrivals)


def request_of(
    study: Study,
    window: WindowPlan,
    directory: WindowDirectory,
    pace: Pace | None = None,
    start_at_s: float | None = None,
) -> RunRequest:
    """What the hammer is asked in a window, at the pace of the load if at no other."""
    load = study.at(window.point).load
    return RunRequest(
        seed=window.seed,
        users=window.point.level,
        ramp_up_s=window.ramp_up_s,
        duration_s=window.duration_s,
        connections=load.connections,
        pace=pace or pace_of(load),
        start_at_s=start_at_s,
        isolation=load.isolation,
        error_limit=load.error_limit,
        hlog_stem=directory.hlog_stem,
        ledger=directory.ledger if load.ledger else None,
    )
