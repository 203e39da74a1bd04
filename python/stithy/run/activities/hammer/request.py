"""How a study's users are to be driven, in the words of the hammer."""

from stithy.plan.steps import WindowPlan
from stithy.results.layout import WindowDirectory
from stithy.study.load_keys import Load
from stithy.study.model import Study
from stithy.study.sections import workload_named
from stithy.wire.jobs import (
    Arrivals,
    BackToBack,
    Isolation,
    Keyed,
    Pace,
    Rate,
    RunRequest,
    Think,
)


def pace_of(load: Load) -> Pace:
    """When users act; a rate takes the place of a pace."""
    if load.rate_per_s is not None:
        return Rate(per_s=load.rate_per_s, arrivals=Arrivals(load.arrivals))
    if load.pace.kind == "keyed":
        return Keyed()
    if load.pace.think_s is not None:
        return Think(mean_s=load.pace.think_s)
    return BackToBack()


def pause_s(study: Study) -> float | None:
    """The mean time between two transactions of a user; None for users who do not pause."""
    match pace_of(study.load):
        case Think(mean_s=mean_s):
            return mean_s
        case Keyed():
            return workload_named(study.workload.name).pause_s
    return None


def request_of(
    study: Study, window: WindowPlan, directory: WindowDirectory, start_at_s: float | None = None
) -> RunRequest:
    """What the hammer is asked in a window."""
    study = study.at(window.point)
    load = study.load
    return RunRequest(
        seed=window.seed,
        users=window.point.users,
        ramp_up_s=window.ramp_up_s,
        duration_s=window.duration_s,
        connections=load.connections,
        pace=pace_of(load),
        start_at_s=start_at_s,
        isolation=Isolation(load.isolation),
        error_limit=load.error_limit,
        hlog_stem=directory.hlog_stem,
        ledger=directory.ledger if load.ledger else None,
    )
