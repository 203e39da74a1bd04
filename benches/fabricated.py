"""A run directory of any size, made up: every file that a report reads, as a real run writes it.

What a window did comes from the samples that the tests use; added to it are what takes room in a
real run: every metric of every collector each second, latency logs with a histogram for each second
and transaction type, and their sums. Two calls with equal arguments write equal tables.
"""

import math
import random
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from stithy.metrics import SAMPLER, SAMPLER_METRICS
from stithy.registry import plugins
from stithy.results.convert import make_bucket_rows
from stithy.results.files import write_frame
from stithy.results.hlog import LoggedInterval
from stithy.results.layout import RunDirectory
from stithy.results.tables import HISTOGRAMS, SERIES, make_schema

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from stithy.collectors.collector import Collector
from support.hlog import encode, histogram, log
from support.sample_run import SLOWNESS, TRANSACTIONS, Shape, build_run

Row = Mapping[str, Any]

DIFFERENT = 12
"""So many seconds of a candidate, level and type are drawn, and their order for each window."""

SUBJECTS: Mapping[str, tuple[str, ...]] = {
    "block": ("vda",), "cpu": ("", "server"), "network": ("lo", "eth0"),
    "pressure": ("cpu", "io", "memory"), "sampler": ("", "database", "drive"),
    "drive": ("data", "data:read", "data:write", "data:flush", "data:discard"),
}  # fmt: skip
"""Whose samples a collector gives; of all others it is the machine's, or the server's."""

WAITS = ("CPU", "IO", "LWLock", "Lock", "BufferPin", "IPC", "Client", "Timeout", "Extension")


@dataclass(frozen=True)
class Size:
    """How much was measured."""

    candidates: int
    levels: int
    blocks: int
    ramp_up_s: int = 30
    duration_s: int = 60

    @property
    def windows(self) -> int:
        """How many windows that makes."""
        return self.candidates * self.levels * self.blocks

    @property
    def shape(self) -> Shape:
        """What the tests' samples are made from."""
        names = tuple(f"storage-{number:02}" for number in range(1, self.candidates + 1))
        users = tuple(sorted({max(n + 1, round(1.6**n)) for n in range(self.levels)}))
        return Shape(
            question="Which of these storages serves most users?", candidates=names, users=users,
            repeat=self.blocks, ramp_up_s=self.ramp_up_s, duration_s=self.duration_s, series=False,
        )  # fmt: skip


def fabricate(root: Path, size: Size) -> RunDirectory:
    """Write a whole run of this size to `root`, which takes minutes where it is large."""
    run = build_run(root, size.shape)
    for folder in sorted(run.windows.iterdir()):
        of, load = (pl.read_parquet(folder / f"{name}.parquet") for name in ("window", "load"))
        window = of.join(load, on="window_id").row(0, named=True)
        _write_series(folder / "series.parquet", size, window)
        _write_latencies(folder, size, window)
    return run


def _write_series(path: Path, size: Size, window: Row) -> None:
    """Every metric once a second, each as large as the load makes it, with a wobble of its own."""
    length = size.ramp_up_s + size.duration_s
    seconds = pl.DataFrame({"second": [float(second + 1) for second in range(length)]})
    seed = random.Random(f"series/{window['window_id']}").getrandbits(32)
    wobble = 0.9 + pl.int_range(pl.len()).hash(seed) % 10_000 / 50_000
    value = pl.col("base") + pl.col("per_load") * (window["tpm"] / 60) * wobble
    begun_s = window["measure_from_s"] + size.duration_s / 2
    stamped = pl.col("metric") == "last_checkpoint_at_s"
    frame = seconds.join(_metrics(), how="cross").with_columns(
        pl.lit(window["window_id"]).alias("window_id"),
        (pl.col("second") + window["started_at_s"]).alias("at_s"),
        pl.when(stamped).then(begun_s).otherwise(value).alias("value"),
        pl.lit("").alias("instance"),
        pl.lit(None, dtype=pl.String).alias("missing_because"),
    )
    whole = frame.select(list(make_schema(SERIES))).cast(make_schema(SERIES))
    write_frame(path, SERIES, whole)


@cache
def _metrics() -> pl.DataFrame:
    """All metrics of all collectors with what they are at rest, and more for each unit of load."""
    return pl.DataFrame(list(_each_metric()), orient="row", schema=_METRICS)


_METRICS = {
    "collector": pl.String, "subject": pl.String, "metric": pl.String, "unit": pl.String,
    "base": pl.Float64, "per_load": pl.Float64,
}  # fmt: skip


def _each_metric() -> Iterator[tuple[str, str, str, str, float, float]]:
    known = {name: module.metrics for name, module in plugins(Collector).items()}
    for name, metrics in {**known, SAMPLER: SAMPLER_METRICS}.items():
        for metric in metrics:
            for subject in _subjects(name, metric):
                yield name, subject, metric.name, metric.unit, *_size(metric.name, metric.unit)


def _subjects(collector: str, metric: Any) -> tuple[str, ...]:
    if metric.name == "waiting_sessions":
        return WAITS
    if metric.name == "waiting_sessions_by_event":
        return ("IO:DataFileRead", "IO:WALSync")
    if collector == "drive":
        whole, *operations = SUBJECTS["drive"]
        each = metric.weight or metric.name.startswith(("answers", "moved", "errors"))
        return tuple(operations) if each else (whole,)
    return SUBJECTS.get(collector, ("",))


def _size(metric: str, unit: str) -> tuple[float, float]:
    """At rest, and for each transaction a second; plausible, and of the right kind."""
    if metric == "steal_share":
        return 0.0, 0.0
    if metric.endswith("_share"):
        return 0.02, 0.0012 if metric.startswith(("user", "utilisation", "some")) else 0.0002
    if unit == "B":
        return 4e8, 1e4
    return {"1/s": (0.0, 2.5), "B/s": (0.0, 20_000.0), "s": (0.0004, 1e-6)}.get(unit, (0.1, 0.01))


def _write_latencies(folder: Path, size: Size, window: Row) -> None:
    """The logs of response and service times, and the table of their sums."""
    draw = random.Random(f"latencies/{window['window_id']}")
    rows: list[dict[str, Any]] = []
    totals = pl.read_parquet(folder / "transactions.parquet").select(
        "transaction", pl.col("committed") + pl.col("rolled_back")
    )
    answered = dict(totals.iter_rows())
    for kind, factor in (("response", 1.0), ("service", 0.95)):
        lines, measured = [], []
        for second in range(size.ramp_up_s + size.duration_s):
            at_s = window["started_at_s"] + second
            for name in TRANSACTIONS:
                text, made = draw.choice(_seconds(_rate(window), window["users"], name, factor))
                lines.append(f"Tag={name},{at_s:.3f},1.000,{made.max_s or 0:.3f},{text}\n")
                if second >= size.ramp_up_s:
                    measured.append(LoggedInterval(name, at_s, 1.0, made))
        (folder / f"hammer.{kind}.hlog").write_text(log(*lines))
        rows += _exact(list(make_bucket_rows(window["window_id"], kind, measured)), answered)
    frame = pl.DataFrame(rows, schema=make_schema(HISTOGRAMS))
    write_frame(folder / "histograms.parquet", HISTOGRAMS, frame)


def _exact(rows: list[dict[str, Any]], answered: Mapping[str, int]) -> list[dict[str, Any]]:
    """As many values of each type as its transactions: its fullest buckets give or take some."""
    for name in TRANSACTIONS:
        mine = sorted((row for row in rows if row["transaction"] == name), key=_emptiness)
        lacking = answered[name] - sum(row["count"] for row in mine)
        while lacking:
            for row in mine:
                step = (lacking > 0) - (lacking < 0)
                if row["count"] + step >= 0:
                    row["count"] += step
                    lacking -= step
    return [row for row in rows if row["count"]]


def _emptiness(row: Row) -> int:
    return -int(row["count"])


def _rate(window: Row) -> int:
    """Transactions a second, in steps of a twentieth: equal ones share what is drawn."""
    return round(1.05 ** round(math.log(max(1.0, window["tpm"] / 60), 1.05)))


@cache
def _seconds(rate: int, users: int, name: str, factor: float) -> list[tuple[str, Any]]:
    """Some seconds of a transaction type, each as text and as what it says."""
    draw = random.Random(f"{rate}/{users}/{name}/{factor}")
    mean = sum(SLOWNESS[each] * share for each, share in TRANSACTIONS.items())
    middle_us = 0.8e6 * users / rate * SLOWNESS[name] / mean * factor
    count = max(1, round(rate * TRANSACTIONS[name]))
    drawn = [
        histogram(*(1 + int(draw.lognormvariate(math.log(middle_us), 0.55)) for _ in range(count)))
        for _ in range(DIFFERENT)
    ]
    return [(encode(each), each) for each in drawn]
