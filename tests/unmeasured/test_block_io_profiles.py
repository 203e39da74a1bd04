"""Every I/O profile that is shipped, by the real fio on a directory and on an emulated drive.

A study runs one of each kind on a directory; all of them take long. That fio understands every
pattern is shown by tests/real/fio/test_fio.py.
"""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import pytest

from stithy.analysis.evidence import Window
from stithy.fio import library
from stithy.fio.profile import IoProfile, Pattern
from stithy.metrics import ALL, PERCENTILES, count_values_needed
from stithy.report.context import make_context
from stithy.results.files import read_run
from support.running import Stithy

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio was not found")

DRIVE = "gp3"
"""3,000 requests a second, which every machine can serve."""

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
