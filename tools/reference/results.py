"""The reference pages of tables and comparability key, written from what they declare."""

from stithy.activity import list_every_table
from stithy.results.comparability import MEANINGS
from stithy.results.manifest import SCHEMA_VERSION
from stithy.results.tables import Column, Table

_KINDS = {
    "text": "text",
    "integer": "whole number",
    "real": "real number",
    "truth": "true or false",
}

_HEAD = f"""\
# The tables of the results

Written from `python/stithy/results/tables.py` and, for tables of a single activity, from its module
in the files `declared.py` of scenarios and activities; do not edit.
`python/stithy/results/layout.py` has the names of the files. `collectors.md` has the metrics of the
table `series`.

Every table is a Parquet file. Its metadata repeat this page, under keys that begin with `stithy.`.
A missing value is null, never 0; the column "null" says where. Durations are in seconds, times of
day are Unix time in seconds, sizes are in bytes.

Each table has the version of its schema as `stithy.schema_version` in its metadata, and
`manifest.json` as `schema_version`. This Stithy has version {SCHEMA_VERSION}. It refuses results of
another version: read them with the Stithy that wrote them.

The file `SHA256SUMS` in each folder has the checksums of its tables, and in the run's own folder
that of the manifest. `sha256sum --check SHA256SUMS` verifies them. The report leaves out a changed
file, and names it. A window supports no claim without a file that could have made it invalid.
"""


def tables_page() -> str:
    """The page, as Markdown."""
    return "\n".join([_HEAD, *(_section(table) for table in list_every_table())])


def _section(table: Table) -> str:
    head = ["| column | kind | unit | null | meaning |", "| --- | --- | --- | --- | --- |"]
    rows = [_row(column) for column in table.columns]
    return "\n".join([f"## `{table.name}`", "", table.meaning, "", *head, *rows, ""])


def _row(column: Column) -> str:
    null = "may be" if column.nullable else ""
    cells = (f"`{column.name}`", _KINDS[column.kind], column.unit, null, column.meaning)
    return "| " + " | ".join(cells) + " |"


_COMPARABILITY_HEAD = """\
# What makes runs comparable

Written from `python/stithy/results/comparability.py`; do not edit.

`stithy compare` compares two runs only if all facts below are the same in both, except those of the
last table. Otherwise it names each fact that differs, and compares nothing.

Use `--ignore` for a fact that you changed on purpose: `--ignore kernel`,
`--ignore settings.work_mem`. A part of a name with dots is enough: `--ignore firmware` means that
of every device, `--ignore settings` means every setting. Ignored facts are printed above the
comparison.

A fact that is unknown in both runs counts as equal. A fact that is known in only one of them counts
as different.

The facts of a run are in its `manifest.json`: `comparability` with its short form
`comparability_key`, `environment`, and those of each candidate. Only candidates of both runs count.
"""

_TITLES = {
    "workload": "The workload",
    "load": "The load",
    "database": "The database",
    "stithy": "Stithy",
    "machine": "The machine",
    "candidate": "Each candidate",
    "reported": "May differ; reported only",
}


def comparability_page() -> str:
    """The page, as Markdown."""
    return "\n".join(
        [_COMPARABILITY_HEAD, *(_group_section(group, title) for group, title in _TITLES.items())]
    )


def _group_section(group: str, title: str) -> str:
    rows = [f"| `{name}` | {each.text} |" for name, each in MEANINGS.items() if each.group == group]
    return "\n".join([f"## {title}", "", "| fact | what it says |", "| --- | --- |", *rows, ""])
