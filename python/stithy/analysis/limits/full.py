"""CPUs that are full: by the work of the run, or only together with that of other programs."""

from stithy.analysis.limits.rule import HALF, NEARLY_FULL, Answer, at_most, percent, unknown
from stithy.analysis.limits.sight import Cpus, Sight


def judge_cpus(sight: Sight, cpus: Cpus, told: str, wanted: float | None) -> Answer:
    """How busy these CPUs were; `told` says whose they are, as "the server's CPU was".

    `wanted`: the share of the users' time that was for these CPUs, waits for them included; None
    where it is not known. Others' work may fill CPUs that the users hardly want: the server is
    woken at once and goes back to its waits. So CPUs that are full only with it limit where users
    want them for half of their time, and else nobody can tell.
    Source: the utilisation law. Own: others are taken to have worked on these CPUs alone.
    """
    used = cpus.used_share
    others = min(used, (sight.others_cpus or 0.0) / cpus.count)
    told = f"{told} busy {percent(used)} of the time"
    if used < NEARLY_FULL or used - others >= NEARLY_FULL:
        return Answer(used, told)
    told += f", up to {at_most(others)} with other programs"
    return Answer(used, told) if wanted is not None and wanted >= HALF else unknown(told)
