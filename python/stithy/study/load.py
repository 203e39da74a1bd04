"""From a file's path to a study that was checked, or to all that is wrong with it."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from stithy.errors import PreconditionError, StithyError, UserError
from stithy.names import find_closest, make_printable, read_named
from stithy.pricing.keys import Pricing, find_misfits
from stithy.secrets import mask_passwords
from stithy.study.document import Document, FilePlace, find_position, read_document, write_yaml
from stithy.study.keys import Key, find_key, list_all_keys, list_known, list_needed, list_plugins
from stithy.study.model import Study
from stithy.study.problems import Loc, StudyError, StudyProblem, refuse

SIZE_BYTES_MAX = 2**20
"""A study is a page of text; more is some other file."""


@dataclass(frozen=True)
class StudyFile:
    """A study and the file it came from; `content` is that file, byte for byte.

    `null`: only its first candidate is measured, against itself.
    """

    path: Path
    content: bytes
    study: Study
    null: bool = False

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


def read_study(path: Path) -> StudyFile:
    """The study in a file.

    Raises StudyError with every problem in it, in the file's order; UserError where there is no
    file to read.
    """
    content = read_named(path, SIZE_BYTES_MAX, "study file")
    return StudyFile(path, content, parse_study(make_printable(str(path)), content))


def parse_study(name: str, content: bytes) -> Study:
    """The study in the bytes of a file that messages call `name`. Raises StudyError."""
    document = read_document(name, _decode(name, content))
    if not isinstance(document.data, dict):
        is_empty = document.data is None
        problem = "an empty study file" if is_empty else "not a mapping of keys to values"
        remedy = "start with `study: ` and the question; studies/demo.yaml is an example"
        place = document.values.get((), FilePlace(1, 1, 2))
        document.problems.append(document.problem(place, problem, remedy))
        raise StudyError(name, document.problems)
    keys = [info.alias or field for field, info in Study.model_fields.items()]
    if document.data.keys().isdisjoint(keys):
        # What stands in such a file is not ours to show.
        problem = "not a study file: it has none of a study's keys"
        remedy = f"name the right file; a study has {', '.join(keys)}"
        raise StudyError(name, [StudyProblem(problem, where=f"{name}:1:1", remedy=remedy)])
    try:
        study = Study.model_validate(document.data)
        found: list[StudyProblem] = []
    except ValidationError as error:
        found = locate(document, error)
    if problems := document.problems + found:
        places = {each: each.where.rsplit(":", 2) for each in problems}
        by_place = sorted(problems, key=lambda each: (
            places[each][0] != name, *map(int, places[each][1:])))  # fmt: skip
        raise StudyError(name, by_place)
    return study


class Prices(BaseModel):
    """A file of prices: the section `cost` alone."""

    cost: Pricing


def read_prices(
    path: Path, candidates: Sequence[str], *, has_users: bool, is_metered: bool
) -> Pricing:
    """Read the section `cost` of a file of prices, for a run of these candidates.

    `has_users`, `is_metered`: the run had users, and measured power.

    Raises StudyError with every problem in it.
    """
    name, what = make_printable(str(path)), "file of prices"
    document = read_document(name, _decode(name, read_named(path, SIZE_BYTES_MAX, what)))
    data = document.data if isinstance(document.data, dict) else {}
    found = [
        document.problem(document.keys[key,], f"a key beside `cost`: {shorten(key)}",
                         "leave it out: a file of prices has `cost:` alone")
        for key in data if key != "cost"
    ]  # fmt: skip
    try:
        pricing = Prices.model_validate({"cost": data.get("cost", {})}).cost
        misfits = find_misfits(pricing, candidates, has_users=has_users, is_metered=is_metered)
        refuse(each._replace(loc=("cost", *each.loc)) for each in misfits)
    except ValidationError as error:
        found += locate(document, error)
    if problems := document.problems + found:
        raise StudyError(name, problems, what)
    return pricing


def _decode(name: str, content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8", errors="replace")
        place = find_position(before, len(before))
        raise StudyError(name, [_find_not_text(name, place)]) from error
    if "\0" in text:
        raise StudyError(name, [_find_not_text(name, find_position(text, text.index("\0")))])
    return text


def _find_not_text(name: str, place: FilePlace) -> StudyProblem:
    where = f"{name}:{place.line}:{place.column}"
    return StudyProblem("not a text in UTF-8", where=where, remedy="save the study file as UTF-8")


LONGEST = 60
"""Characters of a value that a message shows."""

HOME_DEPTH = 3
"""How deep a key may lie that a misplaced one is likely to be: `candidates.<name>.size`."""

_KINDS = {
    "int": "not a whole number",
    "float": "not a number",
    "bool": "neither true nor false",
    "string": "not a text",
    "tuple": "not a list",
    "list": "not a list",
    "dict": "not a mapping of names to values",
    "mapping": "not a mapping of names to values",
    "model": "not a mapping of keys to values",
    "path": "not a path",
    "literal": "not an allowed value",
}


def place_error(file: StudyFile, error: StithyError, *loc: str) -> StithyError:
    """Make the same error with the place of a value of the file, or of what it is in."""
    document = read_document(make_printable(str(file.path)), file.content.decode("utf-8-sig"))
    place = _find_value_place(document, trim_loc(document, loc))
    problem = document.problem(place, error.problem, error.remedy)
    placed = type(error)(problem.problem, where=problem.where, remedy=problem.remedy)
    placed.excerpt = problem.excerpt
    return placed


def place_key(file: StudyFile, error: StithyError) -> StithyError:
    """Give an error about a key of the study its place in the file; leave any other as it is."""
    loc = tuple((error.where or "").split("."))
    known = {info.alias or field for field, info in Study.model_fields.items()}
    if type(error) not in (UserError, PreconditionError) or loc[0] not in known or error.excerpt:
        return error
    named = type(error)(f"`{error.where}`: {error.problem}", where="", remedy=error.remedy)
    return place_error(file, named, *loc)


def locate(document: Document, error: ValidationError) -> list[StudyProblem]:
    """All problems of a study file, those found while reading it first, each place once."""
    errors = error.errors(include_url=False)
    mistyped = set(filter(None, (_guess_meant(each, document.below) for each in errors)))
    found = [
        problem
        for each in errors
        if not (
            each["type"] == "missing" and each["loc"] in mistyped or _is_consequence(each, errors)
        )
        for problem in _list_problems(document, each)
    ]
    taken = {problem.where for problem in document.problems}
    # Several items may name the same file of prices.
    own = f"{document.name}:"
    once = {each.text if not (each.where or "").startswith(own) else id(each): each
            for each in found if each.where not in taken}  # fmt: skip
    return [*once.values()]


def _list_problems(document: Document, error: ErrorDetails) -> list[StudyProblem]:
    """List the problem of an error, or those of the other file that it carries."""
    carried = error.get("ctx") or {}
    if "problems" not in carried:
        return [_make_problem(document, error)]
    inner = carried.get("error")
    return [*carried["problems"], *(locate(carried["document"], inner) if inner else ())]


def _make_problem(document: Document, error: ErrorDetails) -> StudyProblem:
    loc, context = trim_loc(document, error["loc"]), error.get("ctx") or {}
    if error["type"] == "missing":
        return _describe_missing(document, error["loc"])
    if error["type"] == "extra_forbidden" or context.get("what") == "unknown key":
        return _describe_unknown(document, loc, error)
    if "[key]" in error["loc"]:
        return _describe_wrong_name(document, loc, error)
    what, right = describe_error(error, (*document.below, *loc))
    if loc in document.texts:  # the value as it is written in the file
        value = shorten(mask_passwords(document.texts[loc])) or "nothing"
    else:
        value = shorten(mask_passwords(write_yaml(error["input"])))
    place = _find_value_place(document, loc)
    if (part := context.get("part")) and loc in document.values:
        place = document.part(loc, *part)
    at = f"`{_join_dotted(loc)}`: " if loc else ""
    return document.problem(place, f"{at}{what}: {value}", right)


def _guess_meant(error: ErrorDetails, below: Loc) -> Loc | None:
    if error["type"] != "extra_forbidden":
        return None
    parent = error["loc"][:-1]
    guess = find_closest(str(error["loc"][-1]), list_known((*below, *parent)))
    return (*parent, guess) if guess else None


def _is_consequence(error: ErrorDetails, errors: list[ErrorDetails]) -> bool:
    """Whether a list is too short only because its entries are wrong, which is reported already."""
    loc = error["loc"]
    below = (each["loc"] for each in errors if len(each["loc"]) > len(loc))
    return error["type"] == "too_short" and any(each[: len(loc)] == loc for each in below)


def trim_loc(document: Document, loc: Loc) -> Loc:
    """The longest head of `loc` that is in the document: what pydantic adds for itself is cut."""
    plain = tuple(each for each in loc if each != "[key]")
    while plain and plain not in document.values and plain not in document.keys:
        plain = plain[:-1]
    return plain


def _describe_missing(document: Document, loc: Loc) -> StudyProblem:
    parent, name = trim_loc(document, loc[:-1]), str(loc[-1])
    place = document.keys.get(parent) or _find_value_place(document, parent)
    key = find_key((*document.below, *parent, name))
    whole = "the list" if document.below else "the study"
    below = f"`{_join_dotted(parent)}`" if parent else whole
    remedy = f"add `{name}`"
    if key is not None:
        meaning = (key.info.description or "").split(". ")[0].rstrip(".")
        below_it = f"`{name}:` with {', '.join(list_needed(key.path))} below it"
        line = below_it if key.example is None else f"`{name}: {write_yaml(key.example)}`"
        remedy = f"add {line}: {meaning[:1].lower()}{meaning[1:]}"
    return document.problem(place, f"a key is missing in {below}: {name}", remedy)


def _describe_unknown(document: Document, loc: Loc, error: ErrorDetails) -> StudyProblem:
    parent, name = loc[:-1], str(loc[-1])
    place = document.keys.get(loc) or _find_value_place(document, loc)
    inside = f" in `{_join_dotted(parent)}`" if parent else ""
    right = str((error.get("ctx") or {}).get("right", "")) or _suggest(
        (*document.below, *parent), name
    )
    return document.problem(place, f"unknown key{inside}: {shorten(name)}", right)


def _suggest(parent: Loc, name: str) -> str:
    known = list_known(parent)
    if name in known:  # else the model would not refuse it
        return f"`{name}` is a key of {' or '.join(list_plugins((*parent, name)))} only"
    if guess := find_closest(name, known):
        return f"did you mean `{guess}`?"
    if home := _find_home(parent, name):
        return f"`{name}` belongs in {home}"
    return f"known here: {', '.join(known)}"


def _find_home(parent: Loc, name: str) -> str | None:
    """Find a section that has this key: around `parent`, just below it, or else anywhere."""
    around = (parent[:depth] for depth in range(len(parent) - 1, 0, -1))
    below = ((*parent, each) for each in list_known(parent))
    for section in (*around, *below):
        if name in list_known(section):
            return f"`{_join_dotted(section)}`"
    for key in list_all_keys():
        if key.path[-1] == name and len(key.path) <= HOME_DEPTH:
            return f"`{'.'.join(key.path[:-1])}`" if len(key.path) > 1 else "the top of the file"
    return None


def _describe_wrong_name(document: Document, loc: Loc, error: ErrorDetails) -> StudyProblem:
    place = document.keys.get(loc) or _find_value_place(document, loc)
    name = str(error["input"])
    if loc[:1] == ("candidates",):
        right = "lower-case letters, digits and hyphens, at most 40, such as `disk-2`"
        return document.problem(place, f"not a candidate's name: {shorten(name)}", right)
    right = "letters, digits, `_` and `.`, at most 63"
    return document.problem(
        place, f"not a name in `{_join_dotted(loc[:-1])}`: {shorten(name)}", right
    )


def describe_error(error: ErrorDetails, loc: Loc) -> tuple[str, str]:
    """What is wrong and what would be right, of an error that is neither missing nor unknown."""
    context: dict[str, Any] = error.get("ctx") or {}
    if "what" in context:
        return str(context["what"]), str(context["right"])
    kind = error["type"]
    key = find_key(loc)
    if kind == "too_short" and key is not None:
        return "empty", f"at least {context['min_length']} is needed, {_give_examples(key, loc)}"
    if kind in _BOUNDS:
        wrong, right = _BOUNDS[kind]
        return wrong, right.format(**context)
    what = _KINDS.get(kind.split("_")[0])
    if what and kind == "literal_error":
        return what, f"one of {str(context['expected']).replace(chr(39), '')}".replace(" or ", ", ")
    if what and key is not None:
        return what, _give_examples(key, loc)
    if kind == "value_error":
        return "not possible", str(context.get("error", error["msg"]))
    return "not possible", error["msg"]


def _give_examples(key: Key, loc: Loc) -> str:
    example = key.example
    if loc and isinstance(loc[-1], int) and isinstance(example, list):
        example = example[0]
    if example is None and (needed := list_needed(key.path)):
        return f"it needs {', '.join(needed)} below it"
    example = key.info.default if example is None else example
    page = "docs/reference/study.md says what it takes"
    return page if example is None else f"such as {write_yaml(example)}"


_BOUNDS = {
    "greater_than_equal": ("too small", "at least {ge}"),
    "greater_than": ("too small", "more than {gt}"),
    "less_than_equal": ("too large", "at most {le}"),
    "less_than": ("too large", "below {lt}"),
    "too_long": ("too long", "at most {max_length}"),
    "too_short": ("too few values", "at least {min_length}"),
    "string_too_long": ("too long", "at most {max_length}"),
}
"""What is wrong, and what would be right, by pydantic's type of an error with a bound."""


def _join_dotted(loc: Loc) -> str:
    """The way to a value as people write it: `load.users[2]`."""
    text = ""
    for each in loc:
        text += f"[{each}]" if isinstance(each, int) else f".{shorten(each)}"
    return text.removeprefix(".")


def _find_value_place(document: Document, loc: Loc) -> FilePlace:
    return document.values.get(loc) or FilePlace(1, 1, 2)


def shorten(text: str) -> str:
    """One line of at most `LONGEST` characters."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
