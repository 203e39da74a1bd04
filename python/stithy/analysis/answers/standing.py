"""How the primary question stands while a study runs, and whether another block is needed."""

from dataclasses import dataclass

from stithy.analysis.answers.comparisons import Compared, pairs_of
from stithy.analysis.answers.findings import question
from stithy.analysis.evidence import Evidence
from stithy.analysis.verdict.boundaries import LOOKS
from stithy.analysis.verdict.progress import Next, Progress, forecast, next_step


@dataclass(frozen=True)
class Standing:
    """What to do next; `compared` None while no valid block answers the question.

    `blocks_needed`: about how many blocks will decide; None where it is decided, where too few tell
    anything, or where the limit will not be enough.
    """

    progress: Progress
    compared: Compared | None
    blocks_needed: int | None

    @property
    def is_look(self) -> bool:
        """Whether a verdict is looked for after so many blocks, or would be but for invalid ones.

        Own: the looks of `boundaries`, and the limit.
        """
        ended = self.progress.step is not Next.ANOTHER_BLOCK
        return ended or self.blocks < LOOKS[0] or self.blocks in LOOKS

    @property
    def blocks(self) -> int:
        """Valid blocks so far."""
        return self.progress.verdict.blocks


def standing(evidence: Evidence) -> Standing:
    """How the question stands after the blocks so far, by what the report will say of them.

    Edge cases: where the level that is asked about has no valid block yet, another is needed.
    Own: `next_step` on the comparison of `findings.question`.
    """
    asked, compared = evidence.asked, question(evidence)
    if compared is not None and asked.users not in (None, compared.users):
        compared = None
    logs = compared.effect.logs if compared else ()
    progress = next_step(
        logs,
        asked.margin_share,
        asked.blocks_most,
        better=asked.metric.known.better,
        among=pairs_of(evidence),
    )
    if progress.verdict.decided:
        return Standing(progress, compared, None)
    return Standing(progress, compared, forecast(logs, asked.margin_share, asked.blocks_most))
