"""A study of one candidate against its like, which must find no difference.

Each of the two has a volume of its own: an emulated drive of the same profile, or a directory of
the same file system. A null study therefore shows whatever Stithy itself does to one volume alone.
"""

from dataclasses import replace

from stithy.errors import UserError
from stithy.registry import plugins
from stithy.study.load import StudyFile
from stithy.study.model import Study
from stithy.study.sections import Candidate

AGAIN = "-again"


def nulled(study: Study) -> Study:
    """The study with its first candidate and its like; its question names no pair.

    It demands nothing: thresholds ask for what a null study cannot say. Nor does it search: what a
    search finds has no interval that could hold a difference; its limit stays, as one that is
    drawn. A nulled study stays as it is. Raises UserError where nothing but a search is left.
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
            "candidates": {name: candidate, f"{name}{AGAIN}": _like(candidate)},
            "primary": primary,
            "thresholds": (),
            "load": load,
        }
    )


def as_null(file: StudyFile) -> StudyFile:
    """The study file of a null study."""
    return replace(file, study=nulled(file.study), null=True)


def _like(candidate: Candidate) -> Candidate:
    """Another candidate that differs in nothing, by its provider's `like`; the same without one."""
    like = getattr(plugins("provider")[candidate.provider], "like", None)
    return replace(candidate, spec=like(candidate.spec, AGAIN)) if like else candidate
