"""What a page says, block by block: print takes its words from the page and so has no others.

Reads the HTML that `page.render` makes, of which it knows every element, and no other HTML. Texts
come out as plain texts: what a name holds, be it markup of any kind, stays the letters it is.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

_SPACE = re.compile(r"[ \t\r\n]+")
_VOID = frozenset({"meta", "link", "br", "circle", "line", "path", "rect"})
_SILENT = frozenset({"script", "style", "svg", "nav", "summary"})
_SCREEN = "screen"
"""The class of what is true of the page on a screen alone."""


@dataclass(frozen=True)
class Run:
    """A piece of a text; `style` is empty, `code` or `strong`."""

    text: str
    style: str = ""


Runs = tuple[Run, ...]


@dataclass(frozen=True)
class Heading:
    """A heading: 0 is the title of all, 1 a section, 2 a part of one."""

    level: int
    text: str
    kind: str = "heading"


@dataclass(frozen=True)
class Paragraph:
    """A paragraph; `style` is its class on the page, such as `answer` or `note`."""

    runs: Runs
    style: str
    kind: str = "paragraph"


@dataclass(frozen=True)
class Bullets:
    """A list; `style` as of a paragraph."""

    items: tuple[Runs, ...]
    style: str
    kind: str = "bullets"


@dataclass(frozen=True)
class Grid:
    """A table as printed. Shapes: `headings`, `numeric` and each row have one entry a column."""

    name: str
    caption: str
    style: str
    headings: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]
    kind: str = "grid"


@dataclass(frozen=True)
class Picture:
    """A figure: the name of its drawing, and all that is said of it."""

    name: str
    title: str
    alternative: str
    captions: tuple[Paragraph, ...]
    kind: str = "picture"


@dataclass(frozen=True)
class Verbatim:
    """Lines that are shown as they are."""

    text: str
    kind: str = "verbatim"


Block = Heading | Paragraph | Bullets | Grid | Picture | Verbatim


@dataclass
class _Node:
    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["_Node | str"] = field(default_factory=list)

    def nodes(self) -> Iterator["_Node"]:
        return (each for each in self.children if isinstance(each, _Node))

    def all(self, tag: str) -> Iterator["_Node"]:
        for each in self.nodes():
            if each.tag == tag:
                yield each
            yield from each.all(tag)

    def first(self, tag: str) -> "_Node":
        return next(self.all(tag))

    @property
    def style(self) -> str:
        return self.attributes.get("class", "")


class _Tree(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = _Node("root")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = _Node(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(node)
        if tag not in _VOID:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID:
            while self.open.pop().tag != tag:
                pass

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def blocks(html: str) -> tuple[Block, ...]:
    """What the page says from its title to its foot, in its order; contents and drawings apart."""
    tree = _Tree()
    tree.feed(html)
    return tuple(_read(tree.root.first("main")))


def _read(node: _Node) -> Iterator[Block]:
    for each in node.nodes():
        if each.tag in _SILENT or each.style == _SCREEN:
            continue
        if each.tag in _READERS:
            yield _READERS[each.tag](each)
        elif each.tag == "details":
            yield from _folded(each)
        else:
            yield from _read(each)


def _folded(node: _Node) -> Iterator[Block]:
    """What is folded on the page; a table has a caption, all else needs its summary."""
    if not any(node.all("table")):
        yield Paragraph(_runs(node.first("summary")), "folded")
    yield from _read(node)


def _heading(node: _Node) -> Heading:
    return Heading(int(node.tag[1]) - 1, _text(node))


def _paragraph(node: _Node) -> Paragraph:
    return Paragraph(_runs(node), node.style)


def _bullets(node: _Node) -> Bullets:
    return Bullets(tuple(_runs(each) for each in node.all("li")), node.style)


def _grid(node: _Node) -> Grid:
    headings = list(node.all("th"))
    rows = (tuple(_lines(cell) for cell in row.all("td")) for row in node.first("tbody").all("tr"))
    return Grid(
        node.attributes["data-table"],
        _text(node.first("caption")),
        node.style,
        tuple(_text(each) for each in headings),
        tuple(each.style == "number" for each in headings),
        tuple(rows),
    )


def _picture(node: _Node) -> Picture:
    """The table of its data stays where it is: beside the report, as files."""
    drawing = next(each for each in node.all("div") if each.style == "drawing")
    heading = node.first("h3")
    heading.children = [each for each in heading.children if isinstance(each, str)]
    return Picture(
        node.attributes["id"].removeprefix("figure-"),
        _text(heading),
        drawing.attributes["aria-label"],
        tuple(_paragraph(each) for each in node.first("figcaption").all("p")),
    )


def _verbatim(node: _Node) -> Verbatim:
    return Verbatim("".join(_letters(node)).rstrip())


_READERS: dict[str, Callable[[_Node], Block]] = {
    "h1": _heading, "h2": _heading, "h3": _heading, "p": _paragraph, "ul": _bullets,
    "table": _grid, "figure": _picture, "pre": _verbatim,
}  # fmt: skip


def _text(node: _Node) -> str:
    return "".join(run.text for run in _runs(node))


def _lines(cell: _Node) -> str:
    """The text of a cell, in which lines are ends of lines."""
    return "".join(_letters(cell)).strip()


def _runs(node: _Node) -> Runs:
    """The pieces of a text, with single spaces between the words and none at the ends."""
    pieces = [Run(_SPACE.sub(" ", run.text), run.style) for run in _pieces(node, "")]
    joined: list[Run] = []
    for piece in pieces:
        ended = not joined or joined[-1].text.endswith(" ")
        text = piece.text.lstrip(" ") if ended else piece.text
        if text:
            joined.append(Run(text, piece.style))
    if joined:
        joined[-1] = Run(joined[-1].text.rstrip(" "), joined[-1].style)
    return tuple(joined)


def _pieces(node: _Node, style: str) -> Iterator[Run]:
    for each in node.children:
        if isinstance(each, str):
            yield Run(each, style)
        elif each.tag not in _SILENT and each.style != _SCREEN:
            yield from _pieces(each, each.tag if each.tag in ("code", "strong") else style)


def _letters(node: _Node) -> Iterator[str]:
    for each in node.children:
        if isinstance(each, str):
            yield each
        else:
            yield from _letters(each)
