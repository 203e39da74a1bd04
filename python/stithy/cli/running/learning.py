"""A profile learned from a trace: read, written as a file, held against what it does."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stithy.cli.talk.options import require_new
from stithy.cli.talk.render import rate_text, table, time_text
from stithy.errors import UserError, failures_of_the_machine, reason_of
from stithy.fio import library
from stithy.fio.foreign.lines import plain_name
from stithy.fio.learned import OPERATIONS, Learned, learn
from stithy.fio.traces import read_requests, read_trace
from stithy.metrics import Quantity
from stithy.results.read import read_run
from stithy.results.tables import Row

if TYPE_CHECKING:
    from stithy.report.context import Context

TRACES = "*.trace"
HEADER = ("operation", "by", "per second", "mean")


def learned_from(trace: Path) -> Learned:
    """What a trace of any kind teaches, or the one of a run.

    Of a run's trace only what was measured counts. Raises UserError.
    """
    try:
        if trace.is_dir():
            return _learned_from_run(trace)
        file, device = library.split_file(str(trace))
        source = trace if file is None else file
        return learn(read_requests(source, device), f"{source.name} {device}".strip())
    except OSError as error:
        problem = f"the trace cannot be read: {reason_of(error)}"
        remedy = "name a file that exists and is readable"
        raise UserError(problem, where=f"--learn {trace}", remedy=remedy) from error


def _learned_from_run(run: Path) -> Learned:
    """What the traces of a run teach, from the begin to the end of a measurement.

    They must be of one drive at one point: then any of them will do, and one that was measured
    again counts before the first.
    """
    results = read_run(run)
    found: dict[tuple[str, str, str], tuple[Path, Row]] = {}
    whole = results.window.filter("complete").sort(["attempt", "block"], descending=[False, True])
    for row in whole.iter_rows(named=True):
        for path in results.directory.window(row["window_id"]).root.glob(TRACES):
            found[row["candidate"], row["point"], path.name] = (path, row)
    if len(found) != 1:
        raise _not_one(run, sorted(path for path, _ in found.values()))
    [(path, row)] = found.values()
    from_s, to_s = row["measure_from_s"], row["measure_to_s"]
    zero_s = read_trace(path).started_at_s
    within = (each for each in read_requests(path) if from_s <= zero_s + each.arrived_s <= to_s)
    return learn(within, str(run))


def _not_one(run: Path, found: Sequence[Path]) -> UserError:
    if found:
        problem = f"it has traces of {len(found)} drives or points"
        remedy = f"name one of them, such as --learn {found[0]}"
    else:
        problem = "it kept no trace of a whole window"
        remedy = "give an emulated drive of its study `trace: true`, and run it again"
    return UserError(problem, where=f"--learn {run}", remedy=remedy)


def keep(learned: Learned, file: Path) -> None:
    """Write the profile to a new file. Raises UserError where there is one, or can be none."""
    require_new(file)
    library.parse(learned.text, plain_name(file.stem), str(file))
    try:
        with failures_of_the_machine(str(file)), file.open("x", encoding="utf-8") as opened:
            opened.write(learned.text)
    except OSError as error:
        problem = f"the profile cannot be written: {reason_of(error)}"
        raise UserError(problem, where=str(file), remedy="name another file") from error


def side_by_side(learned: Learned, context: "Context") -> str:
    """What was traced, and what each candidate did with the profile at the same rate."""
    rows = [
        (operation, "trace", rate_text(seen.per_s), time_text(seen.mean_s))
        for operation, seen in learned.served.items()
        if seen.count
    ]
    evidence = context.evidence
    for point in evidence.points:
        if point.values.get("rate") == "max":
            continue
        for name in evidence.candidates:
            for operation in OPERATIONS:
                iops, mean_s = (
                    evidence.level_of(name, point, Quantity(metric, operation))
                    for metric in ("fio.iops", "fio.mean_s")
                )
                if iops is not None:
                    rows.append((operation, name, rate_text(iops), time_text(mean_s)))
    return table(HEADER, sorted(rows, key=lambda row: OPERATIONS.index(row[0])), "<<>>")
