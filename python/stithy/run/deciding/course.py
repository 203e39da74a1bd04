"""The steps of one session in their order, as far as they are decided by now."""

from collections.abc import Sequence

from stithy.plan.steps import Step
from stithy.run.before.forecast import Forecast
from stithy.run.context import Context
from stithy.run.deciding.further import Adviser, SoFar, ask
from stithy.run.events import WindowsAdded


class Course:
    """What is left to do; it grows where what was measured asks for further windows."""

    def __init__(
        self, context: Context, advisers: Sequence[Adviser], forecast: Forecast, *, keep: bool
    ) -> None:
        """`keep`: nothing is torn down. What no earlier session has done is left."""
        self._context = context
        self._advisers = advisers
        self._forecast = forecast
        self._keep = keep
        self._over: dict[str, None] = {}
        self._left = self._steps()

    @property
    def left(self) -> Sequence[Step]:
        """The steps that are left, the next one first."""
        return self._left

    @property
    def number(self) -> int:
        """The number of the next step among those of the session, from 1."""
        return len(self._over) + 1

    @property
    def count(self) -> int:
        """How many steps the session has in all."""
        return len(self._over) + len(self._left)

    def is_over(self, step: Step) -> None:
        """A step was done, or left out; a window may need further ones, which come next."""
        self._over[step.id] = None
        self._left = self._left[1:]
        if step.kind == "window":
            self.ask()

    def ask(self) -> None:
        """Ask what is needed now beside what is known, and tell it."""
        context, before = self._context, self._context.state.further
        done = context.state.done | self._over.keys()
        so_far = SoFar(context.directory, context.file, context.plan, before, done)
        context.state.further = ask(so_far, self._advisers, context.journal)
        self._left = self._steps()
        for further in context.state.further[len(before) :]:
            ids = tuple(window.id for window in further.windows)
            steps = [step for step in self._left if step.window and step.window.id in ids]
            context.tell(WindowsAdded(ids, further.because, self._forecast.left_s(steps)))

    def _steps(self) -> list[Step]:
        return [
            step
            for step in self._context.steps
            if step.id not in self._over and not (self._keep and step.kind == "tear-down")
        ]
