"""A YAML file as plain values, with the place of every key and every value.

Read from ruamel.yaml's node graph and not from its objects: nodes keep the mark of each key and
value, and nothing in the file can create anything but text, numbers, lists and mappings. Keys are
always the text that stands in the file. What plain values cannot hold (a key given twice, a tag, an
alias inside of itself) is a problem with a place; the rest of the file is still read.
"""

import json
import re
from dataclasses import dataclass, field
from unicodedata import category

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, StringMark, YAMLError, YAMLStreamError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from stithy.names import make_printable
from stithy.secrets import mask_passwords
from stithy.study.problems import Loc, StudyError, StudyProblem

VALUES_MAX = 20_000
"""More values than any study needs; bounds what aliases of aliases can expand to."""

EXCERPT_LONGEST = 110
EXCERPT_BEFORE = 60
"""Characters of a line that an excerpt shows, and of those at most before the place."""

_SYNTAX_REMEDY = "check indentation, quotes and brackets here and just above"
_SYNTAX_REMEDIES = (
    ("found character '\\t'", "indent with spaces, not with tabs"),
    ("found another document", "a file holds one study: remove the `---` and what follows"),
    ("undefined alias", "write the value out, in quotes if it starts with `*`"),
    ("special characters are not allowed", "remove this control character"),
)

_PLAIN = {"str", "int", "float", "bool", "null"}
_AS_TEXT = {"timestamp", "merge", "value"}
_TAG_PREFIX = "tag:yaml.org,2002:"


@dataclass(frozen=True)
class FilePlace:
    """A range of one line: lines and columns from 1, `end` just after the last character."""

    line: int
    column: int
    end: int


@dataclass
class Document:
    """A study file that was read: plain values, where each stands, and what was wrong so far.

    `keys` has the place of the key of a value in a mapping, `values` that of the value itself, and
    `texts` the scalar as it is written. `below`: where a study has what this file holds.
    """

    name: str
    text: str
    data: object = None
    keys: dict[Loc, FilePlace] = field(default_factory=dict)
    values: dict[Loc, FilePlace] = field(default_factory=dict)
    texts: dict[Loc, str] = field(default_factory=dict)
    problems: list[StudyProblem] = field(default_factory=list)
    below: Loc = ()

    def problem(self, place: FilePlace, problem: str, remedy: str) -> StudyProblem:
        """A problem at `place`, with the excerpt of the file."""
        where = f"{self.name}:{place.line}:{place.column}"
        return StudyProblem(
            make_printable(problem),
            where=where,
            remedy=make_printable(remedy),
            excerpt=self.excerpt(place),
        )

    def part(self, loc: Loc, start: int, end: int) -> FilePlace:
        """The place of some characters of a text; of all of it where it is written with escapes."""
        place, text = self.values[loc], self.texts.get(loc, "")
        line = self._line(place)
        for quote in (0, 1):
            first = place.column - 1 + quote
            if end > start and line[first : first + len(text)] == text:
                return FilePlace(place.line, first + 1 + start, first + 1 + end)
        return place

    def excerpt(self, place: FilePlace) -> str:
        """The line of `place` behind its number, and below it a caret under each character.

        Of a long line only the part around the place; what would steer a terminal is a dot.
        """
        line = mask_passwords(self._line(place))
        start = min(place.column - 1, len(line))
        first = max(0, start - EXCERPT_BEFORE)
        shown = line[first : first + EXCERPT_LONGEST]
        under = min(place.end - 1 - first, len(shown)) - (start - first)
        pad = "".join("\t" if each == "\t" else " " for each in shown[: start - first])
        clean = "\t".join(make_printable(part) for part in shown.split("\t"))
        return f"{place.line:>5} | {clean}\n{' ' * 5} | {pad}{'^' * max(1, under)}"

    def _line(self, place: FilePlace) -> str:
        lines = self.text.splitlines()
        return lines[place.line - 1] if place.line <= len(lines) else ""


def read_document(name: str, text: str) -> Document:
    """The values of a YAML text. Raises StudyError where it is not YAML at all."""
    document = Document(name, text)
    try:
        node = YAML(typ="safe", pure=True).compose(text)
        if node is not None:
            document.data = _Builder(document).build(node, (), ())
    except (YAMLError, YAMLStreamError) as error:
        raise StudyError(name, [_describe_syntax_error(document, error)]) from error
    except RecursionError as error:
        start = FilePlace(1, 1, 2)
        deep = document.problem(start, "nested too deeply to be read", "a study needs four levels")
        raise StudyError(name, [deep]) from error
    return document


def find_position(text: str, index: int) -> FilePlace:
    """The place of the character at `index`."""
    line = text.count("\n", 0, index) + 1
    column = index - (text.rfind("\n", 0, index) + 1) + 1
    return FilePlace(line, column, column + 1)


def _describe_syntax_error(document: Document, error: Exception) -> StudyProblem:
    if isinstance(error, MarkedYAMLError):
        ended = "end of stream" in (error.problem or "")
        mark = (error.context_mark if ended else None) or error.problem_mark or error.context_mark
        place = (
            FilePlace(mark.line + 1, mark.column + 1, mark.column + 2)
            if mark
            else FilePlace(1, 1, 2)
        )
        said = " ".join(each for each in (error.context, error.problem) if each)
    else:
        at = error.position if isinstance(error, ReaderError) else None
        place = find_position(document.text, at) if isinstance(at, int) else FilePlace(1, 1, 2)
        said = str(error).splitlines()[0]
    remedy = next((remedy for part, remedy in _SYNTAX_REMEDIES if part in said), _SYNTAX_REMEDY)
    return document.problem(place, f"not YAML: {said}", remedy)


def write_yaml(value: object) -> str:
    """A value as one writes it in a study file, on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {write_yaml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(write_yaml(each) for each in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "nothing" if value is None else str(value)


PLAIN = re.compile(r"[A-Za-z/.][\w./-]*")
"""What YAML takes for text without quotes, whatever stands around it."""


def quoted(text: str) -> str:
    """A text as YAML takes it for one: a JSON string is one, whatever it holds."""
    plain = PLAIN.fullmatch(text) and text.lower() not in ("true", "false", "null", "yes", "no")
    return text if plain else json.dumps(text, ensure_ascii=False)


class _Builder:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.count = 0
        self.construct = YAML(typ="safe", pure=True).constructor.construct_object

    def build(self, node: Node, loc: Loc, above: tuple[int, ...]) -> object:
        """The value of `node`; `above` are the ids of the nodes that contain it."""
        self.count += 1
        self.document.values[loc] = _place(node)
        if self.count > VALUES_MAX:
            return self._refuse(node, "more values than a study can have", "shorten the file")
        if id(node) in above:
            return self._refuse(node, "an alias that contains itself", "write the value out")
        if isinstance(node, MappingNode):
            return self._build_mapping(node, loc, (*above, id(node)))
        if isinstance(node, SequenceNode):
            inside = (*above, id(node))
            return [self.build(each, (*loc, i), inside) for i, each in enumerate(node.value)]
        return self._scalar(node, str(node.value), loc)

    def _build_mapping(
        self, node: MappingNode, loc: Loc, above: tuple[int, ...]
    ) -> dict[str, object]:
        found: dict[str, object] = {}
        for key_node, child in node.value:
            if not isinstance(key_node, ScalarNode):
                self._refuse(key_node, "a key that is not text", "use one word as the key")
                continue
            key = str(key_node.value)
            self._refuse_control_characters(key_node, key)
            inner = (*loc, key)
            if key in found:
                remedy = f"keep one of them; the first is on line {self.document.keys[inner].line}"
                self._refuse(key_node, f"a key given twice: {key[:60]}", remedy)
                continue
            self.document.keys[inner] = _place(key_node)
            found[key] = self.build(child, inner, above)
            if isinstance(child, ScalarNode) and not child.value and child.style is None:
                # A value left out has no place of its own: ruamel puts it on some later line.
                self.document.values[inner] = self.document.keys[inner]
        return found

    def _scalar(self, node: Node, text: str, loc: Loc) -> object:
        self.document.texts[loc] = text
        self._refuse_control_characters(node, text)
        kind = str(node.tag).removeprefix(_TAG_PREFIX)
        if kind in _AS_TEXT:
            return text
        if kind not in _PLAIN:
            return self._refuse(node, f"a YAML tag: {str(node.tag)[:60]}", "leave the tag out")
        try:
            value: object = self.construct(node)
        except (ValueError, YAMLError):
            return text
        return value

    def _refuse_control_characters(self, node: Node, text: str) -> None:
        """Escapes such as `\\0` in quotes can write what no name, path or sentence may hold."""
        if any(category(each) in ("Cc", "Cs") and each not in "\n\t" for each in text):
            self._refuse(node, "a text with control characters", "leave them out")

    def _refuse(self, node: Node, problem: str, remedy: str) -> object:
        """Note a problem, once for each place; the value is then None."""
        found = self.document.problem(_place(node), problem, remedy)
        if all(found.where != each.where for each in self.document.problems):
            self.document.problems.append(found)
        return None


def _place(node: Node) -> FilePlace:
    start: StringMark = node.start_mark
    end: StringMark = node.end_mark
    one_line = end.line == start.line and end.column > start.column
    return FilePlace(
        start.line + 1, start.column + 1, (end.column if one_line else start.column + 1) + 1
    )
