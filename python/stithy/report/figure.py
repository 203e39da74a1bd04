"""What a figure is: a finding as title, a drawing, and the data behind it; nothing may be left out.

Plug-ins of `figures/`, and of the module `report` of a scenario or activity, are `FigureKind`s.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from stithy.registry import Family, Plugin
from stithy.report.tables import PageTable

if TYPE_CHECKING:
    from stithy.report.context import Context


@dataclass(frozen=True)
class Title:
    """A title, and the ratio it states, so that it can be found beside the page as well."""

    text: str
    ratio: float | None = None


@dataclass(frozen=True)
class Figure:
    """One figure.

    `name` is the stem of its files. `title` is the finding, not the axes. `description` says in
    words what the drawing shows, for those who cannot see it. `spec` is Vega-Lite with its data.
    `ratio` is the one that the title states, if it states one that `table` does not hold.
    """

    name: str
    title: str
    caption: str
    description: str
    footer: str
    spec: dict[str, Any]
    table: PageTable
    ratio: float | None = None

    def __post_init__(self) -> None:
        """Refuse a figure without the texts and data that make it readable."""
        for text in ("name", "title", "caption", "description", "footer"):
            if not getattr(self, text).strip():
                raise ValueError(f"figure {self.name!r} has no {text}")
        if self.table.frame.is_empty():
            raise ValueError(f"figure {self.name!r} has no data")

    def rename_candidates(self, names: Mapping[str, str]) -> "Figure":
        """The same with candidates called by other names where it draws them; not in its data."""
        new = {name: other for name, other in names.items() if name != other}
        return replace(self, spec=_rename_candidates(self.spec, new)) if new else self


_NAMED_WHOLLY = ("candidate", "domain", "values", "sort", "title", "text")
"""Keys of a drawing below which a text may be the name of a candidate."""
_NAMED_FIRST = "place"
"""One below which a text begins with such a name."""


def _rename_candidates(part: Any, names: Mapping[str, str], key: str = "") -> Any:
    if isinstance(part, dict):
        return {below: _rename_candidates(value, names, below) for below, value in part.items()}
    if isinstance(part, list):
        return [_rename_candidates(value, names, key) for value in part]
    if not isinstance(part, str):
        return part
    if key == _NAMED_FIRST:
        name, comma, rest = part.partition(",")
        return f"{names.get(name, name)}{comma}{rest}"
    return names.get(part, part) if key in _NAMED_WHOLLY else part


@dataclass(frozen=True)
class Absent:
    """A figure that cannot be drawn: what it would show, and why it is not there."""

    name: str
    would_show: str
    because: str


Drawn = Figure | Absent


class Plot(ABC):
    """A figure as data: what it plots, its finding, its caption; see `drawing/plots.py`."""

    @abstractmethod
    def draw(self, context: "Context") -> Figure:
        """Make the figure."""


@dataclass(frozen=True)
class FigureKind(Plugin):
    """A figure of the report.

    `section` shows it, among figures in the order of `order`. `plot` yields what it is in a run,
    or why it is absent; nothing where the study does not ask for it, or where the page says it in
    a sentence. It is not called in a run whose windows lack one of `needs_tables`.
    """

    family: ClassVar[Family] = Family("report.figures", stage="report")

    name: str
    order: int
    section: str
    plot: Callable[["Context"], Iterable[Plot | Drawn]]
    needs_tables: tuple[str, ...] = ()

    def draw(self, context: "Context") -> list[Drawn]:
        """Draw what is to be shown of a run."""
        plots = self.plot(context)
        return [plot.draw(context) if isinstance(plot, Plot) else plot for plot in plots]
