"""The I/O profiles that are shipped, and those of a user: files of TOML, one a profile.

What is wrong with a file is said all at once; nothing of the machine is looked at.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from itertools import chain, repeat
from os.path import exists, isfile
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from stithy.errors import Refused, UserError
from stithy.fio import foreign
from stithy.fio.foreign.lines import make_profile_name
from stithy.fio.profile import IoProfile
from stithy.names import read_named, suggest_instead

SUFFIX = ".toml"
FOLDER = files("stithy.fio") / "profiles"
PROFILE_BYTES_MAX = 2**20
"""What a person writes is far smaller; a disk image named by mistake is not read whole."""

KINDS = "name a profile in TOML, a job file of fio, a parameter file of Vdbench, or a trace"


@cache
def list_names() -> tuple[str, ...]:
    """The names of all shipped profiles, sorted."""
    entries = (path.name for path in FOLDER.iterdir())
    return tuple(sorted(entry.removesuffix(SUFFIX) for entry in entries if entry.endswith(SUFFIX)))


def find(asked: str) -> IoProfile:
    """The profile that a person asks for: shipped, one pattern of it, or a file of one's own.

    `four-corners`, `four-corners/random-read-4k`, `./mine.toml` or `./mine.toml/reads`. What a file
    is, its content says: a job file of fio or a parameter file of Vdbench is translated, a trace
    replayed, one device of it by `./mine.iolog/sda`. Raises UserError, with the nearest name where
    there is none.
    """
    file, part = split_file(asked)
    if file is not None:
        from stithy.fio.traces import is_trace

        if is_trace(file):
            from stithy.fio.jobfile import make_profile

            return make_profile(file, part)
        return select_pattern(read(file), part) if part else read(file)
    name, _, pattern = asked.partition("/")
    if name not in list_names():
        raise _refuse_unknown("I/O profile", name, list_names())
    chosen = load_shipped(name)
    return select_pattern(chosen, pattern) if pattern else chosen


def find_fault(asked: str) -> tuple[str, str] | None:
    """What is wrong with a name in a study, and what would be right; None of a profile."""
    try:
        find(asked)
    except (UserError, Refused) as error:
        if split_file(asked)[0] is None:
            return "not an I/O profile", error.remedy
        return "an I/O profile with faults", error.text
    return None


def own_files(asked: str) -> tuple[Path, ...]:
    """The files of a profile or a trace of one's own, as `find` is asked; none of a shipped one."""
    file, _ = split_file(asked)
    if file is None:
        return ()
    from stithy.fio.traces import list_trace_files

    return tuple(list_trace_files(file))


def split_file(asked: str) -> tuple[Path | None, str]:
    """The file of one's own that is meant, None of a shipped profile, and which part of it.

    A part is a pattern, or a device of a trace, which may be a path. A file that is not there is
    one by its folder or its ending.
    """
    has_folder = "/" in asked
    if asked.partition("/")[0] in list_names() and not (has_folder and isfile(asked)):
        return None, ""
    for end in (len(asked), *(at for at in reversed(range(len(asked))) if asked[at] == "/")):
        if isfile(asked[:end]):
            return Path(asked[:end]), asked[end + 1 :]
    is_file = has_folder or Path(asked).suffix or exists(asked)
    return (Path(asked) if is_file else None), ""


def identify(asked: str) -> tuple[str, Path | None]:
    """Tell the name of a profile as `find` is asked, and its file; a trace has only its place."""
    from stithy.fio.traces import is_trace

    file, _ = split_file(asked)
    if file is None:
        return asked.partition("/")[0], None
    return asked if is_trace(file) else file.stem, file


def select_pattern(profile: IoProfile, name: str) -> IoProfile:
    """The profile with one of its patterns alone. Raises UserError where it has none so called."""
    chosen = tuple(pattern for pattern in profile.patterns if pattern.name == name)
    if not chosen:
        known = tuple(each.name for each in profile.patterns)
        raise _refuse_unknown(f"pattern of {profile.name}", name, known)
    return profile.model_copy(update={"patterns": chosen})


@cache
def load_shipped(name: str) -> IoProfile:
    """A shipped profile by its name, which must be one of `list_names()`."""
    return parse((FOLDER / f"{name}{SUFFIX}").read_text(encoding="utf-8"), name, f"{name}{SUFFIX}")


def read(path: Path) -> IoProfile:
    """A profile in a file, whose name is the file's. Raises UserError."""
    if not isfile(path) and exists(path) and not path.is_dir():
        raise _refuse("it is no file", str(path), "name a file: a pipe can be read only once")
    content = read_named(path, PROFILE_BYTES_MAX, "profile")
    if b"\0" in content:
        raise _refuse("it is not text", str(path), f"save it as UTF-8, or {KINDS}")
    try:
        text, odd = content.decode("utf-8-sig"), None
    except UnicodeDecodeError as error:
        # In others' files only comments and names depend on it.
        text, odd = content.decode("latin-1"), content.count(b"\n", 0, error.start) + 1
    ending = path.suffix.lower()
    if (translate := foreign.find_translator(text, ending)) is not None:
        return foreign.parse(translate, text, path.stem, str(path))
    if ending != SUFFIX and not foreign.is_toml(text):
        raise _refuse("it is no I/O profile", str(path), KINDS)
    if odd is not None:
        raise _refuse("it is not UTF-8, as TOML must be", f"{path}:{odd}", "save it as UTF-8")
    return parse(text, make_profile_name(path.name.removesuffix(SUFFIX)), str(path))


def parse(text: str, name: str, where: str) -> IoProfile:
    """The profile in a text. Raises UserError, or Refused with all that is wrong."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _refuse(f"it is not TOML: {error}", where, "correct it there") from error
    try:
        profile = IoProfile.model_validate(_rename(table) | {"name": name})
    except ValidationError as error:
        raise _read_all(list(_list_model_errors(error, table, where)), where) from error
    found = [_find_at(where, place, *said.split(": ", 1)) for place, said in list_problems(table)]
    if found := [*_check_names(profile, text, where), *found]:
        raise _read_all(found, where)
    return profile


def _check_names(profile: IoProfile, text: str, where: str) -> Iterator[UserError]:
    names, lines = [pattern.name for pattern in profile.patterns], text.splitlines()
    heads = (n for n, line in enumerate(lines, 1) if re.match(r"\s*\[\[\s*pattern\s*]]", line))
    for name, line in zip(names, chain(heads, repeat(1)), strict=False):
        if names.count(name) > 1:
            yield _refuse(
                f"two patterns are called {name}", f"{where}:{line}", "rename one of them"
            )


def _rename(table: Mapping[str, Any]) -> dict[str, Any]:
    """The table with the lists named as in the model: one `[[pattern]]` is many `patterns`."""
    plural = {"pattern": "patterns", "stream": "streams", "source": "sources"}

    def rename(part: Mapping[str, Any]) -> dict[str, Any]:
        return {plural.get(key, key): value for key, value in part.items()}

    renamed = rename(table)
    if isinstance(patterns := renamed.get("patterns"), list):
        renamed["patterns"] = [rename(p) if isinstance(p, dict) else p for p in patterns]
    return renamed


def _list_model_errors(
    error: ValidationError, table: Mapping[str, Any], where: str
) -> Iterator[UserError]:
    found = error.errors()
    # A list is too short for what of it is wrong, which is said by itself.
    outer = {each["loc"][:depth] for each in found for depth in range(len(each["loc"]))}
    for each in (each for each in found if each["loc"] not in outer):
        message = each["msg"].removeprefix("Value error, ")
        problem, _, remedy = message.partition(": ")
        if each["type"] == "extra_forbidden":
            problem, remedy = "there is no such key", "correct its name, or leave it out"
        value = "" if isinstance(each["input"], dict | list) else f" (it is {each['input']!r})"
        place = ".".join(_find_named(each["loc"], table)) or "profile"
        yield _find_at(where, place, f"{problem}{value}", remedy or "correct it")


def _find_named(loc: tuple[int | str, ...], table: Mapping[str, Any]) -> Iterator[str]:
    """A place in the file as a person calls it: patterns and streams by their names."""
    here: Any = _rename(table)
    for each in loc:
        try:
            here = here[each]
        except (KeyError, IndexError, TypeError):
            here = None
        if not isinstance(each, int):
            yield str(each)
        elif isinstance(here, dict) and "name" in here:
            yield str(here["name"])
        else:
            yield str(each + 1)


def _find_at(where: str, place: str, problem: str, remedy: str = "correct it") -> UserError:
    return _refuse(problem, f"{where}: {place}", remedy)


def _refuse(problem: str, where: str, remedy: str) -> UserError:
    return UserError(problem, where=where, remedy=remedy)


def _read_all(found: list[UserError], where: str) -> UserError | Refused:
    return found[0] if len(found) == 1 else Refused(tuple(found), where=where)


def _refuse_unknown(what: str, name: str, known: tuple[str, ...]) -> UserError:
    return _refuse(f"there is no {what} {name!r}", "--profile", suggest_instead(name, known))


def list_problems(table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every number or submission without a source or an assumption, and every key of none.

    Each with what is wrong and the remedy. A number is known by its place: `jobs` of the stream
    `data` of the pattern `sql` is `sql.data.jobs`; keys of sources and assumptions may have `*` for
    any of it.
    """
    sourced = [str(key) for each in table.get("source", ()) for key in each.get("keys", ())]
    keys = [*sourced, *map(str, table.get("assumed", {}))]
    places = tuple(list_numbers(table))
    for place in places:
        found = [key for key in keys if fnmatchcase(place, key)]
        if not found:
            yield place, "has neither a source nor an assumption: give it one of both"
        if len(found) > 1:
            yield place, f"is covered by {' and '.join(found)}: leave one of them"
    for key in keys:
        if not any(fnmatchcase(place, key) for place in places):
            yield key, "covers nothing: correct it, or leave it out"


def list_numbers(table: Mapping[str, Any]) -> Iterator[str]:
    """The places of all numbers in a profile's table, and of its submissions."""
    for pattern in table.get("pattern", ()):
        for stream in pattern.get("stream", ()):
            yield from _list_places(stream, f"{pattern.get('name')}.{stream.get('name')}.")
        yield from _list_places(pattern, f"{pattern.get('name')}.", without=("stream",))
    yield from _list_places(table, "", without=("pattern", "source", "assumed"))


def _list_places(
    table: Mapping[str, Any], before: str, without: tuple[str, ...] = ()
) -> Iterator[str]:
    for key, value in table.items():
        if key not in without and (key == "submission" or _has_number(value)):
            yield f"{before}{key}"


def _has_number(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(_has_number, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int | float) and not isinstance(value, bool)
