"""The samples of the collectors, read when they are asked for and a few windows at a time.

They are nearly all of a run's bytes: of a large study they would not fit into memory.
"""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from stithy.results.frames import empty_frame
from stithy.results.table_files import Problem, read_tables
from stithy.results.tables import SERIES

if TYPE_CHECKING:
    import polars as pl

TOGETHER = 8
"""Own: so many windows are read at once: few enough for memory, enough for all CPUs to help."""


class Samples:
    """The table `series` of the windows of a run; files are read anew each time."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        """`files`: by the window's id, in the order in which they are read."""
        self._files = files
        self._problems: tuple[Problem, ...] | None = None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the files; all are read for it where that was not done yet."""
        if self._problems is None:
            for _ in self.parts():
                pass
        return self._problems or ()

    def parts(self) -> Iterator["pl.DataFrame"]:
        """Some windows at a time, with all columns; together they are all of them."""
        problems: list[Problem] = []
        paths = list(self._files.values())
        for at in range(0, len(paths), TOGETHER):
            yield read_tables(SERIES, paths[at : at + TOGETHER], problems)
        self._problems = tuple(problems)

    def whole(self) -> "pl.DataFrame":
        """All of them; of a large study more than fits into memory."""
        import polars as pl

        return pl.concat([empty_frame(SERIES), *self.parts()])

    def of(
        self, collector: str, metrics: Collection[str], windows: Collection[str] | None = None
    ) -> "pl.DataFrame":
        """Those of some metrics that have a value, of these windows; None: of all."""
        import polars as pl

        wanted = pl.col("value").is_not_null() & pl.col("metric").is_in(list(metrics))
        chosen = wanted & (pl.col("collector") == collector)
        files = self._files.items()
        known = {name: file for name, file in files if windows is None or name in windows}
        parts = (each.filter(chosen) for each in Samples(known).parts())
        return pl.concat([empty_frame(SERIES), *parts])
