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
    whole += [NULL] if plan.null else []
    not_durable = label(given_up(study.database.engine, study.database.settings))
    whole += [not_durable] if not_durable else []
    found = {
        name: "; ".join([*whole, *([EMULATED] if is_emulated(candidate) else [])])
        for name, candidate in study.candidates.items()
    }
    return {name: note for name, note in found.items() if note}
