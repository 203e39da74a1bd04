"""The reference page of the tables, derived from their declarations."""

from stithy.results.manifest import SCHEMA_VERSION
from stithy.results.tables import TABLES, Column, Table

_KINDS = {
    "text": "text",
    "integer": "whole number",
    "real": "real number",
    "truth": "true or false",
    "texts": "list of texts",
}

_HEAD = f"""\
# The tables of the results

Written from `python/stithy/results/tables.py`; do not edit. The names of the files are in
`python/stithy/results/layout.py`, the metrics of the table `series` in `collectors.md`.

Every table is a Parquet file. Its metadata repeat what stands here, under keys that begin with
`stithy.`. A missing value is null, never 0; the columns that may be null say so.
Times are seconds, instants are Unix time in seconds, sizes are bytes.

Results tell the version of their schema, `stithy.schema_version` in the metadata of a table and
`schema_version` in `manifest.json`: today {SCHEMA_VERSION}. Those of older versions are read as if
they had been written today, and no file of them is changed (`python/stithy/results/migrate/`);
newer ones are refused.

`stithy.sha256`, in the manifest `sha256`, is the SHA-256 of the file in which these 64 digits are
zeros. A file that is no longer what was written is left out and named in the report, and a window
supports no claim without a file that could have made it invalid. Tables that another program wrote
tell neither version nor digest, and are taken as they are.
"""


def reference_page() -> str:
    """The page, as Markdown."""
    return "\n".join([_HEAD, *(_section(table) for table in TABLES)])


def _section(table: Table) -> str:
    head = ["| column | kind | unit | null | meaning |", "| --- | --- | --- | --- | --- |"]
    rows = [_row(column) for column in table.columns]
    return "\n".join([f"## {table.name}", "", table.meaning, "", *head, *rows, ""])


def _row(column: Column) -> str:
    null = "may be" if column.nullable else ""
    cells = (f"`{column.name}`", _KINDS[column.kind], column.unit, null, column.meaning)
    return "| " + " | ".join(cells) + " |"
