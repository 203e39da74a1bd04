"""Walk every number of a report, and hold it against what the rawest files give."""

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from recompute import between, broken, facts, lost, markdown, numbers, stored, texts
from recompute.figures import source_of, title, title_pool, words_pool
from recompute.files import Files, Row
from recompute.printed import shown
from recompute.reasons import reason_value
from recompute.tables import TABLES, Expected, Rows, Source

NEAR = 1e-6
"""A share by which two sums of the same numbers may differ; percentiles are equal."""

UNSAID = ("unit", "point", "level", "sentence")
"""Columns of keys, and of sentences whose values are a table of their own."""


@dataclass
class Outcome:
    """How many numbers were held against the files; where they differ; what nobody recomputes.

    `left_out`: whole parts of a report, and why; of a run that varies more than users also texts.
    """

    checked: Counter[str] = field(default_factory=Counter)
    disagreements: list[str] = field(default_factory=list)
    unknown: Counter[str] = field(default_factory=Counter)
    left_out: dict[str, str] = field(default_factory=dict)

    def compare(self, place: str, found: float | None, expected: Any) -> None:
        """Count a number; `expected` None where the files give none."""
        self.checked[place.split(":")[0]] += 1
        values = expected if isinstance(expected, list) else [expected]
        known = [value for value in values if isinstance(value, int | float)]
        if found is None or not any(
            math.isclose(found, value, rel_tol=NEAR, abs_tol=1e-9) for value in known
        ):
            self.disagreements.append(f"{place}: {found} is shown, the files give {expected}")

    def say(
        self, files: Files, place: str, text: str, row: Row, pool: Sequence[float] = ()
    ) -> None:
        """The numbers of a text that stands in this row."""
        wrong, known = texts.check(files, text, row, pool)
        self.checked[place.split(":")[0]] += known
        self.disagreements += [f"{place}: {each}" for each in wrong]

    def __add__(self, other: "Outcome") -> "Outcome":
        """Both."""
        return Outcome(
            self.checked + other.checked, self.disagreements + other.disagreements,
            self.unknown + other.unknown, self.left_out | other.left_out,
        )  # fmt: skip

    @property
    def excused(self) -> dict[str, str]:
        """What of the unknown cannot be recomputed, and why."""
        known = {place: NOT_RECOMPUTED[place] for place in self.unknown if place in NOT_RECOMPUTED}
        return known | self.left_out

    @property
    def unexplained(self) -> list[str]:
        """The others: numbers that nobody recomputes, and nobody says why."""
        return [place for place in self.unknown if place not in NOT_RECOMPUTED]


_ONCE = "was read from the system once, while the run went on; this table is its rawest file"

NOT_RECOMPUTED = {
    **{f"windows/window:{name}": f"a counter of the server or of a limit {_ONCE}" for name in (
        "server_commits", "server_rollbacks", "checkpoints_inside", "maintenance_runs",
        "memory_peak_bytes",
    )},
    **{f"windows/window:{name}": f"a time that {_ONCE}" for name in ("restore_s", "warm_up_s")},
    "windows/window:rate_per_s": "at what rate users are to arrive is what the hammer was asked",
    "windows/window:errors_expected": "which errors an activity causes on purpose is its own word",
    "windows/window:position": "the order of a block is drawn, and stands in the journal",
    **{f"windows/drives:{name}": f"a counter of the drive or of its block device {_ONCE}"
       for name in ("answered", "moved_bytes", "errors", "device_mean_s", "added_mean_s",
                    "late_answers", "late_mean_s", "cpu_s", "cpu_wait_s")},
    **{f"{place}:{name}": f"a mean of samples or a study's key that {_ONCE}"
       for place in ("tables/meters.parquet", "report.json:power.tables.meters")
       for name in ("every_s", "idle_s", "idle_w")},
    **{f"windows/baseline:{name}": "which block it was is known to the run alone"
       for name in ("block", "attempt", "at_s")},
}  # fmt: skip
"""By file and column: what there is no rawer file of."""


def recompute(root: Path, others: Sequence[Path] = ()) -> Outcome:
    """Every number of the report in `root`, which holds the run against these others."""
    files = Files(root, others)
    report = json.loads((root / "report.json").read_text())
    text = (root / "report.md").read_text()
    return of_tables(files) + of_json(files, report) + of_markdown(files, text)


def of_tables(files: Files) -> Outcome:
    """Those of the tables of windows, of the report and behind its figures; CSV as Parquet."""
    outcome = Outcome()
    for name, known, sql in stored.sources(files):
        Table(files, name, known).walk(outcome, f"windows/{name}", files.rows(sql))
    for folder in ("tables", "figures"):
        for path in sorted((files.root / "report" / folder).glob("*.csv")):
            name = path.stem
            found = files.rows(f"SELECT * FROM read_parquet('{path.with_suffix('.parquet')}')")
            place = f"{folder}/{name}.parquet"
            _csv(outcome, path, found)
            source = _source(name, folder)
            if lost.varies(files):
                source = _beyond_users(name, folder)
                if source is None:
                    outcome.left_out[place] = lost.BEYOND_USERS
                    continue
            Table(files, name, source).walk(outcome, place, found)
    return outcome


def _beyond_users(name: str, folder: str = "tables") -> Source | None:
    """How a table of a run is recomputed in which more than users varies; None: it is not."""
    if folder != "tables":
        return None
    known = TABLES.get(name)
    is_of_windows = isinstance(known, Rows) and "window_id" in known.keys
    return lost.TABLES.get(name, known if is_of_windows else None)


def _source(name: str, folder: str = "tables") -> Source | None:
    of_tables = {**TABLES, "titles": title, "reason-values": reason_value}.get(name)
    return of_tables if folder == "tables" and of_tables else source_of(name)


def of_json(files: Files, report: Row) -> Outcome:
    """Those of the report as JSON, or of some of its keys."""
    outcome = Outcome()
    for key, found in report.items():
        place = f"report.json:{key}"
        if key == "sections":
            for name, section in found.items():
                for part, value in section.items():
                    _of_section(outcome, files, (name, part), value)
        elif key in ("seed", "started_at_s"):
            outcome.compare(place, found, files.manifest[key])
        elif key in ("stithy_version", "comparability_key"):
            outcome.checked["report.json"] += 1
            if found != files.manifest[key]:
                outcome.disagreements.append(f"{place}: {found}")
        elif isinstance(found, str) and lost.varies(files):
            outcome.left_out[place] = lost.BEYOND_USERS
        elif isinstance(found, str):
            outcome.say(files, place, found, {})
    return outcome


def _of_section(outcome: Outcome, files: Files, of: tuple[str, str], found: Any) -> None:
    place = f"report.json:{'.'.join(of)}"
    if of[1] == "statements":
        for said in found:
            if lost.varies(files) and not broken.is_of(said):
                outcome.left_out[place] = lost.BEYOND_USERS
                continue
            known = broken.NUMBERS if broken.is_of(said) else numbers.NUMBERS
            unknown = numbers.check(partial(outcome.compare, place), files, said, known)
            outcome.unknown.update(f"{place}:{name}" for name in unknown)
    elif of[1] != "tables" and lost.varies(files):
        outcome.left_out[place] = lost.BEYOND_USERS
    elif of == ("answer", "facts"):
        for name, said in found.items():
            for text in [said] if isinstance(said, str) else said:
                outcome.say(files, f"{place}.{name}", text, {})
    elif of == ("runs", "facts"):
        _of_runs(outcome, files, place, found["pairs"])
    elif of[1] == "figures":
        for name, said in found.items():
            _of_title(outcome, files, f"{place}.{name}", name, said)
    elif of[1] == "tables" and lost.varies(files):
        for name, rows in found.items():
            if (source := _beyond_users(name)) is None:
                outcome.left_out[f"{place}.{name}"] = lost.BEYOND_USERS
            else:
                Table(files, name, source).check(outcome, f"{place}.{name}", rows)
    elif of[1] == "tables":
        for name, rows in found.items():
            Table(files, name, _source(name)).check(outcome, f"{place}.{name}", rows)


def _of_runs(outcome: Outcome, files: Files, place: str, found: Sequence[Row]) -> None:
    for number, each in enumerate(found, start=1):
        name = f"runs-{number}"
        Table(files, name, _source(name)).check(outcome, place, each["rows"])
        for fact in (*each["ignored"], *each["reported"]):
            said = f"{fact['name']}: {fact['base']} and {fact['other']}"
            outcome.say(files, place, said, {}, facts.of_runs(files, said))


def _of_title(outcome: Outcome, files: Files, place: str, name: str, said: str) -> None:
    """Those of a comparison with other runs are statements, all others what their rows come to."""
    row = {"figure": name, "title": said}
    outcome.say(files, place, said, {}, () if name.startswith("runs-") else title_pool(files, row))


def of_markdown(files: Files, text: str) -> Outcome:
    """Those of the report in Markdown, or of some of its pieces."""
    outcome = Outcome()
    if lost.varies(files):
        return Outcome(left_out={"report.md": lost.BEYOND_USERS})

    def say(place: str, line: str) -> None:
        differs = line.startswith("These facts differ")
        pool = facts.of_runs(files, line) if differs else ()
        outcome.say(files, f"report.md:{place}", line, {}, pool)

    def compare(rows: list[list[str]], is_known: bool) -> None:
        outcome.checked["report.md"] += sum(1 for row in rows for c in row for _ in shown(c))
        if not is_known:
            outcome.disagreements.append(f"report.md: no table has these rows: {rows}")

    def draw(name: str, title: str, caption: str) -> None:
        _of_title(outcome, files, f"report.md:{name}", name, title)
        pool = words_pool(files, {"figure": name, "title": title})
        outcome.say(files, f"report.md:{name}", caption, {}, pool)

    markdown.walk(files, text, say, compare, draw)
    return outcome


def find_unprinted(files: Files, text: str) -> set[str]:
    """The sentences with values that do not stand in the report in Markdown as they are."""
    plain = markdown.read_plain(text)
    of_text = (each for each, row in files.statements.items() if not row)
    return {each for each in of_text if " ".join(each.split()) not in plain}


def of_comparison(files: Files, document: Row, text: str) -> Outcome:
    """Those of `stithy compare` with the run after an earlier one: its JSON, and its lines."""
    outcome, [pair] = Outcome(), document["comparisons"]
    [base] = files.others
    rows = between.changes(base, files, tuple(dict.fromkeys(e["metric"] for e in pair["rows"])))
    for row, found in zip(rows, pair["rows"], strict=True):
        change = {**found["change"], "windows_base": found["change"]["base"],
                  "windows_other": found["change"]["other"], "base": found["value_base"],
                  "other": found["value_other"],
                  "users": int(found["level"].replace(",", ""))}  # fmt: skip
        for name in row.keys() - {"metric", "candidate"}:
            if not (row[name] is change[name] is None):
                outcome.compare(f"compare:{row['metric']}:{name}", change[name], row[name])
    for line in pair["machine"]:
        outcome.say(files, "compare:machine", line, {})
    lines = [re.split(r"\s{2,}", each.strip()) for each in text.splitlines()]
    for row, cells in zip(rows, [each for each in lines if len(each) == 8][1:], strict=True):
        apart = between.is_apart(row)
        expected: list[list[float | None]] = [
            [row["users"]], [row["base"]], [row["other"]],
            [row["ratio"] - 1, row["ratio"]] if apart else [],
            [x for end in (row["low"], row["high"]) if end for x in (end - 1, end)],
            [row["windows_base"], row["windows_other"]],
        ]  # fmt: skip
        for cell, values in zip(cells[2:], expected, strict=True):
            outcome.checked["compare"] += 1
            numbers = shown("" if cell.startswith("none: ") else cell)
            known = [any(one.is_of(value) for value in values) for one in numbers]
            if not all(known) or bool(known) != bool(values):
                outcome.disagreements.append(f"compare: {cell}, the files give {values}")
    return outcome


def _csv(outcome: Outcome, path: Path, rows: list[Row]) -> None:
    """The same as the Parquet beside it, cell by cell."""
    with path.open(newline="") as lines:
        found = list(csv.DictReader(lines))
    place = f"{path.parent.name}/{path.name}"
    if len(found) != len(rows):
        outcome.disagreements.append(f"{place}: {len(found)} rows, {len(rows)} in the Parquet")
    for number, (cells, row) in enumerate(zip(found, rows, strict=False)):
        for name, value in row.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                outcome.compare(f"{place}:{number}:{name}", _number(cells[name]), value)
            elif isinstance(value, str) and cells[name] != value:
                outcome.disagreements.append(f"{place}:{number}:{name}: {cells[name]} for {value}")


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan


class Table:
    """A table of the report, whatever file it stands in."""

    def __init__(self, files: Files, name: str, source: Source | None) -> None:
        """Ask the files for all rows at once, where a query gives them."""
        self.files, self.name, self.source = files, name, source
        self.all: dict[tuple[Any, ...], Row] = {}
        self.known: dict[str, Expected | None] = {}
        for row in source.of(files) if isinstance(source, Rows) else ():
            self._add(self._key(row), row)

    def _add(self, key: tuple[Any, ...], row: Row) -> None:
        """Of a block that was measured again there are two, of which either may be meant."""
        if key not in self.all:
            self.all[key] = dict(row)
            return
        for name, value in row.items():
            before = self.all[key][name]
            self.all[key][name] = [*(before if isinstance(before, list) else [before]), value]

    def check(self, outcome: Outcome, place: str, found: list[Row]) -> None:
        """Every number of these rows."""
        for number, row in enumerate(found):
            if " ÷ " in str(row.get("pair")) and "a" not in row:
                b, _, a = row["pair"].partition(" ÷ ")
                row = {**row, "a": a, "b": b}
            expected = self._expected(row)
            if expected is None and self.source is not None:
                outcome.disagreements.append(f"{place}:{number}: the files have no such row: {row}")
                continue
            for name, value in row.items():
                is_said = isinstance(value, str) and name not in UNSAID
                if is_said and not lost.varies(self.files):  # of these, numbers alone
                    self._say(outcome, f"{place}:{number}:{name}", name, value, row)
                if isinstance(value, bool) or not isinstance(value, int | float):
                    continue
                if (
                    name in ("users", "level")
                    and self.name != "limits"
                    and value not in self.files.levels
                    and not lost.varies(self.files)
                ):
                    outcome.compare(f"{place}:{number}:{name}", value, None)
                elif expected is None or name not in expected:
                    outcome.unknown[f"{place}:{name}"] += 1
                else:
                    outcome.compare(f"{place}:{number}:{name}", value, expected[name])
            for name, value in (expected or {}).items():
                if name in row and row[name] is None and isinstance(value, int | float):
                    outcome.disagreements.append(f"{place}:{number}:{name}: {value} is missing")

    def _say(self, outcome: Outcome, place: str, name: str, text: str, row: Row) -> None:
        pool: Sequence[Any] = ()
        row = {**row, "candidate": name[3:]} if name.startswith("by:") else row
        if self.name.startswith("facts-") or self.name in ("compared", "set-up"):
            pool = facts.pool(self.files, row)
        elif self.name == "titles" and name == "title" and not row["figure"].startswith("runs-"):
            pool = title_pool(self.files, row)
        elif name in ("told_base", "told_other"):
            pool = [(self._expected(row) or {}).get(name.removeprefix("told_"))]
        elif self.name == "thresholds":
            found = self._expected(row) or {}
            pool = {"left_shown": [found["left"]], "right_shown": [found["right"]],
                    "threshold": found["constants"]}.get(name, self.files.levels)  # fmt: skip
        outcome.say(self.files, place, text, row, pool)

    def walk(self, outcome: Outcome, place: str, found: list[Row]) -> None:
        """All its numbers, and that it has all rows that the files give."""
        self.check(outcome, place, found)
        if isinstance(self.source, Rows):
            for key in self.all.keys() - {self._key(row) for row in found}:
                outcome.disagreements.append(f"{place}: the row {key} is missing")

    def _expected(self, row: Row) -> Expected | None:
        if isinstance(self.source, Rows):
            return self.all.get(self._key(row))
        if self.source is None:
            return None
        key = json.dumps(row, default=str)
        if key not in self.known:
            self.known[key] = self.source(self.files, row)
        return self.known[key]

    def _key(self, row: Row) -> tuple[Any, ...]:
        assert isinstance(self.source, Rows)
        return tuple(row[name] for name in self.source.keys)
