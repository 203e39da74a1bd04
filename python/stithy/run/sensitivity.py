"""The primary question once more with varied drives: what if the assumed numbers were wrong?

Each corner is a run of its own below the main run's results, of a study that was made from the main
run's: the same question, with every assumed number of the drive profiles against one candidate.
That it is a run like any other makes it resumable, removable and judged by the same rules.
docs/adr/0008-sensitivity-as-runs-of-their-own.md
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stithy.drives.varied import vary
from stithy.errors import InvalidMeasurement, failures_of_the_machine
from stithy.plan.expand import expand
from stithy.plan.sensitivity import SHARE, narrowed
from stithy.results.files import read_manifest
from stithy.results.layout import RunDirectory, write_durably
from stithy.run.context import Context
from stithy.run.deciding import Deciders
from stithy.run.events import Observer
from stithy.run.journal import read_journal
from stithy.run.preparation.equip import Tools
from stithy.run.resuming.resume import resumed_run
from stithy.run.session import Stop
from stithy.run.start import start_run
from stithy.study.load import read_study


def is_over(directory: RunDirectory) -> bool:
    """Whether a run has ended well."""
    manifest = read_manifest(directory.manifest)
    return manifest is not None and manifest.end == "finished"


def prepare_corner(main: RunDirectory, against: str, other: str) -> bool:
    """Write the study with its drives' assumed numbers worse for `against`, better for `other`.

    False where neither has any, and nothing was written. Raises InvalidMeasurement where the
    manifest of the main run, which has the profiles, cannot be read.
    """
    manifest = read_manifest(main.manifest)
    if manifest is None:
        raise InvalidMeasurement(
            "its manifest, which has the drive profiles, cannot be read",
            where=str(main.manifest),
            remedy="run the study again",
        )
    profiles = {
        (candidate.name, drive.role): vary(drive.profile, SHARE, worse=candidate.name == against)
        for candidate in manifest.candidates
        if candidate.name in (against, other)
        for drive in candidate.drives
    }
    if not any(varied.changes for varied in profiles.values()):
        return False
    folder = main.corner(against).resolve()
    with failures_of_the_machine(str(folder)):
        folder.mkdir(parents=True, exist_ok=True)
        for (name, role), varied in profiles.items():
            write_durably(folder / f"{name}.{role}.toml", varied.text.encode())
        write_durably(folder / "study.yaml", _study(main, against, other, folder))
    return True


def _study(main: RunDirectory, against: str, other: str, folder: Path) -> bytes:
    """The study with its profiles in the folder, its candidates in the order of the main one."""
    file = read_study(main.study)
    asked = expand(file.study).question
    assert asked is not None  # without one the run would not have begun
    first, second = (name for name in file.study.candidates if name in (against, other))

    def profile(candidate: str, role: str, _: str) -> str:
        return str(folder / f"{candidate}.{role}.toml")

    return narrowed(file.content, (first, second), asked, profile)


@contextmanager
def corner_begun(
    main: RunDirectory,
    against: str,
    stop: Stop,
    tell: Observer,
    *,
    deciders: Deciders,
    tools: Tools | None = None,
    force: bool = False,
) -> Iterator[Context]:
    """The run of a corner that was prepared, begun or gone on with."""
    folder = main.corner(against)
    out = RunDirectory(folder / "run")
    if any(entry.event == "run-started" for entry in read_journal(out.journal)):
        going_on = resumed_run(out.root, stop, tell, force=force, tools=tools, deciders=deciders)
        with going_on as found:
            yield found
        return
    with failures_of_the_machine(str(out.root)):
        # A run that was killed before its journal tells of it has made nothing else.
        shutil.rmtree(out.root, ignore_errors=True)
    yield start_run(folder / "study.yaml", out.root, stop, tell, tools)
