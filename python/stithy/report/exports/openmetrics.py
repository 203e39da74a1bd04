"""OpenMetrics text with time stamps, which Prometheus takes as blocks of its database.

`promtool tsdb create-blocks-from openmetrics` reads it. The values of a window stand at the end of
its measurement, those of a second where it began, samples of collectors where they were taken. Each
line says of which window it is, and whether that and the span that was measured are valid.
Percentiles of too few values are not there: of a second most are.
"""

from collections.abc import Iterator, Mapping

import polars as pl

from stithy.activity import get_level_factor, get_table
from stithy.analysis.measures import list_declared
from stithy.metrics import Quantity, find
from stithy.openmetrics import END, MetricFamily, make_family
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
from stithy.report.words.escape import replace_letters
from stithy.results.tables import SECONDS, TRANSACTIONS, WINDOW, Table

LABELS = ("run", "candidate", "point", "block", "attempt", "window", "valid", "note")
"""Labels of every line, as far as any of a family has them."""
KEYS = frozenset({get_level_factor().name, "block", "attempt", "position", "second", "at_s"})
"""Numbers that are labels or instants, and no values."""
NAMES = {"driver_rate_per_s_max": "driver_rate_max_per_s"}
"""Columns whose names do not end in their unit as OpenMetrics wants it; rates have their nouns."""
WORDS = {"tpm": "transactions_per_min", "iops": "requests_per_s"}
"""Ends of names of metrics that say their unit in a letter."""
ENDINGS = {
    "s": "s", "1/s": "per_s", "1/min": "per_min", "B": "bytes", "B/s": "bytes_per_s",
    "W": "watts", "J": "joules", "share": "share",
}  # fmt: skip
"""By units of metrics, how names end that say them."""


class OpenMetricsExport(ExportFormat):
    """Every window, second and sample, for Prometheus."""

    name = "openmetrics"

    def export(self, context: Context) -> Export:
        """Everything that is a number: windows, transaction types, seconds, samples."""
        return Export(_write_pieces(context), marked=count_invalid_windows(context))


def _write_pieces(context: Context) -> Iterator[str]:
    nouns = {rate.known.column: rate.noun for rate in list_rates(context)}
    words = {name: noun.replace("minute", "min").replace(" ", "_") for name, noun in nouns.items()}
    labels, run, names = _label_windows(context), context.run, NAMES | words
    ends = labels.filter(pl.col("measure_to_s").is_not_null()).rename({"measure_to_s": "at_s"})
    for table in (WINDOW, get_table("load")):
        yield from _read_columns("window", table, ends.join(run.window, on="window_id"), (), names)
    yield from _read_values(ends.join(run.values, on="window_id"), list_lost_spans(context))
    types = ends.join(hide_rare_percentiles(run.transactions), on="window_id")
    yield from _read_columns("transactions", TRANSACTIONS, types, ("transaction",), names)
    seconds = labels.join(hide_rare_percentiles(run.seconds_by_type), on="window_id")
    yield from _read_columns("second", SECONDS, seconds, ("transaction", "phase"), names)
    yield from _read_samples(labels.join(run.series, on="window_id"))
    yield END


def _label_windows(context: Context) -> pl.DataFrame:
    name = context.run.directory.name
    schema = dict.fromkeys(("window_id", *LABELS), pl.String)
    rows = [
        (
            *(window.id, name, window.candidate, str(window.point), str(window.block)),
            *(str(window.attempt), window.id, "true" if window.valid else "false"),
            note_of(context, window.candidate),
        )
        for window in context.evidence.windows
    ]
    times = context.run.window.select("window_id", "measure_from_s", "measure_to_s")
    return pl.DataFrame(rows, schema=schema, orient="row").join(times, on="window_id")


def _read_columns(
    head: str, table: Table, frame: pl.DataFrame, own: tuple[str, ...], names: Mapping[str, str]
) -> Iterator[str]:
    for column in table.columns:
        is_time = column.name in KEYS or column.name.endswith(("_at_s", "_from_s", "_to_s"))
        if column.kind in ("integer", "real") and not is_time:
            each = make_family((head, names.get(column.name, column.name)), column.meaning)
            yield _write_family(each, frame.with_columns(pl.col(column.name).alias("value")), own)


def _read_values(every: pl.DataFrame, lost: pl.DataFrame) -> Iterator[str]:
    """A family for each metric of an activity that has no table of its own here."""
    frame = every.join(
        lost, on=("window_id", "of"), how="left", maintain_order="left"
    ).with_columns(
        valid=pl.when(pl.col("lost_because").is_null()).then("valid").otherwise(pl.lit("false"))
    )
    for metric in sorted({each.metric for each in list_declared(frame)}):
        each = make_metric_family(Quantity(metric))
        yield _write_family(each, frame.filter(metric=metric), ("of",))


def make_metric_family(quantity: Quantity) -> MetricFamily:
    """The family of a metric of an activity; its name ends in its unit where it has one."""
    name = quantity.metric.replace(".", "_")
    for word, said in WORDS.items():
        if name.endswith(f"_{word}"):
            name = name.removesuffix(word) + said
    ending = ENDINGS.get(quantity.known.unit)
    if ending is not None and not name.endswith(f"_{ending}"):
        name += f"_{ending}"
    return make_family((name,), quantity.noun)


def _read_samples(frame: pl.DataFrame) -> Iterator[str]:
    # Phases as the hammer tells them of its seconds; empty where nothing was measured.
    known = frame.filter(pl.col("value").is_finite()).with_columns(
        pl.when(pl.col("at_s") < pl.col("measure_from_s")).then(pl.lit("ramp-up"))
        .when(pl.col("at_s") <= pl.col("measure_to_s")).then(pl.lit("measure"))
        .when(pl.col("at_s") > pl.col("measure_to_s")).then(pl.lit("drain"))
        .otherwise(pl.lit("")).alias("phase")
    )  # fmt: skip
    for (collector, metric), part in sorted(
        known.partition_by("collector", "metric", as_dict=True).items()
    ):
        shown = find(f"{collector}.{metric}")
        each = make_family((str(collector), str(metric)), shown.noun if shown else str(metric))
        yield _write_family(each, part, ("instance", "subject", "phase"))


def _write_family(each: MetricFamily, frame: pl.DataFrame, own: tuple[str, ...]) -> str:
    known = frame.filter(pl.col("value").cast(pl.Float64).is_finite())
    if known.is_empty():
        return ""
    names = [name for name in (*LABELS, *own) if known[name].fill_null("").ne("").any()]
    known = known.sort(*names, "at_s")
    shown: list[pl.Expr] = []
    for name in names:
        text = pl.col(name).fill_null("").str.replace_many(_OTHER_LINE_ENDS)
        text = text.str.replace_many({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
        shown += [pl.lit(f',{name}="'), text, pl.lit('"')]
    shown[0] = pl.lit(f'{each.name}{{{names[0]}="')
    value, at_s = pl.col("value").cast(pl.String), pl.col("at_s").round(3).cast(pl.String)
    line = pl.concat_str(*shown, pl.lit("} "), value, pl.lit(" "), at_s, pl.lit("\n"))
    return each.head + "".join(known.select(line.alias("line"))["line"])


_OTHER_LINE_ENDS = {
    letter: replace_letters(letter, letter) for letter in "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
}
"""What a reader may take for the end of a line, and the format has no way to write."""

PLUGINS = (OpenMetricsExport(),)
