"""What remains of a run that was cut off, and what of it is still there to be used.

A window counts as measured when its step was finished and its row can be read; the row is what a
window writes last. A final check looks at what a candidate's last window left, so it can only be
done where that is still there, or a window of that candidate is still to come.

Two things on storage are worth using again: master copies, which spare loading, and the database
that a candidate's last window left. Both are used only where nothing is to be guessed: the journal
says in which state they were left, the place still carries the run's mark, and the master copy is
byte for byte what it was when it was made. No server ever runs on a master copy, and one that had
would not be that.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from stithy.activity import get_table
from stithy.engines.instance import ServerFacts
from stithy.errors import StithyError, give_reason
from stithy.plan.steps import Dataset, Plan, Step, make_step_id
from stithy.power import METERS
from stithy.registry import plugins
from stithy.results import tables
from stithy.results.files import read_rows
from stithy.results.layout import RunDirectory
from stithy.results.manifest import CalibrationFacts, Manifest
from stithy.results.tables import Row
from stithy.run.activity import StepKind
from stithy.run.books import MARKING, Resource
from stithy.run.context import Context, Discovered, State
from stithy.run.history import History, read_history
from stithy.run.room import RESERVE_BYTES
from stithy.run.volumes import KEEPER, name_master
from stithy.storage.consent import DATA
from stithy.storage.copy import Contents, hash_tree
from stithy.storage.provider import Storage

GONE = "the interrupted session left no database of its last window"


@dataclass(frozen=True)
class Remaining:
    """What a session is to do: `windows` are left to be measured, `kept` are measured.

    `cut_off` are those left of which something was written; `impossible` are final checks that
    cannot be done any more, with the reason. `state` is what the session begins with.
    """

    state: State
    windows: int
    kept: int
    cut_off: tuple[str, ...]
    impossible: Mapping[str, str]


def find_remaining(
    steps: Sequence[Step],
    directory: RunDirectory,
    history: History,
    manifest: Manifest | None,
    *,
    masters: frozenset[str] = frozenset(),
    databases: frozenset[str] = frozenset(),
) -> Remaining:
    """The rest of a run with these steps, from its journal's past and its results.

    `masters`: the datasets whose master copy is there, and need not be made again. `databases`: the
    candidates of which what their last window left is there.
    """
    windows = [step for step in steps if step.kind == "window"]
    measured = _read_measured(windows, directory, history)
    left = [step for step in windows if step.id not in {*measured, *history.skipped}]
    calibrations = dict(_list_calibrations(manifest, history)) if manifest else {}
    known = {*history.finished, *history.skipped}
    ends = [step for step in steps if step.at_end and step.id not in known]
    checks = [step for step in ends if step.candidate in databases]
    settled = {
        step.id
        for step in steps
        if step.id in calibrations or (_is_loading(step) and step.dataset in masters)
    }
    done = _list_done(steps, left, checks) | settled
    impossible = {step.id: GONE for step in ends if step.id in done}
    again = {step.id for step in steps if _is_loading(step)} - done
    reloaded = bool(left) and bool(again & history.finished)
    state = _state(directory, manifest, measured, reloaded=reloaded)
    state.known.calibrations = dict(calibrations.values())
    state.progress.skipped = {
        s.id: history.skipped[s.id] for s in windows if s.id in history.skipped
    }
    state.progress.done = done
    written = tuple(step.id for step in left if directory.window(step.id).root.exists())
    return Remaining(state, len(left), len(measured), written, impossible)


def list_over(steps: Sequence[Step], directory: RunDirectory, history: History) -> frozenset[str]:
    """The ids of those windows among the steps that are measured or were left out."""
    windows = [step for step in steps if step.kind == "window"]
    return frozenset({*_read_measured(windows, directory, history), *history.skipped})


def _read_measured(
    windows: Sequence[Step], directory: RunDirectory, history: History
) -> dict[str, Row]:
    found = {}
    for step in windows:
        if step.id in history.finished:
            rows = read_rows(directory.window(step.id).table("window"), tables.WINDOW)
            found.update({row["window_id"]: row for row in rows})
    return found


def _list_done(
    steps: Sequence[Step], left: Sequence[Step], checks: Sequence[Step]
) -> frozenset[str]:
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
        or not (left or step.at_end or (_get_phase(step) == "around" and step.candidate in around))
    )


def _get_phase(step: Step) -> str:
    return plugins(StepKind)[step.kind].phase


def _is_loading(step: Step) -> bool:
    return _get_phase(step) == "loading" and not step.at_end


def _list_calibrations(
    manifest: Manifest, history: History
) -> Iterator[tuple[str, tuple[str, CalibrationFacts]]]:
    """By the id of its step each calibration that is done: its engine, and what it found."""
    own = manifest.database.engine if manifest.given_database else None
    for engine, of in manifest.by_engine.items():
        step_id = make_step_id("calibrate", None if engine == own else engine)
        if step_id in history.finished and of.calibration and of.calibration.connections:
            yield step_id, (engine, of.calibration)


def _state(
    directory: RunDirectory,
    manifest: Manifest | None,
    measured: Mapping[str, Row],
    *,
    reloaded: bool,
) -> State:
    """What earlier sessions found out; of what is done again, only what is found anew counts."""
    moments = {"end"} if reloaded else {"load", "end"}
    wanted = (
        (tables.RESTORES, "window_id", {*measured}),
        (tables.BASELINE, "window_id", {*measured}),
        (tables.CONDITIONS, "moment", moments),
        (tables.SPACE, "moment", set() if reloaded else {"loaded"}),
        # Earlier windows keep the idle power that they were held against.
        (METERS, "counted", {True, False} if measured else set()),
    )
    kept = {
        table.name: [
            row for row in read_rows(directory.table(table.name), table) if row[column] in values
        ]
        for table, column, values in wanted
    }
    limits = {
        row["candidate"]: (load["memory_limit_enforced"], load["memory_limit_note"])
        for name, row in measured.items()
        for load in read_rows(directory.window(name).table("load"), get_table("load"))
    }
    state = State(rows=kept, known=Discovered(limits=limits))
    if manifest is not None:
        state.known.hammer_version = manifest.hammer_version
        state.known.server_facts = {
            engine: dict(_list_server_facts(of)) for engine, of in manifest.by_engine.items()
        }
    return state


def _list_server_facts(manifest: Manifest) -> Iterator[tuple[str, ServerFacts]]:
    for candidate in manifest.candidates:
        version = manifest.server_version_of(candidate)
        settings = manifest.effective_settings_of(candidate)
        if settings is not None and version is not None:
            yield candidate.name, ServerFacts(version, settings)


@dataclass(frozen=True)
class Reusable:
    """The directories that are left alone, by candidate.

    `masters`: by dataset where its master copy lies; `lost`: by dataset why there is none.
    `databases` are the candidates whose last window's database is there.
    """

    trees: Mapping[str, frozenset[str]] = field(default_factory=dict)
    masters: Mapping[str, Path] = field(default_factory=dict)
    lost: Mapping[str, str] = field(default_factory=dict)

    @property
    def databases(self) -> frozenset[str]:
        """The candidates whose final check can be done."""
        return frozenset(name for name, trees in self.trees.items() if DATA in trees)

    def keeps(self, resource: Resource) -> bool:
        """Whether this thing of an earlier session is left as it is."""
        trees = self.trees.get(resource.facts.get("candidate", ""), frozenset())
        if resource.kind == "tree":
            return resource.facts["name"] in trees
        return bool(trees) and resource.kind in MARKING

    def without_master(self, dataset: str, because: str) -> "Reusable":
        """The same where the master copy of a dataset is of no use."""
        gone = {self.masters[dataset].name} if dataset in self.masters else set()
        trees = {name: tree - gone for name, tree in self.trees.items()}
        return replace(
            self,
            trees={name: tree for name, tree in trees.items() if tree},
            masters={name: master for name, master in self.masters.items() if name != dataset},
            lost={**self.lost, dataset: because},
        )


def find_reusable(
    history: History,
    plan: Plan,
    providers: Mapping[str, Storage],
    keeper: Storage,
    *,
    unusable: str | None,
) -> Reusable:
    """What is there; the contents of master copies are yet to be proven, with `list_proven`.

    `unusable` is why nothing at all may be used, None where it may. Changes nothing.
    """
    if unusable is not None:
        return Reusable(lost={dataset.name: unusable for dataset in plan.datasets})
    places = {
        name: storage.find_surviving_volume(history.run_id) for name, storage in providers.items()
    }
    kept = keeper.find_surviving_volume(history.run_id)
    found = {dataset.name: _find_master(dataset, history, kept) for dataset in plan.datasets}
    masters = {name: contents for name, contents in found.items() if isinstance(contents, Path)}
    lost = {name: contents for name, contents in found.items() if isinstance(contents, str)}
    trees = {
        name: frozenset({DATA})
        for name, place in places.items()
        if place is not None and _has_database(name, place, history, plan)
    }
    if masters:
        trees[KEEPER] = frozenset(master.name for master in masters.values())
    return Reusable(trees, masters, lost)


def is_worth_keeping(context: Context) -> Reusable:
    """What the next session of a run that ends now can use of what there is, and nothing else.

    Master copies, while windows are left; of candidates without any what their last one left.
    Nothing on a file system that is nearly full, or where the journal cannot be read.
    """
    with suppress(OSError, StithyError):
        volumes, history = context.volumes, read_history(context.session.directory)
        known = {*history.finished, *history.skipped}
        left = [step for step in context.steps if step.kind == "window" and step.id not in known]
        checks = {step.candidate for step in context.steps if step.at_end and step.id not in known}
        found = find_reusable(
            history, context.plan, volumes.providers, volumes.keeper, unusable=None
        )
        kept = checks - {step.candidate for step in left} | ({KEEPER} if left else set())
        return replace(found, trees={
            owner: names for owner, names in found.trees.items()
            if owner in kept and shutil.disk_usage(volumes.place_of(owner)).free > RESERVE_BYTES
        })  # fmt: skip
    return Reusable()


def _has_database(name: str, place: Path, history: History, plan: Plan) -> bool:
    """Whether a whole window, or the final check of it, was the last that touched the database."""
    if not (place / DATA).is_dir():
        return False
    touched = history.touched.get(name)
    if touched is None:
        return False
    ends = {step.id for step in plan.steps if step.at_end}
    return touched.id in ends or (touched.kind == "window" and touched.id in history.finished)


def _find_master(dataset: Dataset, history: History, place: Path | None) -> Path | str:
    if dataset.name not in history.masters:
        return "its master copy had not been finished"
    if place is None:
        return "its master copy is gone: the directory that it lay in was removed"
    master = place / name_master(dataset)
    if master.is_symlink() or not master.is_dir():
        return f"its master copy {master} is gone"
    return master


def list_proven(master: Path, sha256: str) -> Contents | str:
    """The contents of a master copy if they are what they were, or why it cannot be used."""
    try:
        contents = hash_tree(master)
    except (OSError, StithyError) as error:
        return f"its master copy {master} cannot be read: {give_reason(error)}"
    return contents if contents.sha256 == sha256 else f"its master copy {master} has changed"
