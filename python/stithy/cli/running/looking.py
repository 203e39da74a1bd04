"""How a run learns where its primary question stands: `analysis` judges, `report` says it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stithy.report.context import Context
    from stithy.results.layout import RunDirectory
    from stithy.run.deciding.deciding import Standing


def look(directory: "RunDirectory") -> "Standing":
    """Judge the windows that are written so far, as the report will judge them."""
    from stithy.analysis.answers.standing import standing
    from stithy.analysis.verdict.progress import Next
    from stithy.report.context import context_of
    from stithy.report.parts.looks import told
    from stithy.results.read import read_run
    from stithy.run.deciding.deciding import Standing

    context = context_of(read_run(directory.root))
    stands = standing(context.evidence)
    return Standing(
        decided=stands.progress.step is Next.DECIDED,
        blocks=stands.blocks,
        text=told(context, stands),
        is_look=stands.is_look,
        blocks_needed=stands.blocks_needed,
    )


def answered(context: "Context") -> bool:
    """Whether the measurement supports what it was made for.

    A comparison needs a block in which both are valid, at the level that is asked about; a single
    candidate a valid window; a search alone a level of each candidate that says something; and a
    null study must not find a difference.
    """
    from stithy.analysis.answers.standing import standing
    from stithy.analysis.search.served import served
    from stithy.analysis.verdict.decide import DIFFERENT

    found = served(context.evidence) if context.evidence.asked.by_search else None
    if found is not None:
        return all(each.low or each.high for each in found.of)
    if len(context.evidence.candidates) < 2:
        return any(window.valid for window in context.evidence.windows)
    stands = standing(context.evidence)
    if context.is_null and stands.progress.verdict.call in DIFFERENT:
        return False
    return stands.blocks > 0
