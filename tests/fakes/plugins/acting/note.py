"""Notes lines in a file of the candidate, so many a second."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from stithy.activity import table_named
from stithy.plan.steps import WindowPlan
from stithy.results.tables import Row, Table
from stithy.run.activity import Measured, Span, Subject, Times
from stithy.run.context import Context

NAME = "note"
TREE = "notes"


class Note:
    """The lines of a window."""

    is_full, ended_because = False, None

    def __init__(self, context: Context, window: WindowPlan) -> None:
        """Nothing is noted before the window begins."""
        self._context, self._window = context, window
        self.times: Times | None = None
        self._spans: list[Span] = []
        self._lost = 0

    @contextmanager
    def ready(self) -> Iterator[Subject]:
        """The directory is there inside."""
        volumes, candidate = self._context.volumes, self._window.candidate
        self._path = volumes.make_tree(candidate, "data") / TREE
        try:
            yield Subject()
        finally:
            volumes.remove(volumes.of(candidate).path, "data")

    def begin(self) -> None:
        """Nothing is counted before."""

    def act(self) -> None:
        """Note one line after the other; on the clock that takes as long as the window is."""
        spec: Any = self._context.file.study.at(self._window.point).scenario.spec
        clock = self._context.session.clock
        lines = int(float(self._window.point.values["lines"]) * self._window.duration_s)
        began_s = clock.now_s()
        # The second candidate loses some, now more, now fewer.
        self._lost = 3 + self._window.block % 2 if self._window.candidate == "b" else 0
        for number in range(lines):
            if number < self._lost:
                continue
            with self._path.open("a") as file:
                file.write(f"{number}".ljust(spec.length) + "\n")
        # The samplers of the window have that clock, too: it is not moved on under them.
        ended_s = max(clock.now_s(), began_s + self._window.duration_s)
        because = "more than 3 lines were lost" if self._lost > 3 else None
        self._spans = [Span("noting", began_s, ended_s, "done", because)]
        self.times = Times(began_s, began_s, ended_s, complete=True)

    def end(self) -> None:
        """What was noted is there."""
        self._there = len(self._path.read_text().splitlines())

    def aftermath(self) -> None:
        """Nothing is left to find out."""

    def cut_short(self) -> str:
        """It never is."""
        return "the lines were not noted"

    def values(self) -> Iterator[Measured]:
        """How many there were a second."""
        if self.times is not None:
            yield Measured("note.lines_per_s", self._there / self._window.duration_s)
            yield Measured("note.lost", float(self._lost))

    def spans(self) -> list[Span]:
        """All of it."""
        return self._spans

    def tables(self, _: object) -> Iterator[tuple[Table, list[Row]]]:
        """The lines that were lost, in a table of its own."""
        of = {"window_id": self._window.id}
        yield table_named("note_lines"), [of | {"line": number} for number in range(self._lost)]

    def surroundings(self) -> dict[str, object]:
        """It has no server."""
        return {}

    def said(self) -> str:
        """In words."""
        return f"{self._there} lines noted"


def create(context: Context, window: WindowPlan) -> Note:
    """The activity of a window."""
    return Note(context, window)
