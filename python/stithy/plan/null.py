"""A study of one candidate against itself, which must find no difference.

Both names are windows on one and the same volume. On two volumes the places on a device, the seeds
of drives, or the devices themselves could differ, and a verdict "better" would then be right.
"""

from dataclasses import replace

from stithy.errors import UserError
from stithy.study.load import StudyFile
from stithy.study.model import Study

AGAIN = "-again"


def nulled(study: Study) -> Study:
    """The study with its first candidate alone; its question names no pair, and it demands nothing.

    Thresholds ask for what a null study cannot say: it has one candidate. Nor does it search: what
    a search finds has no interval that could hold a difference; its limit stays, as one that is
    drawn. Raises UserError where nothing but a search is left.
    """
    if not study.load.users:
        raise UserError(
            "the study has no level at which a candidate could be compared with itself",
            where="--null",
            remedy="give `load.users` a level beside `load.find`",
        )
    kept = {"find": None, "find_within": None, "limit": study.load.response_limit}
    load = study.load.model_copy(update=kept)
    name, candidate = next(iter(study.candidates.items()))
    primary = study.primary.model_copy(update={"candidates": None})
    return study.model_copy(
        update={
            "candidates": {name: candidate},
            "primary": primary,
            "thresholds": (),
            "load": load,
        }
    )


def as_null(file: StudyFile) -> StudyFile:
    """The study file of a null study."""
    return replace(file, study=nulled(file.study), null=True)


def twins(study: Study) -> dict[str, str]:
    """The second name of each candidate of a null study, with the name whose volume it shares."""
    return {f"{name}{AGAIN}": name for name in study.candidates}
