"""Runs held against each other: which may be, what differs of them, what changed with intervals.

`stithy compare` and `stithy report --compare` tell the same, and the same way round: the later run
against the earlier one. Runs come one after the other and are no blocks: what drifted between them
stands in every difference, and nothing here says otherwise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from stithy.analysis.analyze import measure
from stithy.analysis.between_runs import (
    Row,
    RunChange,
    Taken,
    compare_baselines,
    compare_runs,
    compare_taken,
    list_shared,
)
from stithy.errors import UserError
from stithy.metrics import COST_PER_MILLION, COST_PER_USER, P99, Quantity, check
from stithy.point import Point
from stithy.report.context import Context
from stithy.report.validity import describe_left_out, describe_lost_files
from stithy.report.words.escape import escape_unseen, truncate_name
from stithy.report.words.loads import is_by_url
from stithy.report.words.wording import DASH, format_number, format_signed, format_times
from stithy.report.words.wording import format_quantity as with_unit
from stithy.results.comparability import (
    FactDifference,
    NotComparable,
    find_differences,
    is_ignored,
    require_known,
)
from stithy.results.manifest import Manifest
from stithy.study.database import write_sentences
from stithy.units import MINUS, format_list, format_share


@dataclass(frozen=True)
class Pair:
    """Two runs by the names that a report uses: what is ignored or only reported, their rows.

    `base` is the earlier one, and every change is that of `other` to it.
    """

    base: Context
    other: Context
    names: tuple[str, str]
    ignored: tuple[FactDifference, ...]
    reported: tuple[FactDifference, ...]
    rows: tuple[Row, ...]


def pair_runs(
    run: Context,
    others: Sequence[Context],
    ignore: Sequence[str] = (),
    quantities: Sequence[Quantity] = (),
    *,
    earlier: bool = False,
) -> tuple[Pair, ...]:
    """Each of the others held against the run; with `earlier`, the run held against each of them.

    Raises NotComparable where a fact differs that the numbers rest on, and is not ignored;
    UserError where runs have no manifest or nothing in common, or one is the run itself, no such
    fact can be ignored, or the run has no such transaction type.
    """
    manifests = [_require_manifest(other) for other in (run, *others)]
    require_known(ignore, manifests)
    quantities = quantities or _list_usual(run)
    _require_comparable(run, others, quantities)
    own, *names = _name_runs((run, *others))
    return tuple(
        _compare_pair(each, run, (name, own), ignore, quantities)
        if earlier
        else _compare_pair(run, each, (own, name), ignore, quantities)
        for each, name in zip(others, names, strict=True)
    )


def _require_comparable(
    run: Context, others: Sequence[Context], quantities: Sequence[Quantity]
) -> None:
    """Raise UserError for a transaction type that the run does not have, and for the run itself."""
    types = run.run.transactions["transaction"].unique().sort().to_list()
    for quantity in quantities:
        if types and (problem := check(quantity, types)) is not None:
            raise UserError(problem.what, where=str(quantity), remedy=problem.right)
    for root in (other.run.directory.root for other in others):
        if root.resolve() == run.run.directory.root.resolve():
            where = str(root)
            raise UserError("this is the run itself", where=where, remedy="name another run")


def _list_usual(run: Context) -> tuple[Quantity, ...]:
    """What is compared where nothing is asked for.

    Of users throughput and two percentiles; of other activities what they measured of everything.
    """
    of_users = (*run.evidence.described, P99) if "load" in run.tables else ()
    own = (
        each
        for each in run.declared
        if each.of is None
        and each.known.better
        and each.known.compared
        and each.known.percent in (None, 99.0)
    )
    return tuple(dict.fromkeys([*of_users, *own]))


def _require_manifest(context: Context) -> Manifest:
    if context.manifest is None:
        problem = "its manifest cannot be read, so its comparability is not known"
        where = str(context.run.directory.root)
        raise UserError(problem, where=where, remedy="compare a run whose manifest can be read")
    return context.manifest


def _compare_pair(
    base: Context,
    other: Context,
    names: tuple[str, str],
    ignore: Sequence[str],
    quantities: Sequence[Quantity],
) -> Pair:
    roots = [str(each.run.directory.root) for each in (base, other)]
    candidates, levels = list_shared(base.evidence, other.evidence)
    if not candidates or not levels:
        what = "level" if candidates else "candidate"
        remedy = f"compare runs of studies with the same {what}s"
        raise UserError(f"no {what} of {roots[0]} is in it", where=roots[1], remedy=remedy)
    found = find_differences(_require_manifest(base), _require_manifest(other), candidates)
    meant = tuple(each for each in found if is_ignored(each, ignore))
    if wrong := [each for each in found if each.needed and each not in meant]:
        raise NotComparable(roots[1], roots[0], wrong)
    reported = tuple(each for each in found if each not in meant)
    first, second = (_add_measures(each, quantities) for each in (base, other))
    every = compare_runs(first.evidence, second.evidence, quantities)
    rows = tuple(_refuse_currencies(base, other, row) for row in every if not _is_elsewhere(row))
    return Pair(first, second, names, meant, reported, rows)


def _is_elsewhere(row: Row) -> bool:
    """Whether a value of an activity is in neither run, which do not have it at this point."""
    none = row.value_base is None and row.value_other is None
    return none and row.quantity.known.source == "values"


def _refuse_currencies(base: Context, other: Context, row: Row) -> Row:
    """Leave amounts of two currencies uncompared: nothing is converted."""
    currencies = [run.pricing.currency for run in (base, other) if run.pricing]
    if row.quantity.metric not in AMOUNTS or len(set(currencies)) < 2:
        return row
    because = f"the amounts are in {' and '.join(currencies)}"
    change = RunChange(None, None, None, row.change.base, row.change.other,
                       missing_because=because)  # fmt: skip
    return replace(row, change=change)


def _add_measures(context: Context, quantities: Sequence[Quantity]) -> Context:
    known: Mapping[Quantity, object] = context.evidence.measures
    missing = [quantity for quantity in quantities if quantity not in known]
    more = measure(context.run, context.evidence, context.sampled, missing)
    if not more:
        return context
    whole = {**context.evidence.measures, **more}
    return replace(context, evidence=replace(context.evidence, measures=whole))


AMOUNTS = {COST_PER_MILLION.metric, COST_PER_USER.metric}
NAME_MOST = 60
"""Own: letters of a name, so that a table's heading leaves room for the others."""


def _name_runs(contexts: Sequence[Context]) -> list[str]:
    """Each directory's name; its path where another of them has the same name."""
    roots = [context.run.directory.root for context in contexts]
    names = [truncate_name(root.resolve().name, NAME_MOST) for root in roots]
    return [
        name if names.count(name) == 1 else escape_unseen(str(root))
        for name, root in zip(names, roots, strict=True)
    ]


def list_flaws(context: Context, who: str = "") -> list[str]:
    """What must be known of a run before its numbers are; `who` is what it is called."""
    manifest = _require_manifest(context)
    reported, damaged = describe_left_out(context.evidence.windows), describe_lost_files(context)
    found = [
        *(text.removesuffix(".") for text in write_sentences(context.given_up)),
        *([f"{damaged}; its report says which"] if damaged else []),
        *([f"{reported}; left out"] if reported else []),
        *([f"the run was not finished ({manifest.end})"] if manifest.end != "finished" else []),
        *(["changes of the servers behind its URLs are not known"] if is_by_url(manifest) else []),
        *(
            f"resumed although something had changed: {text}"
            for session in manifest.sessions
            for text in session.changed
        ),
    ]
    return [f"{who}: {text}" for text in found] if who else found


def describe_machine(pair: Pair) -> list[str]:
    """By how much the machine itself differed, as far as both runs saw it; empty where it did not.

    What is not known is reported, too.
    """
    base, other = pair.names
    found = compare_baselines(pair.base.evidence, pair.other.evidence)
    if not found:
        runs = zip(pair.names, (pair.base, pair.other), strict=True)
        who = [name for name, run in runs if not any(at.shares for at in run.evidence.baselines)]
        unknown = "it is not known whether the machine was the same"
        return [f"{unknown}: {format_list(who)} has no baseline check"]
    parts = []
    for each in found:
        if each.counts and abs(each.ratio - 1) > TOLD_SHARE:
            verb, how = each.gauge.name_change(grew=each.ratio > 1)
            parts.append(f"{each.gauge.what} {verb} {format_share(abs(each.ratio - 1))} {how}")
    reported = [f"by their baseline checks, in {other} {format_list(parts)}"] if parts else []
    others = _find_most_taken(pair)
    if others is not None and others.differs:
        shares = (
            f"{format_share(others.base)} of the machine in {base} and {format_share(others.other)}"
        )
        reported.append(f"other programs took up to {shares} in {other}")
    widest = max((row.change.drift_share for row in pair.rows), default=0.0)
    if reported:
        by = f"intervals are wider by up to {format_ratio_change(1 + widest)} on both sides"
        return [f"the machine itself differed: {'; '.join(reported)}; {by}"]
    return []


TOLD_SHARE = 0.01
"""Own: baseline checks of CPUs scatter by less; it widens intervals all the same."""


SAME_SHARE = 0.01
"""Own: rates that differ by less are the same load."""


def describe_rates(pair: Pair) -> list[str]:
    """Where transactions arrived at other rates, though points are called alike; empty elsewhere.

    Rates may be shares of a maximum, which each run measures itself.
    """
    found: dict[str, list[str]] = {}
    for candidate, point in dict.fromkeys((row.candidate, row.point) for row in pair.rows):
        one, two = (_find_rate(each, candidate, point) for each in (pair.base, pair.other))
        if one and two and abs(two / one - 1) > SAME_SHARE:
            base, other = pair.names
            both = f"{format_number(one)}/s in {base} and {format_number(two)}/s in {other}"
            found.setdefault(both, []).append(candidate)
    each = [f"{both} ({format_list(list(dict.fromkeys(names)))})" for both, names in found.items()]
    said = "transactions arrived at other rates, as shares of what each run measured"
    return [f"{said}: {'; '.join(each)}"] if each else []


def _find_rate(run: Context, candidate: str, point: Point) -> float | None:
    every = {each.row.get("rate_per_s") for each in run.evidence.valid_at(candidate, point)}
    return every.pop() if len(every) == 1 else None


def _find_most_taken(pair: Pair) -> Taken | None:
    base, other = pair.base.evidence, pair.other.evidence
    cells = dict.fromkeys((row.candidate, row.point) for row in pair.rows)
    found = [compare_taken(base.valid_at(*of), other.valid_at(*of)) for of in cells]
    return max((each for each in found if each), key=lambda each: each.log, default=None)


def list_cells(row: Row) -> tuple[str, ...]:
    """Metric, candidate, level, both values, the change with its interval, and the windows."""
    base, other = (
        format_value_or_dash(row.quantity, value) for value in (row.value_base, row.value_other)
    )
    return (
        row.quantity.label, row.candidate, format_level(row.point), base, other,
        format_if_sure(row), format_interval(row), f"{row.change.base}+{row.change.other}",
    )  # fmt: skip


def format_level(point: Point) -> str:
    """A point in a cell: `8`; where more is varied with its names: `8 users with backups`."""
    return point.brief if len(point.values) == 1 else point.in_words()


def format_value_or_dash(quantity: Quantity, value: float | None) -> str:
    """A value of a metric; a dash where there is none."""
    return DASH if value is None else with_unit(quantity, value)


def format_if_sure(row: Row) -> str:
    """The change, or `~` where chance would do as much."""
    if not row.change.is_known:
        return DASH
    return format_change(row) if row.change.distinguishable else "~"


def format_change(row: Row) -> str:
    """The change, however sure it is: a ratio as a percentage, a difference in its unit."""
    found = row.change
    if found.difference is not None:
        return format_signed(row.quantity, found.difference)
    return format_ratio_change(found.ratio or 1)


def format_interval(row: Row) -> str:
    """From where to where the change lies, or why that is not known."""
    found = row.change
    if found.missing_because is not None:
        return found.missing_because
    if min(found.base, found.other) < 2:
        return "none: 2 windows of each are needed"
    if found.low is None or found.high is None:
        return "none: the windows do not vary"
    shown = (
        partial(format_signed, row.quantity)
        if found.difference is not None
        else format_ratio_change
    )
    return f"{shown(found.low)} to {shown(found.high)}"


def format_ratio_change(ratio: float) -> str:
    """A ratio as a change: `+12.3 %`, `−0.04 %`; of tenfold or a hundredth on a factor: `×12.4`."""
    if 10 <= ratio < 1000:
        return f"×{ratio:.3g}"
    if not 0.01 <= ratio < 10:
        return f"×{format_times(ratio)}"
    change = 100 * (ratio - 1)
    decimals = next((each for each in (1, 2, 3) if round(change, each) or not change), 3)
    return f"{change:+.{decimals}f} %".replace("-", MINUS)
