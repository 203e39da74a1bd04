"""Whether further blocks are needed: the primary question is looked at, and the rest is left out.

How a look is judged is not known here: `analysis` knows, and the command line hands its judge in.
A look reads the results alone, so a run that is resumed goes on as if it had never been cut off.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stithy.metrics import ALL, parse_quantity
from stithy.plan.answerable import check_counted, rate_key
from stithy.plan.steps import Step
from stithy.results.layout import RunDirectory
from stithy.results.read import read_rows
from stithy.results.tables import TRANSACTIONS, WINDOW
from stithy.run.context import Context
from stithy.run.events import Looked


@dataclass(frozen=True)
class Standing:
    """How the primary question stands: `text` says it in words.

    `blocks` are the valid ones so far; `is_look` tells whether a verdict is looked for after so
    many. `blocks_needed` is about how many will decide, None where that is not known or beyond the
    limit.
    """

    decided: bool
    blocks: int
    text: str
    is_look: bool = True
    blocks_needed: int | None = None


Judge = Callable[[RunDirectory], Standing]
"""A seam: tests hand in one that decides when they like."""


class Question:
    """The primary question of a run, looked at before each block that it may not need."""

    def __init__(self, context: Context, judge: Judge | None) -> None:
        """Without a judge nothing is ever decided, and every block is measured.

        `rates`: transactions a second of the windows so far, for later plans.
        """
        self._context = context
        self._judge = judge
        self._looked_at: int | None = None
        self._counted = False
        self.standing: Standing | None = None
        self.rates: dict[str, float] = {}

    def learn(self, step: Step) -> None:
        """Keep the rate of a window that was measured: it tells which questions have an answer.

        Raises InvalidMeasurement where the first window of the question's level shows that the
        others cannot have the values that its metric needs.
        """
        window, plan, study = step.window, self._context.plan, self._context.file.study
        if step.kind != "window" or window is None:
            return
        tables = self._context.directory.window(window.id)
        rows = read_rows(tables.table("transactions"), TRANSACTIONS)
        counts = {row["transaction"]: row["committed"] + row["rolled_back"] for row in rows}
        complete = [row["complete"] for row in read_rows(tables.table("window"), WINDOW)]
        if complete != [True] or ALL not in counts:
            return
        key = rate_key(study, window.candidate, window.users)
        self.rates[key] = counts[ALL] / window.duration_s
        asked = plan.question
        if asked is None or window.users != asked.users or self._counted:
            return
        self._counted = True
        quantity = parse_quantity(asked.metric)
        if quantity.known.source == "transactions":
            check_counted(study, asked, window.id, counts.get(quantity.of or ALL, 0))

    def spares(self, step: Step) -> str | None:
        """Why this step is not needed; None where it is."""
        if not step.if_undecided or step.window is None or self._judge is None:
            return None
        if not (self.standing and self.standing.decided):
            self._look(step.window.block)
        return self.standing.text if self.standing and self.standing.decided else None

    def conclude(self) -> None:
        """Look once more, after the last block, where a look did not decide before."""
        optional = [step.window for step in self._context.plan.steps if step.if_undecided]
        if optional and not (self.standing and self.standing.decided):
            self._look(max(window.block for window in optional if window) + 1)

    def certain(self, steps: Sequence[Step]) -> list[Step]:
        """Those of the steps that will be done as far as is known now."""
        if self._judge is None:
            return list(steps)
        needed = self.standing.blocks_needed if self.standing else 0
        return [step for step in steps if not step.if_undecided or self._in_sight(step, needed)]

    def _in_sight(self, step: Step, needed: int | None) -> bool:
        if self.standing is not None and self.standing.decided:
            return False
        assert step.window is not None  # only windows and their restores wait for a look
        return needed is None or step.window.block < needed

    def _look(self, block: int) -> None:
        """Judge what there is before a block; once, whatever steps the block has."""
        if self._judge is None or self._looked_at == block:
            return
        self._looked_at = block
        before, standing = self.standing, self._judge(self._context.directory)
        self.standing = standing
        if not standing.is_look or (before and before.blocks == standing.blocks):
            return
        facts = {"blocks": standing.blocks, "decided": standing.decided, "text": standing.text}
        self._context.journal.write("looked", **facts)
        self._context.tell(Looked(standing.text, standing.blocks, standing.decided))
