"""From a study to its plan: decisions only, the machine is not asked."""

from stithy.plan.cost import sizes
from stithy.plan.scenario import Scene
from stithy.plan.steps import Plan
from stithy.registry import plugins
from stithy.study.model import Study
from stithy.study.sections import Candidate
from stithy.workload.workload import Workload


def expand(study: Study) -> Plan:
    """The plan of a study: the same study gives the same plan, byte for byte."""
    scene = _scene(study)
    steps = tuple(plugins("scenario")["load"].steps(study, scene))
    return Plan(
        seed=study.seed,
        steps=steps,
        master_candidate=scene.master_candidate,
        database_bytes=scene.size.database_bytes,
        growth_bytes=scene.size.growth_bytes,
    )


def master_candidate(study: Study) -> str:
    """The candidate on whose volume the database is loaded once and kept as the master copy.

    The first in the study file whose provider does not say that its volume is likely memory: a
    master copy in memory would take it from the databases under test. If all are, the first.
    """
    memory_backed = likely_memory_backed(study)
    lasting = [name for name in study.candidates if name not in memory_backed]
    return next(iter(lasting or study.candidates))


def likely_memory_backed(study: Study) -> frozenset[str]:
    """The candidates of which the provider says, from their lines alone, that they are memory.

    A provider's module may say so by a function `likely_memory_backed(spec)`.
    """
    return frozenset(name for name in study.candidates if _says_memory(study.candidates[name]))


def _says_memory(candidate: Candidate) -> bool:
    asked = getattr(plugins("provider")[candidate.provider], "likely_memory_backed", None)
    return bool(asked and asked(candidate.spec))


def _scene(study: Study) -> Scene:
    workload: Workload = plugins("workload")[study.workload.name].WORKLOAD
    size = sizes(study, workload, study.workload.warehouses)
    return Scene(master_candidate(study), workload, size, likely_memory_backed(study))
