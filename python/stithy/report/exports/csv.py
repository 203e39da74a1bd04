"""One table for a spreadsheet: a row for each window and transaction type, invalid ones marked.

The row of the type `all` is that of the window as a whole: keep those, and there is one row a
window. A metric of another activity is a column, too, and what it is of stands as `transaction`.
What was sampled each second is in the Parquet files, which are too long for a spreadsheet.
Percentiles of too few values are empty cells.
"""

import polars as pl

from stithy.activity import get_level_factor
from stithy.analysis.measures import list_declared
from stithy.report.context import Context
from stithy.report.exports import (
    Export,
    ExportFormat,
    count_invalid_windows,
    hide_rare_percentiles,
    list_lost_spans,
    list_rates,
    note_of,
)

FIRST = (
    "candidate", "point", get_level_factor().name, "block", "attempt", "window_id", "transaction",
    "valid", "invalid_because", "note",
)  # fmt: skip
"""What a person looks for, with what was done a minute before all other columns."""


class CsvExport(ExportFormat):
    """A row for each window and transaction type."""

    name = "csv"

    def export(self, context: Context) -> Export:
        """Windows in the order of levels and blocks; one without any transaction has one row."""
        frame = _join_types(context)
        first = [*FIRST, *(rate.known.column for rate in list_rates(context))]
        rest = [name for name in frame.columns if name not in first]
        return Export(
            (
                frame.select(*first, *rest)
                .with_columns(pl.col(pl.String).str.replace(r"^(['=+\-@\t\r])", "'$1"))
                .write_csv(),
            ),
            marked=count_invalid_windows(context),
        )


def _join_types(context: Context) -> pl.DataFrame:
    run = context.run
    both = set(run.window.columns) & set(run.transactions.columns) - {"window_id"}
    types = hide_rare_percentiles(run.transactions).rename({name: f"type_{name}" for name in both})
    if own := sorted({each.metric for each in list_declared(run.values)}):
        rows = run.values.filter(pl.col("metric").is_in(own)).rename({"of": "transaction"})
        values = rows.pivot("metric", index=("window_id", "transaction"), values="value")
        types = types.join(values, on=("window_id", "transaction"), how="full", coalesce=True)
    windows = run.window.join(_list_validity(context), on="window_id", how="left")
    places = {str(point): place for place, point in enumerate(context.evidence.points)}
    order = [pl.col("point").replace_strict(places), "block", "attempt", "position", "window_id"]
    whole = windows.join(types, on="window_id", how="left", maintain_order="left_right").sort(
        order, maintain_order=True
    )
    lost = list_lost_spans(context).rename({"of": "transaction"})
    return whole.join(
        lost, on=("window_id", "transaction"), how="left", maintain_order="left"
    ).select(
        pl.exclude("valid", "invalid_because", "lost_because"),
        valid=pl.col("valid") & pl.col("lost_because").is_null(),
        invalid_because=pl.coalesce("invalid_because", "lost_because"),
    )


def _list_validity(context: Context) -> pl.DataFrame:
    rows = [
        (
            window.id,
            window.valid,
            " ".join(reason.sentence for reason in window.reasons if reason.invalidates) or None,
            note_of(context, window.candidate) or None,
        )
        for window in context.evidence.windows
    ]
    schema = {"window_id": pl.String, "valid": pl.Boolean, "invalid_because": pl.String}
    schema |= {"note": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


PLUGINS = (CsvExport(),)
