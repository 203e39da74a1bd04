"""A parameter file of Vdbench as definitions, each word with its fate.

A definition has the words that follow it, on as many lines as they are, after those of the
`default` of its kind. A line ends at its first blank; a list may go on in the next one.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar, cast

from stithy.errors import TextError
from stithy.fio.foreign.lines import (
    Fate,
    Place,
    Reader,
    Word,
    block_size,
    parse_count,
    parse_number,
    percent,
)
from stithy.names import suggest_instead

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
    kind, rules = definition.kind, WORDS[definition.kind]
    longer = (key for key in rules if len(word.key) > 1 and key.startswith(word.key))
    key = word.key if word.key in rules else next(longer, None)
    if key is None:
        homes = [home for home, words in WORDS.items() if word.key in words]
        elsewhere = f"Vdbench refuses it, too: it is a word of {' and '.join(homes)}"
        remedy = elsewhere if homes else suggest_instead(word.key, list(rules))
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


T = TypeVar("T")
VALUES_MOST = 1000
SIZES_MOST = 64
"""Nobody measures more values of a word; fio mixes no more sizes."""

SHARE_ERROR = 0.005
"""How far shares of sizes may miss 1, as in Vdbench."""

SEEKS = {"random": 1.0, "sequential": 0.0, "sequentialnz": 0.0, "seqnz": 0.0, "eof": 0.0, "-1": 0.0}


def list_items(text: str) -> list[str]:
    """The parts of a list, or the only one."""
    return text.strip("()").split(",")


def list_names(text: str) -> Iterator[str]:
    """The names of a list, with those of its ranges: `(sd1,sd3-sd5)`."""
    for item in list_items(text):
        limits = re.fullmatch(r"(.*?)(\d+)-\1(\d+)", item)
        numbers = range(int(limits[2]), int(limits[3]) + 1) if limits else ()
        yield from (f"{limits[1]}{number}" for number in numbers) if limits else [item]


def list_steps(text: str) -> list[float]:
    """`(4k,8k)`, `(100-0,25)` in equal steps, or `(4k-64k,d)` by doubling."""
    numbers: list[float] = []
    parts = iter(list_items(text))
    for part in parts:
        first, dash, last = part.partition("-")
        numbers.append(parse_number(first))
        if dash and not (step := next(parts, "")):
            raise TextError(f"{part!r} has no step, as (1-9,2) or (1-8,d) have one")
        numbers += generate_steps(parse_number(last), numbers[-1], step) if dash else ()
    if len(numbers) > VALUES_MOST:
        raise TextError(f"{text!r} has more than {VALUES_MOST} values")
    return numbers


def generate_steps(last: float, number: float, step: str) -> Iterator[float]:
    """What follows the first number of a range: `d` doubles, or halves on the way down."""
    sign = 1 if number <= last else -1
    width = 0.0 if step == "d" else sign * parse_number(step)
    for _ in range(VALUES_MOST + 1):
        number = number * 2.0**sign if step == "d" else number + width
        if (last - number) * sign < 0:
            return
        yield number


def parse_rates(text: str) -> list[float]:
    """Rates in rising order, or shares of the maximum in percent."""
    rates = sorted(set(list_steps(text)))
    if rates[0] <= 0:
        raise TextError("a rate is above 0")
    return rates


def parse_sizes(text: str) -> dict[str, float]:
    """`8k`, `(4k,60,8k,40)`, or `(4k,64k,4k)`: any size between in steps."""
    parts = list_items(text)
    if len(parts) == 3:
        least, most, step = (int(parse_number(part)) for part in parts)
        sizes = [block_size(str(size)) for size in range(least, most + 1, step or most)]
        shares = [1 / len(sizes)] * len(sizes)
    else:
        sizes = [block_size(part) for part in parts[::2]]
        shares = [percent(part) for part in parts[1::2]] if len(parts) > 1 else [1.0]
    if not 0 < len(sizes) <= SIZES_MOST or len(sizes) != len(shares):
        raise TextError(f"{text!r} are not 1 to {SIZES_MOST} sizes with their shares")
    if abs(rest := 1 - sum(shares)) < SHARE_ERROR:
        shares[-1] += rest
    return dict(zip(sizes, shares, strict=True))


def parse_seek(text: str) -> float:
    """The share of random places."""
    if "poisson" in text:
        raise TextError("no profile has a Poisson distribution of places")
    whole = next((word for word in SEEKS if word.startswith(text.lower())), None)
    return percent(text) if whole is None else SEEKS[whole]


def parse_saved(text: str) -> float:
    """The share that a ratio saves."""
    if (ratio := parse_number(text)) < 1:
        raise TextError(f"{text!r} is not a ratio of data to what is stored")
    return 1 - 1 / ratio


def parse_threads(text: str) -> int:
    """`8`, or `(64,4)` for a fourth of 64."""
    threads, *parts = map(parse_count, list_items(text))
    return max(1, threads // (parts[0] if parts else 1))


def is_synced(text: str) -> bool:
    """Whether flags of opening make each write wait for storage."""
    flags = list_items(text.lower())
    if strange := [flag for flag in flags if flag not in FLAGS]:
        raise TextError(f"no profile has the flag {strange[0]!r}")
    return "sync" in map(FLAGS.get, flags)


def parse_range(text: str) -> dict[str, float]:
    """`(40,60)` in percent of the volume."""
    first, last = (*map(parse_number, list_items(text)), 0.0, 0.0)[:2]
    if last > 100:
        why = "bytes are another part of each volume" if last > 200 else "it goes beyond the end"
        raise TextError(f"{why}: give percent from 0 to 100, such as (0,50)")
    if first >= last:
        raise TextError(f"{text!r} is not a begin and an end behind it")
    return {"offset_share": first / 100, "size_share": (last - first) / 100}


def make_sweep_parser(parse: Callable[[str], T]) -> Callable[[str], list[tuple[str, T]]]:
    """How several values of a word are read, each with its label; a word alone is one."""

    def parse_all(text: str) -> list[tuple[str, T]]:
        if text[0].isalpha():
            return [(text.lower(), parse(text))]
        return [(f"{value:g}", parse(f"{value:.15g}")) for value in list_steps(text)]

    return parse_all


def parse_sizes_sweep(text: str) -> list[tuple[str, dict[str, float]]]:
    """Sizes of all requests, one after the other."""
    sizes = [block_size(f"{value:.0f}") for value in list_steps(text)]
    return [(size.lower(), {size: 1.0}) for size in sizes]


SWEEPS: Mapping[str, Callable[[str], list[tuple[str, Any]]]] = {
    "threads": make_sweep_parser(parse_count),
    "xfersize": parse_sizes_sweep,
    "rdpct": make_sweep_parser(percent),
    "seekpct": make_sweep_parser(parse_seek),
    "compratio": make_sweep_parser(parse_saved),
}
"""What a run may ask for in several values, each with a label for the pattern's name."""
