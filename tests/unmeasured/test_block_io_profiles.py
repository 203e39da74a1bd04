"""Every I/O profile that is shipped, by the real fio on a directory and on an emulated drive.

A study runs one of each kind on a directory; all of them take long. That fio understands every
pattern is shown by tests/real/fio/test_fio.py.
"""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, takewhile
from pathlib import Path

import pytest

from stithy.analysis.evidence import Window
from stithy.drives.control import DriveSpec
from stithy.drives.measure.measuring import raise_drive
from stithy.drives.profiles import read_profile_text
from stithy.fio import library
from stithy.fio.load import FioLoad, FioTarget, split_load
from stithy.fio.measure import FioMachine, lay_out, measure, prepare_fio
from stithy.fio.profile import IoProfile, Pattern
from stithy.fio.program import find
from stithy.hosts.runner import LocalRunner
from stithy.metrics import ALL, PERCENTILES, count_values_needed
from stithy.report.context import make_context
from stithy.results.files import read_run
from stithy.scenarios.block_io.outcome import FioOutcome
from support.running import Stithy

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio was not found")

MIB = 2**20
SIZE_BYTES = 32 * MIB
DRIVE = "gp3"
"""3,000 requests a second, which every machine can serve."""

AT_ONCE = 4
MOMENTS = (0.3, 1.0, 3.0)
"""Seconds. Of a pattern with 3 % writes a moment may have none where other tests take the CPUs."""


Asked = tuple[IoProfile, Pattern]


def every_pattern() -> Iterator[Asked]:
    """All that are shipped."""
    for profile in map(library.load_shipped, library.list_names()):
        yield from ((profile, pattern) for pattern in profile.patterns)


def one_of_each_kind() -> Iterator[Asked]:
    """The first of those that have the same of what sets patterns apart, whatever their numbers."""
    found: dict[object, Asked] = {}
    for profile, pattern in every_pattern():
        streams = pattern.streams
        kind = (
            len(streams) > 1, pattern.is_weighted, profile.workers > 1,
            frozenset((stream.sync, stream.submission) for stream in streams),
            any(each.hot_spots for each in streams), any(each.burst for each in streams),
            any(len(each.read_sizes) > 1 for each in streams),
        )  # fmt: skip
        found.setdefault(kind, (profile, pattern))
    yield from found.values()


def figures_of(pattern: Pattern) -> set[tuple[str, str]]:
    """The metrics that a report has of a pattern, and what they are of."""
    moved = {ALL, *chain.from_iterable(each.directions for each in pattern.streams)}
    flushed = {"flush"} if any(stream.sync == "fdatasync" for stream in pattern.streams) else set()
    latencies = ("fio.mean_s", *(f"fio.{name}" for name in PERCENTILES))
    named = {(name, of) for name in ("fio.iops", *latencies) for of in moved | flushed}
    return named | {("fio.bytes_per_s", of) for of in moved}


@pytest.fixture(params=["directory", pytest.param("drive", marks=pytest.mark.needs_drive)])
def target(
    request: pytest.FixtureRequest, own_state: Path, disk_place: Path
) -> Iterator[FioTarget]:
    """A file in a directory, or an emulated drive; all of it was written."""
    machine = FioMachine(LocalRunner(), find(LocalRunner()))
    if request.param == "directory":
        file = FioTarget(str(disk_place / "target"), SIZE_BYTES)
        lay_out(machine, file, disk_place / "laid-out", seed=1)
        yield file
        return
    spec = DriveSpec("of-profiles", read_profile_text(DRIVE), SIZE_BYTES)
    with raise_drive(spec, machine.runner) as program:
        device = FioTarget(program.devices[spec.name], SIZE_BYTES)
        program.control.set(spec.name, paced=False)
        lay_out(machine, device, disk_place / "laid-out", seed=1)
        program.control.set(spec.name, paced=True)
        yield device


@pytest.mark.long
def test_every_pattern_has_all_figures(target: FioTarget, disk_place: Path) -> None:
    """Some at a time, for a moment, or for a longer one that has requests of each direction.

    Values without a number are those of whole seconds alone. Long: a study runs one of each kind
    each time.
    """
    machine = prepare_fio(LocalRunner(), [target], disk_place / "tried")

    def lacking(asked: Asked, duration_s: float) -> set[tuple[str, str]]:
        profile, pattern = asked
        load = FioLoad(duration_s, 0.0, 7)
        workers = split_load([target], load, profile.workers)
        scratch = disk_place / f"{profile.label(pattern)}-{duration_s}"
        found = measure(machine, pattern, workers, scratch)
        outcome = FioOutcome(found, pattern, len(workers), load.duration_s)
        values = {(each.metric, each.of) for each in outcome.values() if each.value is not None}
        return figures_of(pattern) - values

    def missing(asked: Asked) -> str:
        found = list(takewhile(bool, (lacking(asked, each) for each in MOMENTS)))
        label = asked[0].label(asked[1])
        return f"{label} lacks {sorted(found[-1])}" if len(found) == len(MOMENTS) else ""

    with ThreadPoolExecutor(AT_ONCE) as pool:
        assert [each for each in pool.map(missing, every_pattern()) if each] == []


STUDY = """study: Does every profile run?
candidates: {{{candidates}}}
scenario:
  block-io: {{size: 32 MiB, ramp_up: 0 s, duration: 1 s, repeat: 1, profiles: [{profiles}]}}
"""


def studied(
    stithy: Stithy, place: Path, asked: Sequence[Asked], storage: Mapping[str, str]
) -> None:
    """Run a study of these patterns on all storage, and fail where its report lacks a figure."""
    patterns = {profile.label(each): each for profile, each in asked}
    study, out = place / "s.yaml", place / "out"
    candidates = ", ".join(f"{name}: {keys}" for name, keys in storage.items())
    study.write_text(STUDY.format(candidates=candidates, profiles=", ".join(patterns)))
    stithy.run_well("run", study, "--out", out)
    windows = make_context(read_run(out)).evidence.windows
    assert {(each.candidate, each.point.values["profile"]) for each in windows} == {
        (name, label) for name in storage for label in patterns
    }
    for window in windows:
        known = {key for key, found in window.values.items() if found["value"] is not None}
        assert figures_of(patterns[str(window.point.values["profile"])]) <= known, window.id
    reported = of_report(stithy, out)
    for each in (each for each in windows if each.valid):
        label = str(each.point.values["profile"])
        wanted = {key for key in figures_of(patterns[label]) if is_enough(each, *key)}
        assert wanted <= reported[each.candidate, label], (each.id, wanted)
    stithy.assert_nothing_left(out)


def is_enough(window: Window, name: str, of: str) -> bool:
    """Whether there were as many requests as a percentile needs to be reported."""
    percent = PERCENTILES.get(name.removeprefix("fio."), (None,))[0]
    return percent is None or window.values[name, of]["count"] >= count_values_needed(percent)


def of_report(stithy: Stithy, out: Path) -> Mapping[tuple[str, str], set[tuple[str, str]]]:
    """The metrics with a number in the report's table, by candidate and pattern."""
    stithy.run_well("report", out, "--format", "json")
    section = json.loads((out / "report.json").read_text())["sections"]["measured"]
    assert {"fio-iops", "fio-mean-s", "fio-p99"} <= section["figures"].keys()
    found: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for row in section["tables"]["measured"]:
        of = {(name, row["of"]) for name, value in row.items() if value is not None}
        found.setdefault((row["candidate"], row["profile"]), set()).update(of)
    return found


def test_each_kind_of_pattern_is_reported(stithy: Stithy, place: Path, disk_place: Path) -> None:
    """On a directory."""
    storage = {"directory": f'{{path: "{disk_place}/a"}}'}
    studied(stithy, place, list(one_of_each_kind()), storage)


@pytest.mark.long
@pytest.mark.needs_drive
@pytest.mark.parametrize("name", library.list_names())
def test_each_profile_is_reported(stithy: Stithy, place: Path, disk_place: Path, name: str) -> None:
    """All of its patterns. Long: two windows for each."""
    profile = library.load_shipped(name)
    asked = [(profile, pattern) for pattern in profile.patterns]
    storage = {"directory": f'{{path: "{disk_place}/a"}}', "drive": f"{{drive: {DRIVE}}}"}
    studied(stithy, place, asked, storage)
