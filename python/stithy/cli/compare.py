"""`stithy compare`: the same candidates and levels in two runs or more, with intervals."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from stithy.cli.talk.render import make_table, show, show_json
from stithy.errors import Exit, UserError

if TYPE_CHECKING:
    from stithy.analysis.between_runs import Row
    from stithy.metrics import Quantity
    from stithy.report.between import Pair

NOTE = """\
~: not distinguishable, at 5 % over all rows together (Welch, adjusted by Holm).
n: valid windows of each run that have the metric; blocks, if the metric pairs windows.
A change is the ratio of the geometric means over windows. Metrics for which 0 is a normal value,
such as error_share and isolation, have the difference of the means instead. Percentiles are of all
windows together.
Intervals are of each row by itself. They know the scatter within the runs, and of what drifted
between them as much as baseline checks and windows saw: candidates are compared more surely within
one study, in blocks."""


def compare(
    base: Path,
    /,
    *others: Path,
    metric: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    json: bool = False,
) -> Exit:
    """Compare runs: the same candidates at the same levels, now and before.

    Each run is compared with the first one. Runs are comparable only if workload, load, database,
    settings, versions, machine and storage are the same. Otherwise the command names each fact that
    differs, and compares nothing; docs/reference/comparability.md lists the facts. Name the facts
    that you changed on purpose with `--ignore`; they are printed above the comparison.

    For every candidate, level and metric the table shows the change and its interval. `~` means
    that the windows do not distinguish the two runs. The command reads results only, and changes
    nothing.

    Examples:

        stithy compare runs/before runs/after
        stithy compare runs/before runs/after --ignore kernel --ignore firmware
        stithy compare runs/before runs/after --metric "p99.9 of payment"

    Parameters
    ----------
    base
        The run with which the others are compared.
    others
        The other runs.
    metric
        A metric to compare instead of throughput, p95, p99 and what other activities measured, such
        as the time of a backup. It is named as in `primary.metric` of a study: `tpm`,
        `p99.9 of payment`, `block.write_latency_s`. Repeatable.
    ignore
        A fact that may differ, such as kernel. Repeatable.
    json
        Print the facts that differ, what weakens each run, and all numbers, as JSON. If the runs
        are not comparable, its `failure` has the facts that differ.
    """
    if not others:
        problem, remedy = "only one run is named", "name a second run: `stithy compare A B`"
        raise UserError(problem, where=str(base), remedy=remedy)
    from stithy.report.between import pair_runs
    from stithy.report.context import make_context
    from stithy.results.files import read_run

    asked = tuple(read_quantity(name) for name in metric)
    first, *rest = (make_context(read_run(other)) for other in (base, *others))
    found = pair_runs(first, rest, ignore, asked)
    if json:
        shown = [_make_json(pair) for pair in found]
        show_json({"schema_version": 1, "base": str(base), "comparisons": shown})
    else:
        show("\n\n".join([*map(_make_text, found), NOTE]))
    known = any(row.change.is_known for pair in found for row in pair.rows)
    return Exit.OK if known else Exit.INVALID


def read_quantity(text: str) -> "Quantity":
    """The metric that a person named. Raises UserError."""
    from stithy.metrics import UnknownQuantity, parse_quantity

    try:
        return parse_quantity(text)
    except UnknownQuantity as error:
        raise UserError(
            error.problem.what, where=f"--metric {text}", remedy=error.problem.right
        ) from error


def _make_text(pair: "Pair") -> str:
    from stithy.report.between import describe_machine, describe_rates, list_cells, list_flaws

    lines = [
        *(f"differs, ignored on request: {difference}" for difference in pair.ignored),
        *(
            f"differs, does not prevent the comparison: {difference}"
            for difference in pair.reported
        ),
        *(
            text
            for run in (pair.base, pair.other)
            for text in list_flaws(run, str(run.run.directory.root))
        ),
        *describe_rates(pair),
        *describe_machine(pair),
    ]
    header = ("metric", "candidate", "level", *pair.names, "change", "95 % interval", "n")
    rows = [list_cells(row) for row in pair.rows]
    return "\n".join([*lines, *([""] if lines else []), make_table(header, rows, "<<>>>>>>")])


def _make_json(pair: "Pair") -> dict[str, object]:
    from stithy.report.between import describe_machine, describe_rates, list_flaws

    runs = (("base", pair.base), ("other", pair.other))
    return {
        "other": str(pair.other.run.directory.root),
        "ignored": [asdict(difference) for difference in pair.ignored],
        "reported": [asdict(difference) for difference in pair.reported],
        "rates": describe_rates(pair),
        "machine": describe_machine(pair),
        "flaws": {name: list_flaws(run) for name, run in runs},
        "durability_given_up": {
            name: [asdict(point) for point in run.given_up] for name, run in runs
        },
        "rows": [_make_row(row) for row in pair.rows],
    }


def _make_row(row: "Row") -> dict[str, object]:
    from stithy.report.between import format_level

    shown = {key: value for key, value in asdict(row).items() if key not in ("quantity", "point")}
    return {
        "metric": str(row.quantity),
        "level": format_level(row.point),
        **shown,
        "distinguishable": row.change.distinguishable,
    }


COMMAND = compare
