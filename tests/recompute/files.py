"""The rawest files of a run as tables of DuckDB: buckets of latency logs, samples, counters.

Tables: `win` of windows, with `valid`, `measured_s`, `headline_per_min` and `tpm` from counts and
time stamps;
`tx` of transaction types; `seconds`; `samples` of the measurements, `means` of them by window,
`weighted` by operations; `lat`, the buckets of latency logs with the second since the users began;
`drive_lat`, those of emulated drives whose interval lies within a measurement; the rest as written.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import duckdb

from recompute.hlog import buckets
from recompute.printed import shown

Row = dict[str, Any]

OF_WINDOWS = {
    "core_rows": "window", "load_rows": "load", "tx_rows": "transactions", "seconds": "seconds",
    "series": "series",
    "ledger": "ledger", "ledger_findings": "ledger_findings", "drives": "drives",
    "window_conditions": "conditions", "surroundings": "surroundings",
}  # fmt: skip
OF_RUN = {"restores": "restores", "baseline": "baseline", "run_conditions": "conditions"}

STAMP_S = 0.0015
"""Time stamps of logs have three decimals."""

VIEWS = f"""
CREATE MACRO wait_group(event) AS CASE
  WHEN event LIKE 'CPU%' THEN 'cpu'
  WHEN regexp_matches(event, '^(IO|LWLock):(?i)WAL') THEN 'log'
  WHEN event LIKE 'IO:%' OR lower(event) IN ('ipc:bufferio', 'lwlock:buffer_io') THEN 'data'
  WHEN regexp_matches(event, '^(Lock|LWLock|BufferPin)') THEN 'locks' ELSE 'other' END;
CREATE VIEW window_rows AS SELECT * FROM core_rows LEFT JOIN load_rows USING (window_id);
CREATE TABLE win AS SELECT w.* EXCLUDE (headline_per_min, tpm), coalesce(v.valid, false) AS valid,
  measure_to_s - measure_from_s AS measured_s,
  headline_committed * 60 / measured_s AS headline_per_min,
  transactions * 60 / measured_s AS tpm, transactions / measured_s AS rate
  FROM window_rows w LEFT JOIN validity v ON w.window_id = v.window_id;
CREATE TABLE tx AS SELECT w.candidate, w.users, w.block, w.attempt, w.valid, t.*
  FROM tx_rows t JOIN win w ON t.window_id = w.window_id;
CREATE TABLE samples AS SELECT w.candidate, w.users, w.block, w.valid, s.* FROM series s
  JOIN win w ON s.window_id = w.window_id WHERE s.value IS NOT NULL
  AND s.at_s - 0.5 >= w.measure_from_s AND s.at_s - 0.5 < w.measure_to_s;
CREATE TABLE means AS SELECT window_id, candidate, users, block, valid, collector, subject, metric,
  avg(value) AS value, count(*) AS looks, sum(value) AS total FROM samples GROUP BY ALL;
CREATE TABLE weighted AS SELECT l.window_id, l.candidate, l.users, l.block, l.valid, l.subject,
  l.metric, sum(l.value * r.value) / sum(r.value) AS value FROM samples l JOIN samples r
  ON l.window_id = r.window_id AND l.at_s = r.at_s AND l.subject = r.subject
  AND r.metric = replace(replace(l.metric, '_latency_s', 's_per_s'), 'flushs_', 'flushes_')
  WHERE l.collector = 'block' AND r.collector = 'block' AND l.metric LIKE '%\\_latency\\_s'
  ESCAPE '\\' AND r.value > 0 GROUP BY ALL;
CREATE TABLE lat AS SELECT w.candidate, w.users, w.block, w.attempt, w.valid, l.*,
  CAST(greatest(0, round(l.at_s - w.started_at_s)) AS BIGINT) AS second,
  l.at_s >= w.measure_from_s - {STAMP_S} AND l.at_s < w.measure_to_s - {STAMP_S} AS measured,
  l.at_s < w.measure_to_s - {STAMP_S} AS before_end
  FROM logs l JOIN win w ON l.window_id = w.window_id;
CREATE TABLE drive_lat AS SELECT w.window_id, w.users, w.block, w.valid, l.* FROM drive_logs l
  JOIN win w ON l.candidate = w.candidate AND l.at_s >= w.measure_from_s - {STAMP_S}
  AND l.at_s + l.length_s <= w.measure_to_s + {STAMP_S};
"""


QUOTED = """
SELECT * FROM (SELECT unnest([error_text, missing_because, ledger_problem, memory_limit_lost,
  ledger_unverified_because, ledger_shares, memory_limit_note, others_names]) AS text
  FROM win LEFT JOIN surroundings USING (window_id) UNION ALL SELECT text FROM ledger_findings)
  WHERE text IS NOT NULL
"""
"""What a report quotes from the tables of windows."""


class Files:
    """The files of the run in `root`, asked by SQL."""

    def __init__(self, root: Path, others: Iterable[Path] = ()) -> None:
        """Read all of them once, and those of the runs that the report holds it against."""
        self.root, self.others = root, [Files(each) for each in others]
        self.manifest: Row = json.loads((root / "manifest.json").read_text())
        self.has_logs = any(root.glob("windows/*/hammer.response.hlog"))
        self._db = duckdb.connect(config={"threads": 1})
        self._answers: dict[tuple[str, Any], tuple[list[str], list[tuple[Any, ...]]]] = {}
        for names, folder in ((OF_WINDOWS, "windows/*"), (OF_RUN, "tables")):
            for name, file in names.items():
                files = f"'{root}/{folder}/{file}.parquet', union_by_name = true"
                # No table of the report takes the samples of one tenant for those of a window.
                which = " WHERE instance = ''" if name == "series" else ""
                self._db.execute(f"CREATE VIEW {name} AS FROM read_parquet({files}){which}")
        # Which windows are valid is words and no number: it is taken from the report.
        reported = f"'{root}/report/tables/windows.parquet'"
        self._db.execute(
            f"CREATE VIEW validity AS SELECT window_id, valid FROM read_parquet({reported})"
        )
        self._fill("logs", ("window_id", "kind"), self._hammer_logs())
        self._fill("drive_logs", ("candidate", "role"), self._drive_logs())
        self._db.execute(VIEWS)

    def rows(self, query: str, values: Iterable[Any] = ()) -> list[Row]:
        """The answer to a query, by names of columns."""
        names, rows = self._ask(query, values)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def column(self, query: str, values: Iterable[Any] = ()) -> list[Any]:
        """The answer to a query of one column, without what is null."""
        _, rows = self._ask(query, values)
        return [value for (value,) in rows if value is not None]

    def one(self, query: str, *values: Any) -> Any:
        """The answer to a query of one value."""
        _, rows = self._ask(query, values)
        return rows[0][0] if rows else None

    def _ask(self, query: str, values: Iterable[Any]) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The names of columns, and the rows; a run is read once, and a query is asked once."""
        known = tuple(tuple(value) if isinstance(value, list) else value for value in values)
        if (query, known) not in self._answers:
            lists = [list(value) if isinstance(value, tuple) else value for value in known]
            answer = self._db.execute(query, lists)
            names = [column[0] for column in answer.description or ()]
            self._answers[query, known] = names, answer.fetchall()
        return self._answers[query, known]

    def percentiles(self, keys: str, where: str, shares: Mapping[str, float]) -> list[Row]:
        """Percentiles of the merged logs `lat` by these keys: the highest value of a bucket."""
        wanted = ", ".join(
            f"min(high_us) FILTER (reached >= greatest(1, ceil({share} * total - 1e-6))) / 1e6 "
            f"AS {name}"
            for name, share in shares.items()
        )
        return self.rows(
            f"SELECT {keys}, any_value(total) AS total, {wanted} FROM (SELECT {keys}, high_us, "
            f"sum(n) OVER (PARTITION BY {keys} ORDER BY high_us) AS reached, sum(n) OVER "
            f"(PARTITION BY {keys}) AS total FROM (SELECT {keys}, high_us, sum(count) AS n "
            f"FROM {where} GROUP BY ALL)) GROUP BY {keys}"
        )

    @cache  # noqa: B019 a run is read once
    def buckets_of(self, kind: str, users: int, candidate: str) -> list[tuple[int, int]]:
        """The buckets of the valid windows of a candidate at a level: highest value and count."""
        found = self.rows(
            "SELECT high_us, sum(count) AS n FROM lat WHERE measured AND valid AND kind = ? AND "
            "users = ? AND candidate = ? GROUP BY high_us ORDER BY high_us",
            (kind, users, candidate),
        )
        return [(each["high_us"], each["n"]) for each in found]

    @cached_property
    def candidates(self) -> list[str]:
        """Their names, in the order of the study."""
        return [each["name"] for each in self.manifest["candidates"]]

    def memory_limit(self, candidate: str) -> int:
        """The memory limit of a candidate's server, bytes."""
        (own,) = (
            each["memory_limit_bytes"]
            for each in self.manifest["candidates"]
            if each["name"] == candidate
        )
        return int(own or self.manifest["memory"]["limit_bytes"])

    @cached_property
    def told_level(self) -> int:
        """The level at which the report tells of candidates side by side, which is a choice."""
        reported = f"{self.root}/report/tables/candidates.parquet"
        return int(self.one(f"SELECT max(users) FROM read_parquet('{reported}')") or 0)

    @cached_property
    def told_heat(self) -> list[Row]:
        """The cells of the heat map, whose edges are a choice."""
        return self.rows(f"SELECT * FROM read_parquet('{self.root}/report/figures/heat.parquet')")

    @cached_property
    def told_tables(self) -> list[list[list[Any]]]:
        """The rows of each table of the report."""
        tables = sorted((self.root / "report/tables").glob("*.parquet"))
        found = (self.rows(f"SELECT * FROM read_parquet('{each}')") for each in tables)
        return [[list(row.values()) for row in rows] for rows in found]

    def texts_of(self, name: str) -> list[str]:
        """The texts of a field of the manifest, by its name with spaces."""
        field = name.replace(" ", "_")
        return [each for names, each in self._texts if field and field in names]

    @cached_property
    def facts(self) -> list[tuple[str, float]]:
        """The numbers of the manifest, each with the name of its field."""
        return [
            # A fact of the environment has its name one level above.
            (names[-2] if names[-1] == "value" else names[-1], each)
            for names, each in _leaves(self.manifest)
            if isinstance(each, int | float) and not isinstance(each, bool)
        ]

    @cached_property
    def _texts(self) -> list[tuple[tuple[str, ...], str]]:
        return [each for each in _leaves(self.manifest) if isinstance(each[1], str)]

    @cached_property
    def texts(self) -> list[str]:
        """The texts of the manifest."""
        return [each for _, each in self._texts]

    @cached_property
    def statements(self) -> dict[str, Row]:
        """The sentences whose values `report.json` has, of a cell in a table with its row."""
        report = json.loads((self.root / "report.json").read_text())
        every = (said for section in report["sections"].values() for said in section["statements"])
        return {said["text"]: said["row"] for said in every}

    @cached_property
    def quotes(self) -> list[str]:
        """Texts of the manifest that have digits: a report quotes them as they are."""
        found = {each for each in self.texts if _is_quoted(each)}
        engine = self.manifest["database"]
        known = [engine, *self.manifest["candidates"]]
        for version in filter(None, (each.get("server_version") for each in known)):
            found |= {f"{engine['engine']} {each}" for each in (version, version.split(" ")[0])}
        found |= {self.manifest["stithy_version"], self.manifest["comparability_key"]}
        names = (each.root.name for each in (self, *self.others))
        found |= {each for each in names if _is_quoted(each)}
        found |= {each.rstrip(".") for each in self.column(QUOTED) if _is_quoted(each)}
        found |= {quote for each in self.others for quote in each.quotes}
        found |= {each.rstrip(".") for each in self.statements}
        found |= {each for each in self.texts if re.fullmatch(r"\d{4}-\d\d-\d\d", each)}
        moments = [value for key, value in self.facts if key.endswith("ed_at_s")]
        found |= {f"{datetime.fromtimestamp(each, UTC):%Y-%m-%d %H:%M:%S} UTC" for each in moments}
        return sorted(found, key=len, reverse=True)

    @cached_property
    def levels(self) -> list[int]:
        """All levels that have a window, ascending."""
        return self.column("SELECT DISTINCT users FROM win ORDER BY users")

    def _fill(self, name: str, keys: tuple[str, str], found: Iterable[tuple[Any, ...]]) -> None:
        columns = [list(each) for each in zip(*found, strict=True)] or [[]] * 8
        self._db.execute(
            f"CREATE TABLE {name} ({keys[0]} TEXT, {keys[1]} TEXT, tag TEXT, at_s DOUBLE, "
            "length_s DOUBLE, low_us BIGINT, high_us BIGINT, count BIGINT)"
        )
        values = ", ".join(f"unnest(${number})" for number in range(1, 9))
        self._db.execute(f"INSERT INTO {name} SELECT {values}", columns)

    def _hammer_logs(self) -> Iterator[tuple[Any, ...]]:
        for path in self.root.glob("windows/*/hammer.*.hlog"):
            kind = path.name.split(".")[1]
            for each in buckets(path):
                yield path.parent.name, kind, *vars(each).values()

    def _drive_logs(self) -> Iterator[tuple[Any, ...]]:
        for path in (self.root / "drives").rglob("*.latency.hlog"):
            candidate, role, *_ = path.name.rsplit(".", 3)
            for each in buckets(path):
                yield candidate, role, *vars(each).values()


def _leaves(value: Any, *names: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All that is no list or table below a value of the manifest, each with the way to it."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _leaves(each, *names, name)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each, *names)
    else:
        yield names, value


def _is_quoted(text: str) -> bool:
    """Whether it holds a number, and is more than that: names such as `io2` hold none."""
    has_both = any(map(str.isalpha, text)) or text.count(".") > 1
    return has_both and any(shown(text)) and not re.fullmatch(r"p[\d.]+|[\d.]+ ?\w{1,3}", text)
