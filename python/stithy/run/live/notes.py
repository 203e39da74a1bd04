"""What must stand beside every number of a run while it goes on, as it will in what is exported."""

from collections.abc import Mapping

from stithy.plan.steps import Plan
from stithy.study.durability import given_up, label
from stithy.study.model import Study
from stithy.study.sections import is_emulated
from stithy.workload.words import EMULATED, HAMMERDB, NULL


def notes_of(study: Study, plan: Plan) -> Mapping[str, str]:
    """By candidate, without those of which nothing must be said."""
    whole = [HAMMERDB] if study.load.profile == "hammerdb" else []
    whole += [NULL] if plan.twins else []
    not_durable = label(given_up(study.database.engine, study.database.settings))
    whole += [not_durable] if not_durable else []
    # The second name of a null study is that of windows alone: they use the volume of the first.
    steps = (step.candidate for step in plan.steps if step.candidate is not None)
    names = dict.fromkeys([*steps, *plan.twins])
    found = {
        name: "; ".join([*whole, *([EMULATED] if _is_emulated(study, plan, name) else [])])
        for name in names
    }
    return {name: note for name, note in found.items() if note}


def _is_emulated(study: Study, plan: Plan, name: str) -> bool:
    return is_emulated(study.candidates[plan.home(name)])
