"""A run directory is read back, as much as there is of it: damaged files are named and left out.

What a report tells of a damaged run is in tests/property/test_damage.py.
"""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from stithy.activities.hammer.declared import LOAD
from stithy.errors import UserError
from stithy.results import pieces
from stithy.results.files import read_run, write_frame
from stithy.results.layout import CHECKSUMS, RunDirectory, write_with_checksum
from stithy.results.manifest import SCHEMA_VERSION
from stithy.results.pieces import Damaged, ReadProblem, find_table, parse_manifest
from stithy.results.tables import WINDOW
from support.sample_run import Shape, build_run, window_id

NAME, LOST = window_id("disk", 1, 0), window_id("memory", 1, 0)
Change = Callable[[pl.DataFrame], pl.DataFrame]


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A short run of four windows."""
    return build_run(tmp_path / "run", Shape(users=(1, 4), ramp_up_s=1, duration_s=3))


def test_a_whole_run_is_read_without_a_problem(run: RunDirectory) -> None:
    """Every table holds the rows of all windows."""
    found = read_run(run.root)
    assert found.problems == ()
    assert found.manifest is not None
    assert found.study is not None
    assert found.window["started_at_s"].is_sorted()
    assert set(found.conditions["moment"]) == {"load", "window", "end"}
    written = pl.read_parquet(sorted(run.windows.glob("*/seconds.parquet")))
    assert found.seconds.equals(written.filter(transaction="all"))
    assert found.seconds_by_type.sort(pl.all()).equals(written.sort(pl.all()))


def test_missing_and_damaged_pieces_are_listed_and_the_rest_is_read(run: RunDirectory) -> None:
    """A killed run has half of everything; a study that was not run is no study of it."""
    window = run.window(NAME)
    window.table("seconds").write_bytes(b"")
    window.table("conditions").write_bytes(b"PAR1 not really")
    run.window(LOST).table("window").unlink()
    run.table("baseline").unlink()
    run.study.write_text(run.study.read_text().replace("seed: 1", "seed: 2"))
    found = read_run(run.root)
    assert [
        (str(problem.path.relative_to(run.root)), problem.text) for problem in found.problems
    ] == [
        ("study.yaml", "not the study that was run (SHA-256)"),
        ("tables/baseline.parquet", "missing"),
        (f"windows/{NAME}/conditions.parquet", pieces.CHANGED),
        (f"windows/{NAME}/seconds.parquet", pieces.CHANGED),
        (f"windows/{LOST}/window.parquet", "missing"),
    ]
    assert found.study is None
    assert (found.window.height, found.seconds["window_id"].n_unique()) == (3, 3)
    assert (found.damaged, found.unread) == ({NAME: ["conditions.parquet"]}, [LOST])


def _with(column: str, value: object, kind: pl.DataType | None = None) -> Change:
    return lambda frame: frame.with_columns(pl.lit(value, kind).alias(column))


CHANGES: tuple[tuple[str, Change], ...] = (
    ("it has no column headline_per_min, tpm", lambda frame: frame.drop("headline_per_min", "tpm")),
    ("of another type than declared: users", _with("users", "1")),
    ("of another type than declared: headline_per_min", _with("headline_per_min", 1)),
    ("null where none may be: users", _with("users", None, pl.Int64())),
    ("not a number, or infinite: tpm", _with("tpm", float("nan"))),
    ("not a number, or infinite: tpm", _with("tpm", float("-inf"))),
    ("a level below 1: users", _with("users", 0, pl.Int64())),
    (f"rows of another window than {NAME}", _with("window_id", "w-other-u1-b0")),
)

CHANGES_OF_WINDOW: tuple[tuple[str, Change], ...] = (
    ("no point of a study: 'users=0'", _with("point", "users=0")),
    ("2 rows instead of one", lambda frame: pl.concat([frame, frame])),
    ("0 rows instead of one", lambda frame: frame.clear()),
    (f"rows of another window than {NAME}", _with("window_id", "w-other-u1-b0")),
)


def test_a_table_that_is_not_as_declared_is_damaged(run: RunDirectory) -> None:
    """No value is changed until it fits; a further column is somebody's own note."""
    for table, changes in ((LOAD, CHANGES), (WINDOW, CHANGES_OF_WINDOW)):
        path = run.window(NAME).table(table.name)
        frame = pl.read_parquet(path)
        for problem, change in changes:
            write_frame(path, table, change(frame))
            with pytest.raises(Damaged) as caught:
                find_table(path, table)
            assert str(caught.value) == problem
        write_frame(path, table, _with("note", "mine")(frame))
        assert find_table(path, table).equals(frame)


@pytest.mark.parametrize("checksum", [True, False])
@pytest.mark.parametrize("version", [SCHEMA_VERSION - 1, SCHEMA_VERSION + 1])
def test_results_of_another_version_are_refused(
    run: RunDirectory, version: int, checksum: bool
) -> None:
    """With both versions and the remedy, also where one file alone is of another."""
    path = run.window(NAME).table("window")
    pl.read_parquet(path).write_parquet(path, metadata={pieces.VERSION_KEY: str(version)})
    document = json.loads(run.manifest.read_text()) | {"schema_version": version, "more": 1}
    run.manifest.write_text(json.dumps(document))
    for each in (path, run.manifest):
        (each.parent / CHECKSUMS).unlink()
        if checksum:
            write_with_checksum(each, each.read_bytes())
        with pytest.raises(UserError, match=f"schema {version}, this Stithy reads") as caught:
            parse_manifest(each) if each == run.manifest else find_table(each, WINDOW)
        assert caught.value.where == str(each)


def test_a_manifest_that_is_not_as_declared_names_its_key(run: RunDirectory) -> None:
    """Whatever JSON it is, or none."""
    document = json.loads(run.manifest.read_text())
    limit = {"percentile": "nopn", "transaction": "all", "limit_s": 1.0}
    versions: tuple[object, ...] = (None, True, 1.5, "x", "²", -1, [], {})
    wrong = (json.dumps(document | {"schema_version": version}) for version in versions)
    texts = {
        **dict.fromkeys(("", "{", "[]", "null", "3", '"x"', "[" * 100_000, "\\", "{}"), ""),
        **dict.fromkeys(wrong, "no schema version"),
        json.dumps(document | {"seed": "x"}): "seed: Input should be",
        json.dumps(document | {"more": 1}): "more: Extra inputs",
        json.dumps(document | {"plan": document["plan"] | {"limit": limit}}): "percentile 'nopn'",
    }
    for text, shown in texts.items():
        write_with_checksum(run.manifest, text.encode())
        with pytest.raises(Damaged) as caught:
            parse_manifest(run.manifest)
        assert shown in str(caught.value)


def test_results_of_a_plug_in_that_is_not_there_are_refused_and_not_called_damaged(
    run: RunDirectory,
) -> None:
    """Its metric, in the question or a threshold, its scenario, its activity in a window."""
    document = json.loads(run.manifest.read_text())
    blocks = {"blocks_least": 4, "blocks_most": 9}
    question = {"point": "users=4", "metric": "own.rate of x", "margin_share": 0.1, **blocks}
    measured = {"candidate": "disk", "metric": "own.rate", "point": "users=4"}
    threshold = {"left": measured, "relation": "<", "right": {"value": 1.0, "unit": "s"}}
    gone = {
        "unknown metric own.rate": document | {"plan": document["plan"] | {"question": question}},
        "unknown metric own.rat": document | {"thresholds": [threshold]},
        "scenario own": document | {"scenario": "own {bytes: [512]}"},
    }
    for said, each in gone.items():
        write_with_checksum(run.manifest, json.dumps(each).encode())
        with pytest.raises(UserError, match=f"a plug-in that is not there .{said}") as caught:
            read_run(run.root)
        assert caught.value.where == str(run.manifest)
        assert caught.value.remedy == "set STITHY_PLUGINS as for the run"
    write_with_checksum(run.manifest, json.dumps(document).encode())
    path = run.window(NAME).table(WINDOW.name)
    write_frame(path, WINDOW, find_table(path, WINDOW).with_columns(activity=pl.lit("hammer, own")))
    with pytest.raises(UserError, match="not there .activity own"):
        read_run(run.root)


@pytest.mark.parametrize("damage", ["copied", "doubled", "changed", "a directory", "gone"])
def test_what_is_wrong_with_one_of_many_is_found(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    """Read in their order, at once or one by one; some rows alone may be kept."""
    paths = sorted(each / "window.parquet" for each in run.windows.iterdir())
    names = [path.parent.name for path in paths]
    assert pieces.read_tables(WINDOW, paths, [])["window_id"].to_list() == names
    monkeypatch.setattr(pieces, "FILES_TOGETHER", 3)
    one = pieces.read_tables(WINDOW, paths, [], pl.col("point") == "users=1")
    assert one["window_id"].to_list() == [name for name in names if "-u1-" in name]
    wrong = paths[1]
    content, frame = wrong.read_bytes(), pl.read_parquet(wrong)
    wrong.unlink()
    if damage == "copied":
        write_with_checksum(wrong, paths[0].read_bytes())
    elif damage == "doubled":
        write_frame(wrong, WINDOW, pl.concat([frame, frame]))
    elif damage == "changed":
        wrong.write_bytes(content.replace(b"hammer", b"hammes", 1))
    elif damage == "a directory":
        wrong.mkdir()
    problems: list[ReadProblem] = []
    found = pieces.read_tables(WINDOW, paths, problems)
    assert found["window_id"].to_list() == [names[0], *names[2:]]
    assert [problem.path for problem in problems] == [wrong]


def test_samples_are_read_some_windows_at_a_time(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parts are the whole; missing values are left out, and windows that are not asked for."""
    monkeypatch.setattr(pieces, "WINDOWS_TOGETHER", 3)
    names = sorted(path.name for path in run.windows.iterdir())
    read = pieces.Samples({name: run.window(name).table("series") for name in names})
    parts = list(read.parts())
    assert [part["window_id"].n_unique() for part in parts] == [3, 1]
    assert pl.concat(parts).equals(read.whole())
    found = read.of("block", ["reads_per_s"], ["w-disk-u4-b0", "w-memory-u4-b0"])
    assert (set(found["window_id"]), set(found["metric"])) == ({"w-disk-u4-b0"}, {"reads_per_s"})
    assert read.of("cpu", ["idle_share"])["window_id"].n_unique() == 4
