"""`stithy compare`: the same candidates and levels in two runs or more, with intervals."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from stithy.cli.render import Align, show, show_json, table
from stithy.errors import UserError
from stithy.exits import Exit

if TYPE_CHECKING:
    from stithy.analysis.between_runs import Change, Row
    from stithy.report.context import Context
    from stithy.results.comparability import Difference
    from stithy.results.manifest import Manifest

ALIGN: tuple[Align, ...] = (
    "left", "left", "right", "right", "right", "right", "right", "right",
)  # fmt: skip
NOTE = """\
~: not distinguishable, at 5 % over all rows together (Welch, adjusted by Holm); n: valid windows.
Intervals are of each row by itself. They know the scatter within the runs, and not what drifted
between them: candidates are compared more surely within one study, in blocks."""


def compare(
    base: Path,
    /,
    *others: Path,
    ignore: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    json: Annotated[bool, Parameter(negative=())] = False,
) -> Exit:
    """Compare runs: what the same candidates did at the same levels, then and now.

    Runs are compared with the first one, and only if everything is the same that their numbers rest
    on: workload, load, database, settings, versions, machine, storage
    (docs/reference/comparability.md). Otherwise each fact that differs is named, and nothing is
    compared. What the comparison is about is named with `--ignore` and printed above it. For every
    candidate, level and metric there is the change with its interval; `~` where the windows do not
    tell the runs apart. It reads the results alone and changes nothing.

    Examples:

        stithy compare runs/before runs/after
        stithy compare runs/before runs/after --ignore kernel --ignore firmware

    Parameters
    ----------
    base
        The run that the others are compared with.
    others
        The other runs.
    ignore
        A fact that may differ; may be given again.
    json
        Print facts that differ and all numbers as JSON.
    """
    from stithy.results.comparability import require_known

    if not others:
        problem, remedy = "nothing to compare it with", "name a second run: `stithy compare A B`"
        raise UserError(problem, where=str(base), remedy=remedy)
    first, rest = _read(base), [_read(each) for each in others]
    require_known(ignore, [each.manifest for each in (first, *rest)])
    pairs = [_pair(first, each, ignore) for each in rest]
    if json:
        told = [_as_json(each) for each in pairs]
        show_json({"schema_version": 1, "base": str(base), "comparisons": told})
    else:
        show("\n\n".join([*map(_as_text, pairs), NOTE]))
    known = any(row.change.ratio is not None for pair in pairs for row in pair.rows)
    return Exit.OK if known else Exit.INVALID


@dataclass(frozen=True)
class _Run:
    """A run as it was called and read."""

    path: Path
    context: "Context"
    manifest: "Manifest"


@dataclass(frozen=True)
class _Pair:
    """Two runs: what differs of them, ignored or only told, and their rows."""

    base: _Run
    other: _Run
    ignored: tuple["Difference", ...]
    told: tuple["Difference", ...]
    rows: tuple["Row", ...]


def _read(path: Path) -> _Run:
    from stithy.report.context import context_of
    from stithy.results.read import read_run

    context = context_of(read_run(path))
    if context.manifest is None:
        problem = "its manifest cannot be read, so nothing tells what it can be compared with"
        raise UserError(problem, where=str(path), remedy="compare a run whose manifest is whole")
    return _Run(path, context, context.manifest)


def _pair(base: _Run, other: _Run, ignore: Sequence[str]) -> _Pair:
    """Two runs compared. Raises NotComparable, or UserError where they have nothing in common."""
    from stithy.analysis.between_runs import compare_runs, shared
    from stithy.results.comparability import NotComparable, differences, ignored

    names, levels = shared(base.context.evidence, other.context.evidence)
    if not names or not levels:
        what = "level" if names else "candidate"
        remedy = f"compare runs of studies with the same {what}s"
        raise UserError(f"no {what} of {base.path} is in it", where=str(other.path), remedy=remedy)
    found = differences(base.manifest, other.manifest, names)
    meant = tuple(each for each in found if ignored(each, ignore))
    if wrong := [each for each in found if each.needed and each not in meant]:
        raise NotComparable(str(other.path), str(base.path), wrong)
    told = tuple(each for each in found if each not in meant)
    rows = compare_runs(base.context.evidence, other.context.evidence)
    return _Pair(base, other, meant, told, rows)


def _as_text(pair: _Pair) -> str:
    lines = [
        *(f"differs, and is ignored: {each}" for each in pair.ignored),
        *(f"differs, and may: {each}" for each in pair.told),
        *(text for run in (pair.base, pair.other) for text in _flaws(run)),
    ]
    names = _short(pair.base.path, pair.other.path)
    header = ("metric", "candidate", "users", *names, "change", "95 % interval", "n")
    rows = [_cells(row) for row in pair.rows]
    return "\n".join([*lines, *([""] if lines else []), table(header, rows, ALIGN)])


def _short(base: Path, other: Path) -> tuple[str, str]:
    """The directories' names; the paths where these are the same."""
    if base.resolve().name != other.resolve().name:
        return base.resolve().name, other.resolve().name
    return str(base), str(other)


def _flaws(run: _Run) -> list[str]:
    """What must be known of a run before its numbers are."""
    from stithy.report.lost import files, left_out

    told = left_out(run.context.evidence.windows)
    damaged = files(run.context)
    ended = [f"{run.path}: the run was not finished ({run.manifest.end})"]
    changed = [
        f"{run.path}: resumed although something had changed: {text}"
        for session in run.manifest.sessions
        for text in session.changed
    ]
    return [
        *([f"{run.path}: {damaged}; its report says which"] if damaged else []),
        *([f"{run.path}: {told}; left out"] if told else []),
        *(ended if run.manifest.end != "finished" else []),
        *changed,
    ]


def _cells(row: "Row") -> tuple[str, ...]:
    from stithy.analysis.between_runs import METRICS
    from stithy.report.wording import DASH, count, duration

    shown = count if row.metric == "nopm" else duration
    base, other = (DASH if v is None else shown(v) for v in (row.value_base, row.value_other))
    return (
        METRICS[row.metric], row.candidate, str(row.users), base, other,
        _change(row.change), _interval(row.change), f"{row.change.base}+{row.change.other}",
    )  # fmt: skip


def _change(change: "Change") -> str:
    from stithy.report.wording import DASH

    if change.ratio is None:
        return DASH
    return _percent(change.ratio) if change.distinguishable else "~"


def _interval(change: "Change") -> str:
    if change.missing_because is not None:
        return change.missing_because
    if min(change.base, change.other) < 2:
        return "none: 2 windows of each are needed"
    if change.low is None or change.high is None:
        return "none: no scatter to tell it from"
    return f"{_percent(change.low)} to {_percent(change.high)}"


def _percent(ratio: float) -> str:
    """A ratio as a change: `+12.3 %`; beyond tenfold as a factor: `×12`."""
    return f"×{ratio:.3g}" if ratio >= 10 else f"{(ratio - 1) * 100:+.1f} %"


def _as_json(pair: _Pair) -> dict[str, object]:
    return {
        "other": str(pair.other.path),
        "ignored": [asdict(each) for each in pair.ignored],
        "told": [asdict(each) for each in pair.told],
        "rows": [
            {**asdict(row), "distinguishable": row.change.distinguishable} for row in pair.rows
        ],
    }


COMMAND = compare
