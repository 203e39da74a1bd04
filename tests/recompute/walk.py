"""Walk every number of a report, and hold it against what the rawest files give."""

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recompute import facts, markdown, stored, texts
from recompute.figures import source_of, title, title_pool
from recompute.files import Files, Row
from recompute.printed import shown
from recompute.tables import TABLES, Expected, Known, Query, Source, asked

NEAR = 1e-6
"""A share by which two sums of the same numbers may differ; percentiles are equal."""


OF_TABLES = {**TABLES, "titles": title}

_UNIT = r"(µs|ms|s|%|[KMGT]?i?B)"
RANGE = re.compile(rf"(\d[\d,.]*)(?: {_UNIT})? to (\d[\d,.]*) {_UNIT}(?!\w)")


@dataclass
class Outcome:
    """How many numbers were held against the files; where they differ; what nobody recomputes."""

    checked: Counter[str] = field(default_factory=Counter)
    disagreements: list[str] = field(default_factory=list)
    unknown: Counter[str] = field(default_factory=Counter)

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
        """The numbers of a text that stands in this row; ranges by each of their ends."""
        if "window_ids" in row and RANGE.search(text):
            for end in (_low, _high):
                self.say(files, place, RANGE.sub(end, text), row, pool)
            return
        wrong, silent, known = texts.check(files, text, row, pool)
        self.checked[place.split(":")[0]] += known
        self.disagreements += [f"{place}: {each}" for each in wrong]
        self.unknown.update(f"{place.split(':')[0]}: {each}" for each in silent)

    def __add__(self, other: "Outcome") -> "Outcome":
        """Both."""
        return Outcome(
            self.checked + other.checked, self.disagreements + other.disagreements,
            self.unknown + other.unknown,
        )  # fmt: skip

    @property
    def excused(self) -> dict[str, str]:
        """What of the unknown cannot be recomputed, and why."""
        return {place: NOT_RECOMPUTED[place] for place in self.unknown if place in NOT_RECOMPUTED}

    @property
    def unexplained(self) -> list[str]:
        """The others: numbers that nobody recomputes, and nobody says why."""
        return [place for place in self.unknown if place not in NOT_RECOMPUTED]


_ONCE = "was read from the system once, while the run went on; this table is its rawest file"

NOT_RECOMPUTED = {
    **{f"windows/window:{name}": f"a counter of the server or of a limit {_ONCE}" for name in (
        "server_commits", "server_rollbacks", "checkpoints_inside", "autovacuum_runs",
        "memory_peak_bytes",
    )},
    **{f"windows/window:{name}": f"a time that {_ONCE}" for name in ("restore_s", "warm_up_s")},
    "windows/window:position": "the order of a block is drawn, and stands in the journal",
    **{f"windows/drives:{name}": f"a counter of the drive or of its block device {_ONCE}"
       for name in ("answered", "moved_bytes", "errors", "device_mean_s", "added_mean_s",
                    "late_answers", "late_mean_s", "cpu_s", "cpu_wait_s")},
    **{f"windows/canary:{name}": "which block it was is known to the run alone"
       for name in ("users", "block", "attempt", "at_s")},
}  # fmt: skip
"""By file and column: what there is no rawer file of."""


def _low(match: re.Match[str]) -> str:
    return f"{match[1]} {match[2] or match[4]}"


def _high(match: re.Match[str]) -> str:
    return f"{match[3]} {match[4]}"


def recompute(root: Path) -> Outcome:
    """Every number of the report in `root`."""
    files = Files(root)
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
            source = OF_TABLES.get(name) if folder == "tables" else source_of(name)
            found = files.rows(f"SELECT * FROM read_parquet('{path.with_suffix('.parquet')}')")
            Table(files, name, source).walk(outcome, f"{folder}/{name}.parquet", found)
            _csv(outcome, path, found)
    return outcome


def of_json(files: Files, report: Row) -> Outcome:
    """Those of the answer as JSON."""
    outcome = Outcome()
    for key, found in report.items():
        if isinstance(found, list) and found and isinstance(found[0], dict):
            name = {"candidates_at_level": "candidates"}.get(key, key)
            Table(files, name, TABLES.get(name)).check(outcome, f"report.json:{key}", found)
    # The first sentence tells of the question's metric, another of the other one.
    first = dict(asked(files))
    other = {**first, "metric": "p95" if first["metric"] in ("NOPM", "TPM") else "NOPM"}
    rows = {"headline": first, "detail": first, "findings": other}
    for name, said in report["answer"].items():
        for text in [said] if isinstance(said, str) else said:
            outcome.say(files, f"report.json:{name}", text, rows.get(name, {}))
    for name in ("question", "label", "footer", "provenance"):
        outcome.say(files, f"report.json:{name}", report[name] or "", {})
    for name in ("seed", "started_at_s"):
        outcome.compare(f"report.json:{name}", report[name], files.manifest[name])
    for name in ("stithy_version", "comparability_key"):
        outcome.checked["report.json"] += 1
        if report[name] != files.manifest[name]:
            outcome.disagreements.append(f"report.json:{name}: {report[name]}")
    return outcome


def of_markdown(files: Files, text: str) -> Outcome:
    """Those of the report in Markdown."""
    outcome = Outcome()

    def say(place: str, line: str, row: Row) -> None:
        outcome.say(files, f"report.md:{place}", line, row)

    def compare(place: str, cell: str, expected: Any) -> None:
        outcome.checked["report.md"] += 1
        if not all(one.is_of(expected) for one in shown(cell)) or not any(shown(cell)):
            outcome.disagreements.append(f"report.md:{place}: {cell}, the files give {expected}")

    markdown.walk(files, text, say, compare)
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
        self.known: dict[str, Expected] = {}
        if isinstance(source, Query | Known):
            rows = source.rows if isinstance(source, Known) else files.rows(source.sql)
            for row in rows:
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
                if isinstance(value, str):
                    self._say(outcome, f"{place}:{number}:{name}", name, value, row)
                if isinstance(value, bool) or not isinstance(value, int | float):
                    continue
                if (
                    name in ("users", "level")
                    and self.name != "limits"
                    and value not in self.files.levels
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
        pool: Sequence[float] = ()
        row = {**row, "candidate": name[3:]} if name.startswith("by:") else row
        if self.name.startswith("facts-") or self.name in ("compared", "set-up"):
            pool = facts.pool(self.files, row)
        elif self.name == "titles" and name == "title":
            pool = title_pool(self.files, row)
        outcome.say(self.files, place, text, row, pool)

    def walk(self, outcome: Outcome, place: str, found: list[Row]) -> None:
        """All its numbers, and that it has all rows that the files give."""
        self.check(outcome, place, found)
        if isinstance(self.source, Query | Known):
            for key in self.all.keys() - {self._key(row) for row in found}:
                outcome.disagreements.append(f"{place}: the row {key} is missing")

    def _expected(self, row: Row) -> Expected | None:
        if isinstance(self.source, Query | Known):
            return self.all.get(self._key(row))
        if self.source is None:
            return None
        key = json.dumps(row, default=str)
        if key not in self.known:
            self.known[key] = self.source(self.files, row)
        return self.known[key]

    def _key(self, row: Row) -> tuple[Any, ...]:
        assert isinstance(self.source, Query | Known)
        return tuple(row[name] for name in self.source.keys)
