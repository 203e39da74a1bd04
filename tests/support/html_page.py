"""A page taken apart: its tables with the numbers behind the cells, its elements, its texts."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path


@dataclass
class PrintedTable:
    """One table: the stem of its files, and its cells as (text, number behind it or None)."""

    name: str
    rows: list[list[tuple[str, str | None]]] = field(default_factory=list)


@dataclass
class PrintedPage:
    """Everything the tests ask of a page."""

    tables: list[PrintedTable] = field(default_factory=list)
    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    texts: dict[str, list[str]] = field(default_factory=dict)

    def count(self, tag: str) -> int:
        """How many elements of this kind there are."""
        return sum(name == tag for name, _ in self.elements)

    def classed(self, name: str) -> str:
        """The text of all elements of a class."""
        return " ".join(self.texts.get(name, []))


class _Reader(HTMLParser):
    """Fills a `PrintedPage`; texts are kept for every class that is open around them."""

    VOID = frozenset({"meta", "link", "br", "line", "circle", "path", "rect", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.page = PrintedPage()
        self.open: list[tuple[str, list[str]]] = []
        self.cell: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.page.elements.append((tag, attributes))
        if tag == "table":
            self.page.tables.append(PrintedTable(attributes.get("data-table") or ""))
        elif tag == "tr" and self.page.tables:
            self.page.tables[-1].rows.append([])
        elif tag == "td":
            self.page.tables[-1].rows[-1].append(("", attributes.get("data-value")))
            self.cell = ""
        if tag not in self.VOID:
            classes = (attributes.get("class") or "").split() + [f"<{tag}>"]
            self.open.append((tag, classes))

    def handle_endtag(self, tag: str) -> None:
        if tag == "td" and self.cell is not None:
            row = self.page.tables[-1].rows[-1]
            row[-1] = (self.cell.strip(), row[-1][1])
            self.cell = None
        while self.open and tag not in self.VOID:
            if self.open.pop()[0] == tag:
                break

    def handle_data(self, data: str) -> None:
        data = data.replace("\N{NO-BREAK SPACE}", " ")  # to who reads it, a space is a space
        if self.cell is not None:
            self.cell += data
        for _, classes in self.open:
            for name in classes:
                self.page.texts.setdefault(name, []).append(data)


def page_text(path: Path) -> str:
    """A page's source, in which a space is a space, whether or not lines may break there."""
    return path.read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")


def read_page(html: str) -> PrintedPage:
    """The page taken apart."""
    reader = _Reader()
    reader.feed(html)
    for table in reader.page.tables:
        table.rows = [row for row in table.rows if row]
    return reader.page
