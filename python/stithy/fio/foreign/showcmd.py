"""The sections of a job file, with their options as fio reads them, and the line of each.

`fio --showcmd` puts in variables and knows names and values. It is asked about each option alone:
then it says which line it refuses, and never opens a library that `ioengine` names, as it does even
here for an option that only an engine may know. Lines and included files are put together here.
Source: `__parse_jobs_ini` in init.c, `fio_options_parse` and `bc_calc` in options.c of fio 3.33.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from stithy.environment import read_variable
from stithy.errors import UserError, give_reason
from stithy.fio.foreign.lines import Place, Reader, Word
from stithy.fio.program import find
from stithy.hosts.runner import Command, Finished, LocalRunner

OPTIONS = tomllib.loads((files("stithy.fio.foreign") / "fio-options.toml").read_text("utf-8"))
HIDDEN = frozenset(OPTIONS["hidden"].split())
BLANK = "".join(map(chr, range(33))) + "\x7f"
LINE_BYTES_MOST = 4000
"""fio reads a longer line as two."""

FILE_BYTES_MOST = 2**20
NESTED_MOST = 16

_CALCULATION = re.compile(r"(?=.*\$(?:pagesize|mb_memory|ncpus)).*[-+*/]")
_VARIABLE = re.compile(r"\$\{([^}]+)\}")
_SHOWN = re.compile(r"--name=(\d+) --([\w-]+)(?:=(.*?))?\s*(?= --name=\d+ |$)", re.DOTALL)
_DEPRECATED = re.compile(r"Option \S+ is deprecated\n")
_DROPPED = re.compile(r"^fio: job (\d+) dropped$", re.MULTILINE)
_REFUSED = re.compile(r"^(?:fio: failed parsing|Bad option|fio: job).*\n", re.MULTILINE)


class JobSection(NamedTuple):
    """A section, and its options in their order."""

    name: str
    line: Place
    options: list[Word]


def read_sections(text: str, reader: Reader) -> list[JobSection]:
    """The sections of a job file; what cannot be read is a problem at its line.

    Raises PreconditionError where fio is missing.
    """
    sections = _split_sections(text, reader)
    written = [option for section in sections for option in section.options]
    asked = []
    for option in written:
        if _CALCULATION.match(option.text):  # fio would calculate it in a shell
            reader.refuse(option.line, f"a calculation: {option.text[1:]}", "write its result")
        elif option.key not in HIDDEN:
            asked.append(option)
    while (answer := _ask_fio(*_write_jobs(asked))).code != 0:
        if (dropped := _DROPPED.search(answer.stderr)) is None:
            problem = f"fio cannot read it: {answer.stderr.strip()}"
            raise UserError(problem, where=reader.where, remedy="correct it")
        _refuse_option(asked.pop(int(dropped[1])), answer.stderr, reader)
    pairs = _SHOWN.findall(_DEPRECATED.sub("", answer.stdout))
    if [int(number) for number, _, _ in pairs] != list(range(len(asked))):
        problem = f"fio shows it as other options: {answer.stdout.strip()}"
        raise UserError(problem, where=reader.where, remedy="write ` --` in no value")
    shown = {
        option: replace(option, key=key, text=value.strip())
        for option, (_, key, value) in zip(asked, pairs, strict=True)
    }
    shown |= {each: replace(each, text=each.text[1:]) for each in written if each.key in HIDDEN}
    for section in sections:
        section.options[:] = [shown[option] for option in section.options if option in shown]
    return sections


def _split_sections(text: str, reader: Reader) -> list[JobSection]:
    sections: list[JobSection] = []
    for line, place in _read_lines(text, Path(reader.where), 0, reader):
        if line.startswith("["):
            sections.append(JobSection(line[1:-1].strip(BLANK), place, []))
        elif not sections:
            reader.refuse(place, f"{line!r} stands before any section", "put it into [global]")
        else:
            key, sign, value = line.partition("=")
            sections[-1].options.append(Word(sign + value.strip(BLANK), place, key.strip(BLANK)))
    return sections


def _read_lines(text: str, path: Path, depth: int, reader: Reader) -> Iterator[tuple[str, Place]]:
    """What fio reads of each line, those of included files in their places."""
    for number, raw in enumerate(text.split("\n"), 1):
        line = re.split("[;#]", raw, maxsplit=1)[0].strip(BLANK)
        place = f"{path}:{number}" if depth else number
        if len(line.encode()) > LINE_BYTES_MOST:
            reader.refuse(place, "a line that is too long for fio", "make it shorter")
        elif line.startswith("[") and depth:
            reader.refuse(place, "a section in an included file", "move it into the job file")
        elif line.startswith("include"):
            other = Path(line.removeprefix("include").strip(BLANK))
            other = other if other.exists() else path.parent / other
            inner = _read_included(other, place, depth, reader)
            yield from _read_lines(inner, other, depth + 1, reader)
        elif line:
            yield line, place


def _read_included(path: Path, place: Place, depth: int, reader: Reader) -> str:
    try:
        if depth < NESTED_MOST:
            with path.open("rb") as file:
                return file.read(FILE_BYTES_MOST).decode(errors="replace")
        reader.refuse(place, f"{path} includes itself", "include it once")
    except OSError as error:
        problem = f"{path} cannot be included: {give_reason(error)}"
        reader.refuse(place, problem, "name a file that is readable")
    return ""


def _write_jobs(options: Sequence[Word]) -> tuple[str, tuple[tuple[str, str], ...]]:
    """A job for each option, with its number for a name; the variables that they use."""
    text = "".join(f"[{number}]\n{each.key}{each.text}\n" for number, each in enumerate(options))
    names = sorted(set(_VARIABLE.findall(text)))
    return text, tuple(
        (name, value) for name in names if (value := read_variable(name)) is not None
    )


@cache
def _ask_fio(text: str, variables: tuple[tuple[str, str], ...]) -> Finished:
    runner = LocalRunner()
    command = Command([find(runner).program, "--showcmd", "-"], environment=dict(variables))
    return runner.run(command, timeout_s=60.0, stdin=text)


def _refuse_option(option: Word, errors: str, reader: Reader) -> None:
    reasons = [line.removeprefix("fio: ") for line in _REFUSED.sub("", errors).splitlines()]
    what = "has no option" if "Bad option" in errors else "does not take"
    unset = [name for name in _VARIABLE.findall(option.text) if read_variable(name) is None]
    remedy = f"set the variable {', '.join(unset)}" if unset else "correct it"
    problem = "; ".join([f"fio {what} {option.key}{option.text}", *reasons])
    reader.refuse(option.line, problem, remedy)
