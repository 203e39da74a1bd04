"""Drawings made small: what nobody sees goes, what repeats stands once, drawings are kept."""

import hashlib
import json
import os
import re
import stat
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from math import isclose
from pathlib import Path
from typing import Any

UNSEEN = 0.04
"""Pixels that rounding to a tenth takes away."""

_NUMBER = r"-?[\d.]+"
_AT = rf'transform="translate\(({_NUMBER}),({_NUMBER})\)"'
_REST = r"([^<>]*)"
_LINE = re.compile(rf'<line {_AT} x2="({_NUMBER})" y2="({_NUMBER})"{_REST}/>')
_SYMBOL = re.compile(rf'<path {_AT} d="(M[MLAHVZhv\d.,-]*)"{_REST}/>')
_TEXT = re.compile(rf"<text{_REST} {_AT}{_REST}>([^<>]*)</text>")
_STEP = re.compile(r"([MLAHVZhv])([\d.,-]*)")
_THROUGH = re.compile(r"opacity=")

Found = re.Match[str]


def compact(drawing: str) -> str:
    """Lines, symbols and texts that follow each other and look alike, each as one element."""
    drawing = _joined(drawing, _LINE, lambda found: found[5], _lines)
    drawing = _joined(drawing, _SYMBOL, lambda found: found[4], _symbols)
    return _joined(drawing, _TEXT, lambda found: found[1] + found[4], _texts)


def _joined(
    drawing: str,
    pattern: re.Pattern[str],
    look: Callable[[Found], str],
    join: Callable[[Sequence[Found]], str],
) -> str:
    """The drawing, each run of neighbours with the same look as `join` writes it."""
    written, end = [], 0
    for _, run in groupby(_numbered(pattern, drawing, look), key=lambda each: each[0]):
        together = [found for _, found in run]
        written += [drawing[end : together[0].start()], join(together)]
        end = together[-1].end()
    return "".join(written) + drawing[end:]


def _numbered(
    pattern: re.Pattern[str], drawing: str, look: Callable[[Found], str]
) -> list[tuple[int, Found]]:
    """Each element with the number of its run; what is seen through is a run of its own."""
    numbered: list[tuple[int, Found]] = []
    for found in pattern.finditer(drawing):
        run, before = numbered[-1] if numbered else (0, None)
        alike = before and before.end() == found.start() and look(before) == look(found)
        new = not alike or _THROUGH.search(look(found))
        numbered.append((run + 1 if new else run, found))
    return numbered


def _lines(run: Sequence[Found]) -> str:
    steps = (f"M{each[1]},{each[2]}{_to(float(each[3]), float(each[4]))}" for each in run)
    return f'<path d="{"".join(steps)}"{run[0][5]}/>'


def _symbols(run: Sequence[Found]) -> str:
    """One path, but for those with an edge, which is painted over what lies below it."""
    paths = [_moved(each[3], float(each[1]), float(each[2])) for each in run]
    if len(run) == 1 or ' stroke="' not in run[0][4]:
        return f'<path d="{"".join(paths)}"{run[0][4]}/>'
    each = (f'<path d="{path}"/>' for path in paths)
    return f"<g{run[0][4]}>{''.join(each)}</g>"


def _texts(run: Sequence[Found]) -> str:
    if len(run) == 1:
        return run[0][0]
    each = (f'<text x="{one[2]}" y="{one[3]}">{one[5]}</text>' for one in run)
    return f"<g{run[0][1]}{run[0][4]}>{''.join(each)}</g>"


def _moved(path: str, x: float, y: float) -> str:
    """A symbol around the origin as the same one around a point, in steps from its first corner."""
    here, steps = (0.0, 0.0), []
    for command, text in _STEP.findall(path):
        values = [float(each) for each in re.findall(_NUMBER, text)]
        there = _end(command, values, here)
        right, down = there[0] - here[0], there[1] - here[1]
        if command == "M":
            steps.append(f"M{_short(x + there[0])},{_short(y + there[1])}")
        elif command == "A":
            steps.append("a" + ",".join(map(_short, (*values[:-2], right, down))))
        else:
            steps.append("Z" if command == "Z" else _to(right, down))
        here = there
    return "".join(steps)


def _end(command: str, values: list[float], here: tuple[float, float]) -> tuple[float, float]:
    """Where a step of a path leads."""
    match command:
        case "H":
            return values[0], here[1]
        case "V":
            return here[0], values[0]
        case "h":
            return here[0] + values[0], here[1]
        case "v":
            return here[0], here[1] + values[0]
        case "Z":
            return here
    return values[-2], values[-1]


def _to(right: float, down: float) -> str:
    """A straight step."""
    if isclose(down, 0, abs_tol=UNSEEN):
        return f"h{_short(right)}"
    if isclose(right, 0, abs_tol=UNSEEN):
        return f"v{_short(down)}"
    return f"l{_short(right)},{_short(down)}"


def _short(number: float) -> str:
    return f"{number:z.1f}".removesuffix(".0")


Row = Mapping[str, Any]


REPEATED = "&"
"""The key of what stands for a repeated part: its value is the part's place in `repeated`."""

WORTH_IT = 30
"""Own: parts with fewer letters are not worth a place of their own."""


def slim(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The specification with `columns` in the place of `datasets`, and the parts it repeats.

    Shapes: `repeated` is a list of parts; `{"&": place}` stands for one wherever it is, in parts as
    well.
    """
    rest = {key: value for key, value in spec.items() if key != "datasets"}
    columns = {name: _columns(rows) for name, rows in spec["datasets"].items()}
    return _once({**rest, "columns": columns})


def _once(document: Mapping[str, Any]) -> dict[str, Any]:
    texts = Counter(text for value in document.values() for text in _parts(value))
    parts = _Parts({text for text, times in texts.items() if times > 1 and len(text) >= WORTH_IT})
    shown = {key: parts.shown(value) for key, value in document.items()}
    return {**shown, "repeated": parts.repeated}


@dataclass(frozen=True)
class _Parts:
    """What a specification holds more than once: `many` as text, `repeated` each part once."""

    many: Set[str]
    repeated: list[Any] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)

    def shown(self, value: Any) -> Any:
        """The value, or what stands for it."""
        if not isinstance(value, dict | list | tuple) or (text := _text(value)) not in self.many:
            return self._within(value)
        if text not in self.places:
            self.places[text] = len(self.repeated)
            self.repeated.append(None)  # its place, before those of the parts within it
            self.repeated[self.places[text]] = self._within(value)
        return {REPEATED: self.places[text]}

    def _within(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self.shown(each) for key, each in value.items()}
        return [self.shown(each) for each in value] if isinstance(value, list | tuple) else value


def _parts(value: Any) -> Iterator[str]:
    """Each object and list within a value, and itself, as text."""
    if isinstance(value, dict | list | tuple):
        yield _text(value)
        for each in value.values() if isinstance(value, dict) else value:
            yield from _parts(each)


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _columns(rows: Sequence[Row]) -> dict[str, Any]:
    """Each column by its name: one value where all rows have the same, else a list of them.

    A list of texts that repeat is `[texts, places]`: each text once, and for each row its place.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return {
        "rows": len(rows),
        "of": {name: _column([row.get(name) for row in rows]) for name in names},
    }


def _column(values: list[Any]) -> Any:
    first = values[0]
    if all(type(value) is type(first) and value == first for value in values):
        return {"all": first}
    if all(value is None or isinstance(value, str) for value in values):
        texts = list(dict.fromkeys(values))
        places = {text: place for place, text in enumerate(texts)}
        return {"texts": texts, "at": [places[value] for value in values]}
    return [
        int(value) if isinstance(value, float) and value.is_integer() else value for value in values
    ]


WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def kept(home: Callable[[], Path], name: str, make: Callable[[], str]) -> str:
    """The text that is kept under `name` in the folder `home`; made, and kept, where none is.

    Where nothing can be kept it is made each time: nobody learns of it.
    """
    try:
        folder = _own(home())
    except (OSError, RuntimeError):
        return make()
    with suppress(OSError):
        if (text := _read(folder / name)) is not None:
            return text
    text = make()
    with suppress(OSError):
        _write(folder / name, text.encode())
    return text


def _own(folder: Path) -> Path:
    """The folder, made where it is missing. Raises OSError for one that others may write to."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = folder.lstat()
    if not stat.S_ISDIR(about.st_mode) or not _is_own(about):
        raise PermissionError(f"{folder} is somebody else's, or others may write there")
    return folder


def _is_own(about: os.stat_result) -> bool:
    return about.st_uid == os.geteuid() and not about.st_mode & WRITABLE_BY_OTHERS


def _read(path: Path) -> str | None:
    """The text, None for a file that is not as it was written. Raises OSError without one."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        if not _is_own(os.fstat(file.fileno())):
            return None
        shown, _, content = file.read().partition(b"\n")
    return content.decode() if shown == _sum(content) else None


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all: others may read it, or write the same, meanwhile."""
    descriptor, beside = tempfile.mkstemp(dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(_sum(content) + b"\n" + content)
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink()
        raise


def _sum(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
