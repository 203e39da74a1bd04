"""Is the question of a run answered, and is another block needed?"""

from dataclasses import dataclass

from stithy.analysis.capacity import find_capacities
from stithy.analysis.comparisons import Compared, count_pairs
from stithy.analysis.evidence import Evidence
from stithy.analysis.findings import answer_question
from stithy.analysis.statistics import INTERIM_BLOCKS
from stithy.analysis.verdict import (
    DIFFERENT,
    Next,
    Progress,
    decide_next_step,
    estimate_blocks_needed,
)


@dataclass(frozen=True)
class DecisionStatus:
    """What to do next; `compared` None while no valid block answers the question.

    `blocks_needed`: about how many blocks will decide; None where it is decided, where too few tell
    anything, or where the limit will not be enough.
    """

    progress: Progress
    compared: Compared | None
    blocks_needed: int | None

    @property
    def is_interim(self) -> bool:
        """Whether a verdict is looked for after so many blocks, or would be but for invalid ones.

        Own: the looks of `boundaries`, and the limit.
        """
        ended = self.progress.step is not Next.ANOTHER_BLOCK
        return ended or self.blocks < INTERIM_BLOCKS[0] or self.blocks in INTERIM_BLOCKS

    @property
    def blocks(self) -> int:
        """Valid blocks so far."""
        return self.progress.verdict.blocks


def judge_question(evidence: Evidence) -> DecisionStatus:
    """How the question stands after the blocks so far, by what the report will say of them.

    Edge cases: where the level that is asked about has no valid block yet, another is needed.
    """
    asked, compared = evidence.primary, answer_question(evidence)
    if compared is not None and asked.point not in (None, compared.point):
        compared = None
    apart, negligible = compared.effect.apart if compared else (), asked.metric.known.negligible
    bounds = compared.effect.bounds if compared else ()
    progress = decide_next_step(
        apart,
        asked.margin_share,
        asked.blocks_most,
        better=asked.metric.known.better,
        among=count_pairs(evidence),
        b_later=compared.effect.b_later if compared else (),
        negligible=negligible,
        bounds=bounds,
    )
    needed = estimate_blocks_needed(
        apart, asked.margin_share, asked.blocks_most, negligible, bounds
    )
    return DecisionStatus(progress, compared, None if progress.verdict.decided else needed)


def is_answered(evidence: Evidence, *, is_null: bool = False) -> bool:
    """Whether the measurement supports what it was made for.

    A comparison needs a block in which both are valid, at the level that is asked about; a single
    candidate a valid window; a search alone a level of each candidate that says something; and a
    null study must not find a difference.
    """
    found = find_capacities(evidence) if evidence.primary.by_search else ()
    if found:
        return all(of.low or of.high for finding in found for of in finding.of)
    if len(evidence.candidates) < 2:
        return any(window.valid for window in evidence.windows)
    status = judge_question(evidence)
    if is_null and status.progress.verdict.call in DIFFERENT:
        return False
    return status.blocks > 0
