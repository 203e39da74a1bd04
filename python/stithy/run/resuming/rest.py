"""What is left of a run that was cut off, and what its results and its manifest still know.

A window counts as measured when its step was finished and its row can be read; the row is what a
window writes last. A final check looks at what a candidate's last window left, so it can only be
done where that is still there, or a window of that candidate is still to come.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stithy.database.instance import ServerFacts
from stithy.plan.steps import Step, StepKind
from stithy.results import tables
from stithy.results.layout import RunDirectory
from stithy.results.manifest import CalibrationFacts, Manifest
from stithy.results.read import read_rows
from stithy.run.context import State
from stithy.run.resuming.past import Past

GONE = "the database that its last window left was gone with the session that was cut off"

AROUND: frozenset[StepKind] = frozenset({"provision", "tear-down"})
LOADING: frozenset[StepKind] = frozenset({"prepare", "check"})
"""Steps that come before the master copy and leave nothing else."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Rest:
    """What a session is to do: `windows` are left to be measured, `kept` are measured.

    `cut_off` are those left of which something was written; `impossible` are final checks that
    cannot be done any more, with the reason. `state` is what the session begins with.
    """

    state: State
    windows: int
    kept: int
    cut_off: tuple[str, ...]
    impossible: Mapping[str, str]


def rest_of(
    steps: Sequence[Step],
    directory: RunDirectory,
    past: Past,
    manifest: Manifest | None,
    *,
    has_master: bool = False,
    databases: frozenset[str] = frozenset(),
) -> Rest:
    """The rest of a run with these steps, from its journal's past and its results.

    `has_master`: the master copy is there, and need not be made again. `databases`: the candidates
    of which what their last window left is there.
    """
    windows = [step for step in steps if step.kind == "window"]
    measured = _measured(windows, directory, past)
    left = [step for step in windows if step.id not in {*measured, *past.skipped}]
    calibration = _calibration(past, manifest)
    known = {*past.finished, *past.skipped}
    ends = [step for step in steps if step.at_end and step.id not in known]
    checks = [step for step in ends if step.candidate in databases]
    done = _done(steps, left, checks) | _settled(steps, calibrated=calibration is not None,
                                                 has_master=has_master)  # fmt: skip
    impossible = {step.id: GONE for step in ends if step.id in done}
    state = _state(directory, manifest, measured, reloaded=bool(left) and not has_master)
    state.calibration = calibration
    state.skipped = {s.id: past.skipped[s.id] for s in windows if s.id in past.skipped}
    state.done = done
    written = tuple(step.id for step in left if directory.window(step.id).root.exists())
    return Rest(state, len(left), len(measured), written, impossible)


def over(steps: Sequence[Step], directory: RunDirectory, past: Past) -> frozenset[str]:
    """The ids of those windows among the steps that are measured or were left out."""
    windows = [step for step in steps if step.kind == "window"]
    return frozenset({*_measured(windows, directory, past), *past.skipped})


def _measured(windows: Sequence[Step], directory: RunDirectory, past: Past) -> dict[str, Row]:
    """The rows of the windows that are measured, by id."""
    found = {}
    for step in windows:
        if step.id in past.finished:
            rows = read_rows(directory.window(step.id).table("window"), tables.WINDOW)
            found.update({row["window_id"]: row for row in rows})
    return found


def _done(steps: Sequence[Step], left: Sequence[Step], checks: Sequence[Step]) -> frozenset[str]:
    """The steps that are not to be done again; where no window is left all but final checks."""
    waiting = {step.id for step in left}
    candidates = {step.candidate for step in left}
    ends = {step.id for step in steps if step.at_end and step.candidate in candidates}
    ends |= {step.id for step in checks}
    around = {step.candidate for step in checks}
    return frozenset(
        step.id
        for step in steps
        if (step.window is not None and step.window.id not in waiting)
        or (step.at_end and step.id not in ends)
        or not (left or step.at_end or (step.kind in AROUND and step.candidate in around))
    )


def _settled(steps: Sequence[Step], *, calibrated: bool, has_master: bool) -> frozenset[str]:
    """The steps whose outcome is known or there, whatever is left to do."""
    loading = {step.id for step in steps if step.kind in LOADING and not step.at_end}
    calibration = {step.id for step in steps if step.kind == "calibrate"}
    return frozenset((loading if has_master else set()) | (calibration if calibrated else set()))


def _calibration(past: Past, manifest: Manifest | None) -> CalibrationFacts | None:
    """What the driver was shown to keep up with, where an earlier session found that out."""
    known = manifest.calibration if manifest else None
    return known if known and known.connections and "calibrate" in past.finished else None


def _state(
    directory: RunDirectory,
    manifest: Manifest | None,
    measured: Mapping[str, Row],
    *,
    reloaded: bool,
) -> State:
    """What earlier sessions found out; of what is done again, only what is found anew counts."""
    state = State(
        canaries=_rows(directory.table("canary"), tables.CANARY, "window_id", {*measured}),
        restores=_rows(directory.table("restores"), tables.RESTORES, "window_id", {*measured}),
        limits={
            row["candidate"]: (row["memory_limit_enforced"], row["memory_limit_note"])
            for row in measured.values()
        },
    )
    moments = {"end"} if reloaded else {"load", "end"}
    state.conditions = _rows(directory.table("conditions"), tables.CONDITIONS, "moment", moments)
    if manifest is not None:
        state.hammer_version = manifest.hammer_version
        state.server_facts = _server_facts(manifest)
    return state


def _server_facts(manifest: Manifest) -> ServerFacts | None:
    database = manifest.database
    if database.effective_settings is None or database.server_version is None:
        return None
    return ServerFacts(database.server_version, dict(database.effective_settings))


def _rows(path: Path, table: tables.Table, column: str, wanted: set[str]) -> list[Row]:
    """The rows of a table that have one of the wanted values in that column."""
    return [row for row in read_rows(path, table) if row[column] in wanted]
