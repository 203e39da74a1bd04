"""CPUs that are full: by the work of the run, or only together with that of other programs."""

from stithy.analysis.limits.rule import HALF, NEARLY_FULL, Answer, percent, unknown
from stithy.analysis.limits.sight import Cpus, Sight


def judge_cpus(sight: Sight, cpus: Cpus, told: str) -> Answer:
    """How busy these CPUs were; `told` says whose they are, as "the server's CPU was".

    Others' work may fill CPUs that the users hardly want: the server is woken at once and goes
    back to its waits. So CPUs that are full only with it limit where sessions are seen to want
    them, and else nobody can tell.
    Source: the utilisation law. Own: others are taken to have worked on these CPUs alone.
    """
    used = cpus.used_share
    others = min(used, (sight.others_cpus or 0.0) / cpus.count)
    told = f"{told} busy {percent(used)} of the time"
    if used < NEARLY_FULL or used - others >= NEARLY_FULL:
        return Answer(used, told)
    told += f", up to {percent(others)} with other programs"
    part = sight.part("cpu")
    return Answer(used, told) if part is not None and part >= HALF else unknown(told)
