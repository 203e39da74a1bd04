"""The table of candidates: what each one did at one level, and whom it serves."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from stithy.analysis.capacity import UsersWithinTarget, count_users_within
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.latencies import DriveTimes, read_drive_times
from stithy.analysis.measures import measure_series
from stithy.metrics import ALL, P99, PERCENTILES, Quantity, count_values_needed, has_enough
from stithy.point import Point
from stithy.report.context import Context
from stithy.report.tables import KINDS, PageTable, Show, make_table
from stithy.report.words import loads
from stithy.report.words.wording import explain_missing, format_count
from stithy.units import format_duration, format_list

Row = dict[str, Any]

OPERATIONS = ("read", "write", "flush")
DEVICE = ("mean", "asked", "p99")
RATES = {"read": "reads", "write": "writes", "flush": "flushes"}
TIMES = {"p95_s": "response_p95_s", "p99_s": "response_p99_s"}

NO_DEVICE: Row = dict.fromkeys((
    *(f"{each}_{what}_s" for each in OPERATIONS for what in DEVICE),
    *(f"{each}_per_s" for each in OPERATIONS),
))  # fmt: skip
"""The columns of devices, by operation."""

_SCHEMA: dict[str, Any] = {
    "candidate": pl.String, "windows": pl.Int64,
    "memory_limit_bytes": pl.Int64, "server_cpus": pl.Int64, "settings": pl.String,
    "throughput": pl.Float64,
    "p95_s": pl.Float64, "p99_s": pl.Float64, "asked": pl.Float64, "asked_metric": pl.String,
    "within_users": pl.Int64, "within_at_least": pl.Boolean, "within_not_at": pl.Int64,
    "within_shown": pl.String,
    **dict.fromkeys(NO_DEVICE, pl.Float64), "device_source": pl.String,
    "missing_because": pl.String,
}  # fmt: skip


@dataclass(frozen=True)
class _Device:
    """What a candidate's devices did, by operation; `missing` says why which number is not there.

    `source`: `drive` where it is emulated, or `kernel`. `cells`: by `DEVICE` and operation; what
    was asked is what profiles of emulated drives ask for, and p99 what they took themselves.
    """

    cells: Row
    source: str | None
    missing: tuple[str, ...]


def make_candidates_table(context: Context) -> PageTable:
    """One row a candidate, at the level that the answer tells of; every gap has its reason."""
    rows = list(_make_rows(context))
    caption = "The candidates"
    if (point := context.answer_level) is not None:
        caption += f" {context.at(point)}"
    frame = pl.DataFrame(rows, schema={**context.factor_types, **_SCHEMA})
    return PageTable("candidates", caption, _list_columns(context, frame), frame)


def make_devices_table(context: Context, reported: PageTable) -> PageTable:
    """One row a candidate and operation: how many requests, and how long they took.

    Empty where no candidate has a device that is known.
    """
    columns = ("per_s", *(f"{what}_s" for what in DEVICE))
    rows = [
        {"candidate": row["candidate"], "operation": operation, **cells}
        for row in reported.frame.to_dicts()
        for operation in OPERATIONS
        if any((cells := {column: row[f"{operation}_{column}"] for column in columns}).values())
    ]
    shows = (
        Show("candidate", "Candidate"), Show("operation", "Operation"),
        Show("per_s", "Requests per second", "rate"), Show("mean_s", "Mean latency", "duration"),
        Show("asked_s", "Mean of the profile", "duration"), Show("p99_s", "p99", "duration"),
    )  # fmt: skip
    caption = reported.caption.replace("The candidates", "Their devices", 1)
    return make_table("devices", caption, shows, rows).told()


def note(context: Context, reported: PageTable) -> str | None:
    """What the columns of the table are that do not tell it themselves; None without a row."""
    frame = reported.frame
    if frame.is_empty():
        return None
    sources = [name for name in ("drive", "kernel") if name in frame["device_source"].to_list()]
    parts = ["No response-time target is set, so users within target are not reported."]
    if context.limit is not None:
        parts = [
            f"Users within target ({context.limit.text}) is the highest measured level whose valid "
            "windows all meet the target; no valid window at a lower level misses it."
        ]
    if sources:
        other = "of other devices " if len(sources) > 1 else ""
        words = {
            "drive": "For an emulated drive, the table shows the mean latency at the block layer "
            "beside the mean of its profile; its p99 is the drive's own, without transport "
            "latency.",
            "kernel": f"Device latency {other}is the mean of the kernel's counters, queueing "
            "included.",
        }
        devices = " ".join(words[source] for source in sources)
        drives = ", and of all emulated drives of a candidate" if "drive" in sources else ""
        parts.append(
            f"{devices} The slowest of several devices is shown. Requests per second are those of "
            f"the busiest block device{drives}."
        )
    known = frame.select("candidate", "missing_because").drop_nulls("missing_because")
    return " ".join([*parts, *explain_missing(known.iter_rows())])


def _list_columns(context: Context, frame: pl.DataFrame) -> tuple[Show, ...]:
    """The columns, without those that the study gives no ground for."""
    asked, manifest = _list_asked(context), context.manifest
    label = context.evidence.throughput.label
    own = manifest.candidates if manifest else ()
    shows = [
        Show("candidate", "Candidate"),
        *([Show("memory_limit_bytes", "Memory", "size")]
          if any(each.memory_limit_bytes for each in own) else []),
        *([Show("server_cpus", "CPUs", "count")] if any(each.cpus for each in own) else []),
        *([Show("settings", "Settings")] if any(each.settings for each in own) else []),
        *([Show("asked", asked.label, KINDS[asked.known.unit])] if asked else []),
        Show("throughput", label, "count"), Show("p95_s", "p95", "duration"),
        Show("p99_s", "p99", "duration"),
    ]  # fmt: skip
    if context.limit is not None:
        level = f"{context.level_unit.capitalize()}s"
        shows.append(
            Show("within_shown", f"{level} within {format_duration(context.limit.limit_s)}")
        )
    return tuple(shows)


def _make_rows(context: Context) -> Iterator[Row]:
    point = context.answer_level
    if point is None or "load" not in context.tables:
        return
    # The evidence of one level alone: nothing of the others is read for it.
    windows = tuple(window for window in context.evidence.windows if window.point == point)
    here = replace(context.evidence, windows=windows)
    kernel = _find_kernel_means(context, here)
    for name in context.evidence.candidates:
        yield _make_row(context, here, name, point, kernel)


def _make_row(
    context: Context, here: Evidence, name: str, point: Point, kernel: Mapping[str, Evidence]
) -> Row:
    columns = {"throughput": here.throughput.known.column, **TIMES}
    values = {key: here.printable_level(name, point, of) for key, of in columns.items()}
    served = count_users_within(context.evidence, name, context.limit) if context.limit else None
    device = _find_device(context, here, name, point, kernel)
    asked = _list_asked(context)
    missing = [*_find_gaps(here, name, point, values), *device.missing]
    if served and served.missing_because and served.not_at is None:
        missing.append(f"users within target ({served.missing_because})")
    return {
        "candidate": name, **context.list_factor_values(point),
        "windows": len(here.valid_at(name, point)), **values,
        "asked": here.level_of(name, point, asked) if asked else None,
        "asked_metric": str(asked) if asked else None,
        "within_users": served.level if served else None,
        "within_at_least": served.at_least if served and served.level is not None else None,
        "within_not_at": served.not_at if served else None,
        "within_shown": _format_bracket(served) if served else None,
        **NO_DEVICE, **device.cells,
        "device_source": device.source,
        **_describe_server(context, name),
        "missing_because": f"{format_list(missing)}." if missing else None,
    }  # fmt: skip


def _describe_server(context: Context, name: str) -> Row:
    """What the study gives its server; settings only where candidates have their own."""
    manifest, facts = context.manifest, context.find_facts(name)
    if manifest is None or facts is None or manifest.given_database is None:
        return dict.fromkeys(("memory_limit_bytes", "server_cpus", "settings"))
    return {
        "memory_limit_bytes": manifest.memory_limit_of(facts),
        "server_cpus": loads.count_cpus(manifest, facts),
        "settings": loads.format_settings(manifest, facts),
    }


def _list_asked(context: Context) -> Quantity | None:
    """What the primary question compares; None where it has a column of its own anyway."""
    evidence, reported = context.evidence, {*context.evidence.described, P99}
    if (
        evidence.primary.by_search
        or len(evidence.candidates) < 2
        or evidence.primary.metric in reported
    ):
        return None
    return evidence.primary.metric


def _find_gaps(
    here: Evidence, name: str, point: Point, values: Mapping[str, float | None]
) -> list[str]:
    if all(value is not None for value in values.values()):
        return []
    if not here.at(name, point):
        return [f"all measured values (it has no window {point.at()})"]
    if not here.valid_at(name, point):
        return [f"all measured values (no window {point.at()} is valid)"]
    return [*_list_lacking(here, name, point, values)]


def _list_lacking(
    here: Evidence, name: str, point: Point, values: Mapping[str, float | None]
) -> Iterator[str]:
    """Each number that is not there with its reason: a percentile may have too few values."""
    there = sum(window.completed(ALL) for window in here.valid_at(name, point))
    unknown = []
    for key, value in values.items():
        if value is None and key in TIMES and not has_enough(TIMES[key], there):
            percent = PERCENTILES[key.removesuffix("_s")][0]
            needed = count_values_needed(percent)
            yield f"{key.removesuffix('_s')} (needs {needed:,} values, and there are {there:,})"
        elif value is None:
            unknown.append(key.removesuffix("_s"))
    if unknown:
        yield f"{format_list(unknown)} (no valid window has them)"


def _format_bracket(served: UsersWithinTarget) -> str | None:
    """`at least 13`, `4, not 13`, `not 4`; None where nothing is known."""
    if served.level is None:
        return None if served.not_at is None else f"not {format_count(served.not_at)}"
    if served.not_at is not None:
        return f"{format_count(served.level)}, not {format_count(served.not_at)}"
    because = f" ({served.open_because})" if served.open_because else ""
    return f"at least {format_count(served.level)}{because}"


def _find_kernel_means(context: Context, here: Evidence) -> dict[str, Evidence]:
    """By operation the evidence that knows the mean latency of the kernel's devices."""
    quantities = {
        each: (Quantity(f"block.{each}_latency_s"), Quantity(f"block.{RATES[each]}_per_s"))
        for each in OPERATIONS
    }
    return {
        operation: replace(
            here, measures={each: measure_series(context.sampled, each) for each in both}
        )
        for operation, both in quantities.items()
    }


def _find_device(
    context: Context, here: Evidence, name: str, point: Point, kernel: Mapping[str, Evidence]
) -> _Device:
    if not here.valid_at(name, point):
        return _Device({}, None, ())
    facts, run = context.find_facts(name), context.run
    if facts and facts.drives:
        times = read_drive_times(run.directory, here, run.drives, (name, point))
        return _describe_emulated(times, _sum_rates(context, here.valid_at(name, point)))
    means_s = {
        f"{each}_mean_s": evidence.level_of(name, point, Quantity(f"block.{each}_latency_s"))
        for each, evidence in kernel.items()
    }
    if not any(value is not None for value in means_s.values()):
        return _Device(
            {}, None, ("device latency (no block device under its volumes was sampled)",)
        )
    per_s = {
        f"{each}_per_s": evidence.level_of(name, point, Quantity(f"block.{RATES[each]}_per_s"))
        for each, evidence in kernel.items()
    }
    return _Device(means_s | per_s, "kernel", ("device p99 (the kernel counts no percentiles)",))


def _sum_rates(context: Context, windows: Sequence[Window]) -> dict[str, float | None]:
    """Requests a second that all drives of a candidate answered while users worked."""
    spans = {
        window.id: window.row["measure_to_s"] - window.row["started_at_s"] for window in windows
    }
    rows = context.run.drives.filter(pl.col("window_id").is_in(list(spans)))
    worked_s = sum(spans[each] for each in rows["window_id"].unique())
    if not worked_s:
        return {}
    answered = {each: rows.filter(pl.col("operation") == each)["answered"] for each in OPERATIONS}
    return {each: float(known.sum()) / worked_s for each, known in answered.items()}


def _describe_emulated(
    times: Mapping[str, DriveTimes], per_s: Mapping[str, float | None]
) -> _Device:
    known = [each for each in OPERATIONS if each in times]
    cells: Row = {}
    for each in known:
        of = times[each]
        cells |= {f"{each}_mean_s": of.got_s or of.mean_s, f"{each}_asked_s": of.asked_s}
        cells |= {f"{each}_p99_s": of.p99_s, f"{each}_per_s": per_s.get(each)}
    lacking = [each for each in OPERATIONS if each not in times]
    missing = [f"device {format_list(lacking)} (its drive answered none)"] if lacking else []
    if few := [each for each in known if times[each].p99_s is None]:
        missing.append(
            f"device p99 of {format_list(few)} (fewer than {count_values_needed(99):,} answers)"
        )
    return _Device(cells, "drive" if times else None, tuple(missing))
