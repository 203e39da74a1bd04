"""Tables of failures: who survived what, what it cost, and what each phase gave."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import polars as pl

from stithy.analysis.effect import Effect
from stithy.metrics import PERCENTILES, Quantity
from stithy.report.context import Context
from stithy.report.drawing.points import drop_factor
from stithy.report.tables import PageTable, Show, make_table
from stithy.report.words.wording import format_count, format_signed, format_signed_share
from stithy.scenarios.failure.declared import PERCENTILES_OF_PHASES, PHASES
from stithy.scenarios.failure.fault import NONE
from stithy.scenarios.failure.impact import find_percentile, total_phases
from stithy.scenarios.failure.judge import PAUSE, Suffered
from stithy.scenarios.failure.keys import FAULT, NAME
from stithy.scenarios.failure.report.findings import (
    list_losses,
    write_effect,
    write_part,
    write_time,
)
from stithy.scenarios.failure.survival import Fate, Survival, list_survivals
from stithy.statements import Statement, join_parts
from stithy.units import MINUS

SURVIVAL, PHASE_TABLE = "survival", "failure-phases"
PROMISES = {True: "promised", False: "not promised", None: "never struck"}
TIMES = ("user_pause_s", "detect_s", "heal_s", "rebuild_s", "recovery_s")


def make_survival_table(context: Context) -> PageTable:
    """Candidates by faults: what each promises, and what happened."""
    survivals = list_survivals(context)
    faults = tuple(dict.fromkeys(each.fault for each in survivals))
    others = [name for name in context.factors if name != FAULT]
    shows = [show for show in context.factor_shows if show.column in others]
    rows: dict[tuple[Any, str], dict[str, Any]] = {}
    for each in survivals:
        factors = context.list_factor_values(each.point)
        first = {name: factors[name] for name in others} | {"candidate": each.candidate}
        row = rows.setdefault((drop_factor(each.point, FAULT), each.candidate), first)
        row[each.fault] = write_cell(each)
    columns = [Show(fault, "without a fault" if fault == NONE else fault) for fault in faults]
    return make_table(
        SURVIVAL, "What each candidate promises to survive, and what happened",
        (*shows, Show("candidate", "Candidate"), *columns), rows.values(),
    )  # fmt: skip


def write_cell(of: Survival) -> Statement:
    """Write what a candidate promises under a fault, and what happened in how many windows."""
    promise = f"{PROMISES[of.promised]}: " if of.fault != NONE and of.promised is not None else ""
    if of.fate is Fate.LOST:
        known = join_parts(list_losses(of))
        return Statement(
            f"{promise}LOST ({{known}}) in {{lost}} of {{windows:+window}}", known=known,
            lost=of.lost, windows=of.windows, point=str(of.point),
        )  # fmt: skip
    if of.fate is not Fate.KEPT:
        return Statement(f"{promise}{of.fate.value}")
    felt = ", paused {pause}" if of.pause.value is not None else "; its pause is not known"
    if of.is_paused is False:
        felt = ", no noticeably longer pause"
    return Statement(
        f"{promise}kept{write_part(of)}{felt if of.counted else '; no valid window'}",
        point=str(of.point), pause=write_effect(of.pause, write_time), compared=of.compared,
        windows=of.windows,
    )  # fmt: skip


def make_losses_table(context: Context) -> PageTable:
    """Pause and loss, a row for each candidate under each fault."""
    shows = (
        *context.factor_shows, Show("candidate", "Candidate"), Show("fate", "Outcome"),
        Show("blocks", "Valid windows", "count"), Show("pause_s", "Pause", "duration"),
        Show("longer_shown", "Longer by"), Show("user_pause_s", "Pause of users", "duration"),
        Show("lost_work_shown", "Lost work"), Show("detect_s", "Detection", "duration"),
        Show("heal_s", "Repair", "duration"), Show("rebuild_s", "Rebuild", "duration"),
        Show("recovery_s", "Recovery", "duration"),
    )  # fmt: skip
    rows = [_make_row(context, each) for each in list_survivals(context)]
    bounds = {f"{name}{end}": pl.Float64 for name in ("longer", "lost_work")
              for end in ("", "_low", "_high")}  # fmt: skip
    bounds |= dict.fromkeys(("pause_low", "pause_high"), pl.Float64)
    names = ("windows", "compared", "lost", "unreadable", "damaged", "broken", "unchecked")
    counts = dict.fromkeys(names, pl.Int64)
    table = make_table(NAME, "Pause and loss", shows, rows, promised=pl.Boolean, because=pl.String,
                       **counts, **bounds)  # fmt: skip
    return table.told("candidate", "fate", "pause_s")


def _make_row(context: Context, of: Survival) -> dict[str, Any]:
    suffered = Suffered(context.evidence, of.candidate, of.point)
    times = {name: suffered.average_if_complete(Quantity(f"fault.{name}")) for name in TIMES}
    return {
        **context.list_factor_values(of.point), "candidate": of.candidate, "fate": of.fate.value,
        "blocks": of.counted, "promised": of.promised, "windows": of.windows,
        "compared": of.compared, "lost": of.lost, "unreadable": of.unreadable,
        "damaged": of.damaged, "broken": of.broken, "unchecked": of.unchecked,
        "because": of.because, **times,
        "pause_s": of.pause.value, "pause_low": of.pause.low, "pause_high": of.pause.high,
        "longer_shown": write_effect(of.longer, partial(format_signed, PAUSE)),
        "lost_work_shown": write_effect(
            of.lost_work, lambda number: format_count(number).replace("-", MINUS)
        ),
        **_list_bounds("longer", of.longer),
        **_list_bounds("lost_work", of.lost_work),
    }  # fmt: skip


def _list_bounds(name: str, effect: Effect) -> dict[str, float | None]:
    return {name: effect.value, f"{name}_low": effect.low, f"{name}_high": effect.high}


def make_phases_table(context: Context) -> PageTable:
    """What each phase gave, and how it differs from the same seconds without the fault."""
    shows = (
        *context.factor_shows, Show("candidate", "Candidate"), Show("phase", "Phase"),
        Show("phase_s", "Length", "duration"), Show("tpm", "TPM", "count"),
        Show("tpm_shown", "Change"), Show("p50_s", "p50", "duration"),
        Show("p95_s", "p95", "duration"), Show("p99_s", "p99", "duration"),
        Show("p99_shown", "Change of p99"),
    )  # fmt: skip
    rows = [
        row for of in Suffered.list_in(context.evidence) for row in _list_phase_rows(context, of)
    ]
    types = {f"{name}_ratio{end}": pl.Float64 for name in ("throughput", *PERCENTILES_OF_PHASES)
             for end in ("", "_low", "_high")}  # fmt: skip
    return make_table(PHASE_TABLE, "Phases", shows, rows, tpm=pl.Float64, **types)


def _list_phase_rows(context: Context, of: Suffered) -> Iterator[dict[str, Any]]:
    totals = total_phases(context, of.candidate, of.point)
    for phase in PHASES:
        total = totals.get(phase)
        if total is None or not total.seconds:
            continue
        ratios = {name: of.find_effect(Quantity(f"fault.{name}_ratio", phase))
                  for name in ("throughput", *PERCENTILES_OF_PHASES)}  # fmt: skip
        times = {f"{name}_s": find_percentile(total, PERCENTILES[name][0])
                 for name in PERCENTILES_OF_PHASES}  # fmt: skip
        bounds = [_list_bounds(f"{name}_ratio", effect) for name, effect in ratios.items()]
        yield {
            **context.list_factor_values(of.point), "candidate": of.candidate, "phase": phase,
            "phase_s": of.average(Quantity("fault.phase_s", phase)),
            "tpm": total.per_minute,
            "tpm_shown": write_effect(ratios["throughput"], _write_change), **times,
            "p99_shown": write_effect(ratios["p99"], _write_change),
            **{name: value for each in bounds for name, value in each.items()},
        }  # fmt: skip


def _write_change(ratio: float) -> str:
    return format_signed_share(ratio - 1)


MAKERS = make_survival_table, make_losses_table, make_phases_table
