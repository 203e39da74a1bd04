"""From an empty volume to what restores need: make the database, load it, verify it, keep it."""

import os
from pathlib import Path

from stithy.engines.instance import Instance
from stithy.errors import InfrastructureError, InvalidMeasurement
from stithy.plan.steps import Dataset, Step, derive_seed
from stithy.results import tables
from stithy.results.convert import condition_rows
from stithy.run.context import Context, choice_of
from stithy.run.copies import drives
from stithy.run.copies.restore import restore
from stithy.run.events import Progress
from stithy.run.volumes import KEEPER, master_name
from stithy.storage.consent import DATA
from stithy.storage.copy import Contents
from stithy.units import format_duration
from stithy.wire.hammer import Watch, text_percent
from stithy.wire.messages import AnyMessage, PrepareSummary, Started
from stithy.wire.messages import Progress as HammerProgress

LOADERS_MAX = 8

MASTER_MADE = "master-copy"
"""The event that tells the hash of a master copy, once it is whole and durable."""


def prepare(context: Context, step: Step) -> str:
    """Make the database of a dataset on the master candidate's volume and load it."""
    candidate, dataset = context.master_candidate, dataset_of(context, step)
    if (there := context.servers.by_url(candidate)) is not None:
        there.empty()
    else:
        data = context.volumes.make_tree(candidate, DATA)
        context.servers.engine.initialise(data, context.servers.scratch)
    context.volumes.held[candidate] = dataset.name
    study = context.study_of(dataset.name)
    named = dataset.name if dataset.factors.factors else None  # where there are several
    output = context.session.directory.prepare_output(named)
    log = output.with_name(f"{output.name.removesuffix('hammer.jsonl')}server.log")
    loaders = min(os.cpu_count() or 1, LOADERS_MAX, study.workload.units + 1)
    with context.servers.running(candidate, log, loading=True) as instance:
        summary = load(context, dataset, instance, output, loaders=loaders)
    rows = sum(table.rows for table in summary.tables)
    saved, repeated = text_percent(summary.sample)
    text = f"of their text zstd saves {saved:.0f}%, {repeated:.0f}% repeats"
    return f"{rows:,} rows in {format_duration(summary.duration_s)}; {text}"


def load(
    context: Context, dataset: Dataset, instance: Instance, output: Path, *, loaders: int
) -> PrepareSummary:
    """Fill an empty database by so many loaders, and leave it as a long-running one would be."""
    output.parent.mkdir(parents=True, exist_ok=True)
    summary = context.hammer(instance.url).prepare(
        choice_of(context.study_of(dataset.name)),
        seed=derive_seed(context.plan.seed, "data"),
        loaders=loaders,
        data=context.data_of(dataset.name),
        watch=_watch(context, output),
    )
    instance.finish_loading(dataset.log_bytes)
    return summary


def dataset_of(context: Context, step: Step) -> Dataset:
    """The dataset that a step loads, checks or keeps."""
    assert step.dataset is not None  # the plan gives each of these its dataset
    return context.plan.dataset(step.dataset)


def snapshot(context: Context, step: Step) -> str:
    """Keep what restores need of the loaded database, durable, with the hash of every file.

    It lies on no candidate's volume, so that all are as large and as full. The state of all
    emulated drives is kept with it, and put back with each restore. A session that goes on with the
    master copy of an earlier one keeps theirs alone.
    """
    place, dataset = context.volumes.provision_keeper(), dataset_of(context, step)
    known = context.volumes.masters.get(dataset.name)
    contents = known or _master_copy(context, place, dataset)
    drives.keep_state(context.volumes)
    return context.restore_method.describe(contents)


def _master_copy(context: Context, place: Path, dataset: Dataset) -> Contents:
    """Keep what was loaded and remove it there; written down once what is kept is whole."""
    volumes = context.volumes
    volume = volumes.of(context.master_candidate)
    master = volumes.make_in(place, KEEPER, master_name(dataset))
    contents = context.restore_method.keep(context, dataset, master)
    if volume.database is None:
        volumes.remove(volume.path, DATA)
    context.session.journal.write(MASTER_MADE, dataset=dataset.name, sha256=contents.sha256)
    volumes.masters[dataset.name] = contents
    return contents


def check(context: Context, step: Step) -> str:
    """Verify all consistency conditions, after loading or at a candidate's end."""
    candidate = step.candidate or context.master_candidate
    moment = "end" if step.at_end else "load"
    need_database(context, candidate, step)
    when = step.id.removeprefix("check-") if moment == "load" else moment
    output = context.session.directory.check_output(candidate, when)
    choice = choice_of(context.study_of(context.volumes.held[candidate]))
    with context.servers.running(candidate, output.with_suffix(".server.log")) as instance:
        checked = context.hammer(instance.url).check(
            choice,
            quick=step.quick,
            after_load=moment == "load",
            watch=_watch(context, output),
        )
    rows = condition_rows(candidate, moment, checked.conditions)
    context.add_rows(tables.CONDITIONS, rows)
    if checked.broken and moment == "load":
        raise InvalidMeasurement(
            f"conditions {', '.join(map(str, checked.broken))} do not hold after loading",
            where=f"candidate {candidate}",
            remedy=f"read {output}; loading or the device under it is at fault",
        )
    count = len(checked.conditions)
    if not checked.broken:
        return f"all {count} conditions hold"
    return f"of {count} conditions, {', '.join(map(str, checked.broken))} do not hold"


def need_database(context: Context, candidate: str, step: Step) -> None:
    """Restore the candidate's database where there is none.

    Raises InfrastructureError for a check at its end: a fresh copy says nothing of what the last
    window left.
    """
    volume = context.volumes.of(candidate)
    data = volume.path / DATA
    if data.exists() or (volume.database is not None and candidate in context.volumes.held):
        return
    if step.at_end:
        raise InfrastructureError(
            "the database that its last window left is gone",
            where=str(data),
            remedy="none; the quick checks after its windows are valid",
        )
    restore(context, candidate, dataset_of(context, step), window_id=None)


def _watch(context: Context, raw_output: Path) -> Watch:
    """A watch that hands the hammer's progress on to whoever watches the run."""

    def on_message(message: AnyMessage) -> None:
        if isinstance(message, HammerProgress):
            context.session.tell(Progress(message.stage, message.done, message.total))
        elif isinstance(message, Started):
            context.state.known.hammer_version = message.program

    return Watch(raw_output=raw_output, on_message=on_message, stop=context.session.stop.asked)
