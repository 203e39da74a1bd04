"""A parameter file of Vdbench as definitions, each word with its fate.

A definition has the words that follow it, on as many lines as they are, after those of the
`default` of its kind. A line ends at its first blank; a list may go on in the next one.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import cast

from stithy.fio.foreign.lines import Fate, Place, Reader, Word
from stithy.suggest import instead

WORDS: dict[str, dict[str, str]] = tomllib.loads(
    (files("stithy.fio.foreign") / "vdbench.toml").read_text(encoding="utf-8")
)
"""What becomes of each word, by the kind of definition; the kinds are in their order in a file."""

FLAGS = WORDS.pop("flags")
"""What flags of opening change."""

KINDS = {"host": "hd", **{kind: kind for kind in list(WORDS)[1:]}}
NEUTRAL = {
    *(("validate", "no"), ("concatenatesds", "no")),
    *((key, "0") for key in ("offset", "resetlun", "resetbus", "rhpct", "whpct")),
}
"""Words that ask for nothing where they have this value."""

KEEP = "leave it to Vdbench: no profile does the same, and without it the load is another one"
KEEP_RUN = "leave this run to Vdbench, in a file of its own: no profile does the same"
SAME = {"hd": "host", **dict.fromkeys(("readpct", "writepct", "wrpct"), "rdpct")}
INCLUDED_BYTES_MAX = 2**20

_QUOTED = re.compile(r'"([^"]*)"?')
_HIDDEN = {ord(letter): 0xE000 + at for at, letter in enumerate(" \t,=()")}
_SHOWN = {hidden: letter for letter, hidden in _HIDDEN.items()}
_LIST = re.compile(r"\([^()]*(?:\)|$)")
_COMMA = re.compile(r",(?![^()]*\))")


@dataclass
class Definition:
    """One definition of the file; the first one, `general`, has the words before all others.

    `storage`: that of a workload in a run.
    """

    kind: str
    name: str
    line: Place
    words: dict[str, Word] = field(default_factory=dict)
    storage: Sequence["Definition"] = ()


def read_definitions(text: str, reader: Reader) -> list[Definition]:
    """All definitions in their order; those named `default` as they are at the end."""
    definitions = [Definition("general", "", 1)]
    defaults: dict[str, dict[str, Word]] = {}
    order = list(WORDS)
    for word in _read_words(_read_lines(text, Path(reader.where), reader), reader):
        kind = KINDS.get(word.key)
        if word.key in ("fsd", "fwd"):
            reader.refuse(word.line, f"{word.written}: it works on files and folders", KEEP)
            return []
        if kind is None or order.index(kind) < order.index(definitions[-1].kind):
            _enter(definitions[-1], word, reader)
            continue
        common = defaults.setdefault(kind, {})
        words = common if word.text == "default" else dict(common)
        definitions.append(Definition(kind, word.text, word.line, words))
    return definitions


def _enter(definition: Definition, word: Word, reader: Reader) -> None:
    """Add a word to a definition with its fate, or refuse it."""
    kind, rules = definition.kind, WORDS[definition.kind]
    longer = (key for key in rules if len(word.key) > 1 and key.startswith(word.key))
    key = word.key if word.key in rules else next(longer, None)
    if key is None:
        homes = [home for home, words in WORDS.items() if word.key in words]
        elsewhere = f"Vdbench refuses it, too: it is a word of {' and '.join(homes)}"
        remedy = elsewhere if homes else instead(word.key, list(rules))
        reader.refuse(word.line, f"{kind} has no word {word.key}: {word.written}", remedy)
        return
    fate, _, note = rules[key].partition(": ")
    key = SAME.get(key, key.removeprefix("for") if kind == "rd" else key)
    if (key, word.text.strip("()")) in NEUTRAL:
        fate, note = "none", ""
    if fate == "refused":
        note, _, remedy = note.partition("; ")
        remedy = remedy or (KEEP_RUN if kind == "rd" else KEEP)
        reader.refuse(word.line, f"{word.written}: {note}", remedy)
        return
    if fate == "used" and re.match(r"[(]?[$!]", word.text):
        problem = f"{word.written}: a variable that Vdbench's command line sets"
        reader.refuse(word.line, problem, "write its value")
        return
    if fate == "used":
        fate, note = "none", "nothing that runs uses it"
    reader.note(word, cast(Fate, fate), note)
    definition.words.pop(key, None)
    definition.words[key] = word


def _read_lines(
    text: str, path: Path, reader: Reader, above: tuple[Path, ...] = ()
) -> Iterator[tuple[Place, str]]:
    """Lines with their places: without comments, and with those of included files."""
    for number, raw in enumerate(text.splitlines(), 1):
        place: Place = f"{path}:{number}" if above else number
        line = raw.strip()
        if line.startswith("eof"):
            return
        if line.lower().startswith("include="):
            yield from _include(line.partition("=")[2], place, reader, (*above, path))
        elif line and line[0] not in "*#/":
            yield place, line


def _include(
    name: str, place: Place, reader: Reader, above: tuple[Path, ...]
) -> Iterator[tuple[Place, str]]:
    """The lines of an included file: one named without a folder lies beside the last of `above`."""
    name = name.split(" ")[0].strip('"')
    places = (above[-1].parent / name, Path(name))
    path = next((path for path in places[:: -1 if "/" in name else 1] if path.is_file()), None)
    if path is None or path in above or path.stat().st_size > INCLUDED_BYTES_MAX:
        fault = (
            "there is no such file" if path is None else "the file includes itself, or is too large"
        )
        reader.refuse(place, f"include={name}: {fault}", f"correct its name: {places[0]}")
        return
    yield from _read_lines(path.read_text("utf-8-sig", "replace"), path, reader, above)


def _read_words(lines: Iterable[tuple[Place, str]], reader: Reader) -> Iterator[Word]:
    """Each `word=value` with its line."""
    text = ""
    first: Place = 1
    for place, line in lines:
        first = first if text else place
        text += _cut(line, place, text.count("(") - text.count(")"), reader)
        if text.count("(") == text.count(")") or not text.endswith(","):
            yield from _split(text, first, reader)
            text = ""
    yield from _split(text, first, reader)


def _cut(line: str, place: Place, depth: int, reader: Reader) -> str:
    """A line up to its first blank outside of quotes and lists; `depth`: of lists that go on."""
    quoted = _QUOTED.sub(lambda match: match[1].translate(_HIDDEN), line)
    packed = _LIST.sub(lambda match: "".join(match[0].split()), "(" * depth + quoted)[depth:]
    head, *rest = packed.split(None, 1)
    words = {*KINDS, *(key for rules in WORDS.values() for key in rules)}
    if rest and (match := re.match(r",?(\w+)=", rest[0])) and match[1].lower() in words:
        problem = f"words behind a blank, where Vdbench reads no further: {rest[0]}"
        reader.refuse(place, problem, "leave out the blank, or make it a comment with * of its own")
    return head


def _split(text: str, place: Place, reader: Reader) -> Iterator[Word]:
    if text.count("(") != text.count(")"):
        reader.refuse(place, f"a list without its begin or end: {text}", "correct its brackets")
        return
    for part in filter(None, _COMMA.split(text)):
        key, _, value = part.partition("=")
        if key and value:
            yield Word(value.translate(_SHOWN), place, key.lower())
        else:
            remedy = "write it as word=value, or as a comment behind *"
            reader.refuse(place, f"not a word with its value: {part}", remedy)
