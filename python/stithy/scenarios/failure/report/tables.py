"""Tables of failures: who survived what, what it cost, and what each phase gave."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from stithy.analysis.effect import Effect, make_unknown_effect
from stithy.metrics import PERCENTILES, Quantity
from stithy.report.context import Context
from stithy.report.drawing.points import drop_factor
from stithy.report.tables import PageTable, Show, make_table
from stithy.report.words.wording import format_count, format_signed, format_signed_share
from stithy.scenarios.failure.declared import PERCENTILES_OF_PHASES, PHASES
from stithy.scenarios.failure.fault import NONE
from stithy.scenarios.failure.impact import find_percentile, total_phases
from stithy.scenarios.failure.judge import PAUSE, USER_PAUSE, Suffered, list_suffered
from stithy.scenarios.failure.keys import FAULT, NAME
from stithy.scenarios.failure.report.findings import HOWS, format_level, write_bounded
from stithy.scenarios.failure.survival import Fate, Survival, list_survivals
from stithy.statements import Statement, join_parts
from stithy.units import MINUS

SURVIVAL, PHASE_TABLE = "survival", "failure-phases"
PROMISES = {True: "promised", False: "not promised", None: "never struck"}
TIMES = ("detect_s", "heal_s", "rebuild_s", "recovery_s")


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
        row[each.fault] = _write_cell(each)
    columns = [Show(fault, "without a fault" if fault == NONE else fault) for fault in faults]
    return make_table(
        SURVIVAL, "What each candidate promises to survive, and what happened",
        (*shows, Show("candidate", "Candidate"), *columns), _fill(rows.values(), faults),
    )  # fmt: skip


def _fill(rows: Any, faults: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield row | {fault: row.get(fault) for fault in faults}


def _write_cell(of: Survival) -> Statement:
    promise = f"{PROMISES[of.promised]}: " if of.fault != NONE and of.promised is not None else ""
    if of.fate is Fate.LOST:
        parts = [Statement(HOWS[gone.how].replace("deal", gone.deal), count=gone.count)
                 for gone in of.gone]  # fmt: skip
        if of.unreadable:
            parts.append(Statement("lost the database"))
        known = join_parts(parts or [Statement("not what was acknowledged")])
        return Statement(f"{promise}LOST: {{known}}, in {{lost}} of {{windows:+window}}",
                         known=known, lost=of.lost, windows=of.windows)  # fmt: skip
    if of.fate is not Fate.KEPT:
        return Statement(f"{promise}{of.fate.value}")
    if of.pause.value is None:
        return Statement(f"{promise}kept; no valid window")
    if of.is_paused is False:
        return Statement(f"{promise}kept, no noticeable pause")
    return Statement(f"{promise}kept, paused {{pause}}", pause=format_level(of.pause))


def make_losses_table(context: Context) -> PageTable:
    """Pause and loss, a row for each candidate under each fault."""
    suffered = {(each.candidate, each.point): each for each in list_suffered(context.evidence)}
    shows = (
        *context.factor_shows, Show("candidate", "Candidate"), Show("fate", "Outcome"),
        Show("blocks", "Valid windows", "count"), Show("pause_s", "Pause", "duration"),
        Show("longer_shown", "Longer by"), Show("user_pause_s", "Pause of users", "duration"),
        Show("lost_work_shown", "Lost work"), Show("detect_s", "Detection", "duration"),
        Show("heal_s", "Repair", "duration"), Show("rebuild_s", "Rebuild", "duration"),
        Show("recovery_s", "Recovery", "duration"),
    )  # fmt: skip
    rows = [_make_row(context, each, suffered.get((each.candidate, each.point)))
            for each in list_survivals(context)]  # fmt: skip
    bounds = {f"{name}{end}": pl.Float64 for name in ("longer", "lost_work")
              for end in ("", "_low", "_high")}  # fmt: skip
    bounds |= dict.fromkeys(("pause_low", "pause_high"), pl.Float64)
    counts = dict.fromkeys(("windows", "compared", "lost", "unreadable"), pl.Int64)
    table = make_table(NAME, "Pause and loss", shows, rows, promised=pl.Boolean, because=pl.String,
                       **counts, **bounds)  # fmt: skip
    return table.told("candidate", "fate", "pause_s")


def _make_row(context: Context, of: Survival, suffered: Suffered | None) -> dict[str, Any]:
    user_pause_s = suffered and context.evidence.level_of(of.candidate, of.point, USER_PAUSE)
    times = {name: suffered and suffered.average(f"fault.{name}") for name in TIMES}
    return {
        **context.list_factor_values(of.point), "candidate": of.candidate, "fate": of.fate.value,
        "blocks": of.counted, "promised": of.promised, "windows": of.windows,
        "compared": of.compared, "lost": of.lost, "unreadable": of.unreadable,
        "because": of.because, "user_pause_s": user_pause_s, **times,
        "pause_s": of.pause.value, "pause_low": of.pause.low, "pause_high": of.pause.high,
        "longer_shown": _write_longer(of.longer),
        "lost_work_shown": _write_count(of.lost_work),
        **_list_bounds("longer", of.longer),
        **_list_bounds("lost_work", of.lost_work),
    }  # fmt: skip


def _list_bounds(name: str, effect: Effect) -> dict[str, float | None]:
    return {name: effect.value, f"{name}_low": effect.low, f"{name}_high": effect.high}


def _write_longer(effect: Effect) -> Statement | None:
    if effect.value is None:
        return None
    ends = [end for end in (effect.value, effect.low, effect.high) if end is not None]
    return write_bounded(ends, [format_signed(PAUSE, end) for end in ends])


def _write_count(effect: Effect) -> Statement | None:
    if effect.value is None:
        return None
    ends = [end for end in (effect.value, effect.low, effect.high) if end is not None]
    return write_bounded(ends, [format_count(end).replace("-", MINUS) for end in ends])


def make_phases_table(context: Context) -> PageTable:
    """What each phase gave, and how it differs from the same seconds without the fault."""
    shows = (
        *context.factor_shows, Show("candidate", "Candidate"), Show("phase", "Phase"),
        Show("phase_s", "Length", "duration"), Show("tpm", "TPM", "count"),
        Show("tpm_shown", "Change"), Show("p50_s", "p50", "duration"),
        Show("p95_s", "p95", "duration"), Show("p99_s", "p99", "duration"),
        Show("p99_shown", "Change of p99"),
    )  # fmt: skip
    rows = [row for of in list_suffered(context.evidence) for row in _list_phase_rows(context, of)]
    types = {f"{name}_ratio{end}": pl.Float64 for name in ("throughput", *PERCENTILES_OF_PHASES)
             for end in ("", "_low", "_high")}  # fmt: skip
    return make_table(PHASE_TABLE, "Phases", shows, rows, tpm=pl.Float64, **types)


def _list_phase_rows(context: Context, of: Suffered) -> Iterator[dict[str, Any]]:
    totals = total_phases(context, of.candidate, of.point)
    for phase in PHASES:
        total = totals.get(phase)
        if total is None or not total.seconds:
            continue
        ratios = {name: _find_ratio(context, of, name, phase)
                  for name in ("throughput", *PERCENTILES_OF_PHASES)}  # fmt: skip
        times = {f"{name}_s": find_percentile(total, PERCENTILES[name][0])
                 for name in PERCENTILES_OF_PHASES}  # fmt: skip
        bounds = [_list_bounds(f"{name}_ratio", effect) for name, effect in ratios.items()]
        yield {
            **context.list_factor_values(of.point), "candidate": of.candidate, "phase": phase,
            "phase_s": of.average("fault.phase_s", phase), "tpm": total.per_minute,
            "tpm_shown": _write_change(ratios["throughput"]), **times,
            "p99_shown": _write_change(ratios["p99"]),
            **{name: value for each in bounds for name, value in each.items()},
        }  # fmt: skip


def _find_ratio(context: Context, of: Suffered, name: str, phase: str) -> Effect:
    paired = context.evidence.paired_of(
        of.candidate, of.point, Quantity(f"fault.{name}_ratio", phase)
    )
    return make_unknown_effect("no block has both") if paired is None else paired.effect


def _write_change(effect: Effect) -> Statement | None:
    if effect.ratio is None:
        return None
    ends = [end - 1 for end in (effect.ratio, effect.low, effect.high) if end is not None]
    return write_bounded(ends, [format_signed_share(end) for end in ends])
