"""The CPUs that the database server is bound to."""

from stithy.analysis.limits.full import judge_cpus
from stithy.analysis.limits.rule import NEARLY_FULL, Answer, unknown
from stithy.analysis.limits.sight import Sight

NAME = "server-cpu"
LETTER = "S"
WORDS = "the CPUs of the server"
SHORT = "the server's CPUs"
HEADING = "Server CPUs"
TOLD = "busy {share} of the time"
HOLDS_FROM = NEARLY_FULL
IS_STORAGE = False


def judge(sight: Sight) -> Answer | None:
    """How busy they were; None where the server may use any CPU, of which `host_cpu` speaks.

    Source: the utilisation law; waiting for I/O is no work.
    """
    if sight.server is not None:
        many = sight.server.count > 1
        who = "the server's CPUs were" if many else "the server's CPU was"
        return judge_cpus(sight, sight.server, who, sight.part("cpu"))
    return unknown(sight.unseen["cpu"]) if "cpu" in sight.unseen else None
