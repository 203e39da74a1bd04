"""All CPUs of the host: those of server, driver, emulated drives and everything else."""

from stithy.analysis.limits.full import judge_cpus
from stithy.analysis.limits.rule import NEARLY_FULL, Answer, unknown
from stithy.analysis.limits.sight import Sight

NAME = "host-cpu"
LETTER = "H"
WORDS = "the CPUs of the host"
SHORT = "the host's CPUs"
HEADING = "Host CPUs"
TOLD = "busy {share} of the time"
HOLDS_FROM = NEARLY_FULL
IS_STORAGE = False


def judge(sight: Sight) -> Answer:
    """How busy they were.

    Source: the utilisation law; waiting for I/O is no work, time that a hypervisor gave
    to others is.
    """
    if sight.host is None:
        return unknown(sight.unseen.get("cpu", "the CPUs were not sampled"))
    return judge_cpus(sight, sight.host, "the host's CPUs were", sight.rest_share)
