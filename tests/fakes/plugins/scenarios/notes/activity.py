"""Notes lines in a file of the candidate, so many a second."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from stithy.activity import get_table
from stithy.plan.steps import WindowPlan
from stithy.results.tables import Row, Table
from stithy.run.activity import Activity, BasicActivity, Span, Subject, Times, WindowValue
from stithy.run.context import Context

TREE = "notes"


class Note(BasicActivity):
    """The lines of a window."""

    who = "the lines"

    def __init__(self, context: Context, window: WindowPlan) -> None:
        """Nothing is noted before the window begins."""
        super().__init__(context, window)
        self._spans: list[Span] = []
        self._lost = 0

    @contextmanager
    def ready(self) -> Iterator[Subject]:
        """The directory is there inside."""
        volumes, candidate = self.context.volumes, self.window.candidate
        self._path = volumes.make_tree(candidate, "data") / TREE
        try:
            yield Subject()
        finally:
            volumes.remove(volumes.of(candidate).path, "data")

    def act(self) -> None:
        """Note one line after the other; on the clock that takes as long as the window is."""
        spec: Any = self.context.file.study.at(self.window.point).scenario.spec
        clock = self.context.session.clock
        lines = int(float(self.window.point.values["lines"]) * self.window.duration_s)
        began_s = clock.now_s()
        # The second candidate loses some, now more, now fewer.
        self._lost = 3 + self.window.block % 2 if self.window.candidate == "b" else 0
        for number in range(lines):
            if number < self._lost:
                continue
            with self._path.open("a") as file:
                file.write(f"{number}".ljust(spec.length) + "\n")
        # The samplers of the window have that clock, too: it is not moved on under them.
        ended_s = max(clock.now_s(), began_s + self.window.duration_s)
        because = "more than 3 lines were lost" if self._lost > 3 else None
        self._spans = [Span("noting", began_s, ended_s, "done", because)]
        self.times = Times(began_s, began_s, ended_s, complete=True)

    def end(self) -> None:
        """What was noted is there."""
        self._there = len(self._path.read_text().splitlines())

    def values(self) -> Iterator[WindowValue]:
        """How many there were a second."""
        if self.times is not None:
            yield WindowValue("note.lines_per_s", self._there / self.window.duration_s)
            yield WindowValue("note.lost", float(self._lost))

    def spans(self) -> list[Span]:
        """All of it."""
        return self._spans

    def tables(self, _: object) -> Iterator[tuple[Table, list[Row]]]:
        """The lines that were lost, in a table of its own."""
        of = {"window_id": self.window.id}
        yield get_table("note_lines"), [of | {"line": number} for number in range(self._lost)]

    def said(self) -> str:
        """In words."""
        return f"{self._there} lines noted"


PLUGINS = (Activity("note", Note),)
