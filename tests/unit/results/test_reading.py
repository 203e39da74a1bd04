"""A run directory is read back, as much as there is of it: damaged files are named and left out."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from stithy.errors import UserError
from stithy.results import pieces
from stithy.results.files import CHECKSUMS, write_with_checksum
from stithy.results.layout import RunDirectory
from stithy.results.manifest import SCHEMA_VERSION
from stithy.results.pieces import (
    VERSION_KEY,
    Damaged,
    Problem,
    Samples,
    content_of,
    manifest_of,
    read_tables,
    table_of,
    text_of,
)
from stithy.results.read import read_run
from stithy.results.tables import SECONDS, SERIES, SURROUNDINGS, WINDOW, empty_frame
from stithy.results.write import write_frame
from support.sample_run import Shape, build_run, window_id

NAME = window_id("disk", 1, 0)
Change = Callable[[pl.DataFrame], pl.DataFrame]


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A short run of four windows."""
    return build_run(tmp_path / "run", Shape(users=(1, 4), ramp_up_s=1, duration_s=3))


@pytest.fixture
def paths(run: RunDirectory) -> list[Path]:
    """The rows of its windows."""
    return sorted(each / "window.parquet" for each in run.windows.iterdir())


def test_a_whole_run_is_read_without_a_problem(run: RunDirectory) -> None:
    """Every table holds the rows of all windows; conditions those of load and end too."""
    found = read_run(run.root)
    assert found.problems == ()
    assert found.manifest is not None
    assert found.manifest.end == "finished"
    assert found.study is not None
    assert found.window["started_at_s"].is_sorted()
    assert set(found.conditions["moment"]) == {"load", "window", "end"}
    written = pl.read_parquet(sorted(run.windows.glob("*/seconds.parquet")))
    assert found.seconds.equals(written.filter(transaction="all"))
    assert found.seconds_by_type.sort(pl.all()).equals(written.sort(pl.all()))


def test_a_run_that_has_only_begun_gives_empty_tables(tmp_path: Path) -> None:
    """Each has its declared columns."""
    left_out = frozenset({window_id("disk", 1, 0), window_id("memory", 1, 0)})
    build_run(tmp_path, Shape(users=(1,), left_out=left_out))
    found = read_run(tmp_path)
    assert found.window.schema == empty_frame(WINDOW).schema
    assert found.series.schema == empty_frame(SERIES).schema


@pytest.mark.parametrize("make", [False, True])
def test_what_is_no_run_directory_is_refused(tmp_path: Path, make: bool) -> None:
    """A missing directory, or one with other things in it."""
    root = tmp_path / "elsewhere"
    if make:
        root.mkdir()
    with pytest.raises(UserError, match="name a directory that `stithy run` wrote"):
        read_run(root)


def test_single_windows_are_read_without_the_others(run: RunDirectory) -> None:
    """Those that are named; one that is not there is nobody's problem."""
    found = read_run(run.root, [NAME, "w-none-u1-b0"])
    assert found.problems == ()
    assert found.window["window_id"].to_list() == [NAME]
    assert set(found.seconds["window_id"]) == {NAME}


def test_missing_and_damaged_pieces_are_listed_and_the_rest_is_read(run: RunDirectory) -> None:
    """A killed run has half of everything; a study that was not run is no study of it."""
    window = run.window(NAME)
    window.table("seconds").write_bytes(b"")
    window.table("conditions").write_bytes(b"PAR1 not really")
    run.window(window_id("memory", 1, 0)).table("window").unlink()
    run.table("canary").unlink()
    run.study.write_text(run.study.read_text().replace("seed: 1", "seed: 2"))
    found = read_run(run.root)
    assert [(str(each.path.relative_to(run.root)), each.text) for each in found.problems] == [
        ("study.yaml", "not the study that was run (SHA-256)"),
        ("tables/canary.parquet", "missing"),
        (f"windows/{NAME}/conditions.parquet", pieces.CHANGED),
        (f"windows/{NAME}/seconds.parquet", pieces.CHANGED),
        (f"windows/{window_id('memory', 1, 0)}/window.parquet", "missing"),
    ]
    assert found.study is None
    assert (found.window.height, found.seconds["window_id"].n_unique()) == (3, 3)
    assert found.damaged == {NAME: ["conditions.parquet"]}
    assert found.unread == [window_id("memory", 1, 0)]


def _with(column: str, value: object, kind: pl.DataType | None = None) -> Change:
    """A change that puts the value into every row of a column."""
    return lambda frame: frame.with_columns(pl.lit(value, kind).alias(column))


NO_NUMBER = "not a number, or infinite: tpm"

CHANGES: list[tuple[str, Change]] = [
    ("it has no column nopm, tpm", lambda frame: frame.drop("nopm", "tpm")),
    ("of another type than declared: users", _with("users", "1")),
    ("of another type than declared: nopm", _with("nopm", 1)),
    ("null where none may be: users", _with("users", None, pl.Int64())),
    (NO_NUMBER, _with("tpm", float("nan"))),
    (NO_NUMBER, _with("tpm", float("-inf"))),
    ("a level below 1: users", _with("users", 0, pl.Int64())),
    ("2 rows instead of one", lambda frame: pl.concat([frame, frame])),
    ("0 rows instead of one", lambda frame: frame.clear()),
    (f"rows of another window than {NAME}", _with("window_id", "w-other-u1-b0")),
]


def test_a_table_that_is_not_as_declared_is_damaged(run: RunDirectory) -> None:
    """No value is changed until it fits; a further column is somebody's own note."""
    path = run.window(NAME).table("window")
    frame = pl.read_parquet(path)
    for problem, change in CHANGES:
        write_frame(path, WINDOW, change(frame))
        with pytest.raises(Damaged) as caught:
            table_of(path, WINDOW)
        assert str(caught.value) == problem
    write_frame(path, WINDOW, frame.with_columns(pl.lit("mine").alias("note")))
    assert table_of(path, WINDOW).equals(frame)


def test_every_byte_of_a_table_counts(run: RunDirectory) -> None:
    """Each one changed by itself is found; without a checksum nobody can know."""
    path = run.window(NAME).table("surroundings")
    content = path.read_bytes()
    for place in range(0, len(content), 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :])
        with pytest.raises(Damaged, match=CHECKSUMS):
            table_of(path, SURROUNDINGS)
    path.write_bytes(content)
    (path.parent / CHECKSUMS).unlink()
    with pytest.raises(Damaged, match="no checksum"):
        table_of(path, SURROUNDINGS)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" * 100, b"\x00" * 5000])
def test_what_is_no_parquet_is_damaged(run: RunDirectory, content: bytes) -> None:
    """Whatever the reader makes of it."""
    path = run.window(NAME).table("seconds")
    write_with_checksum(path, content)
    with pytest.raises(Damaged, match="not Parquet"):
        table_of(path, SECONDS)


@pytest.mark.parametrize("checksum", [True, False])
@pytest.mark.parametrize("version", [SCHEMA_VERSION - 1, SCHEMA_VERSION + 1])
def test_results_of_another_version_are_refused(
    run: RunDirectory, version: int, checksum: bool
) -> None:
    """With both versions and the remedy, also where one file alone is of another."""
    path = run.window(NAME).table("window")
    pl.read_parquet(path).write_parquet(path, metadata={VERSION_KEY: str(version)})
    document = json.loads(run.manifest.read_text()) | {"schema_version": version, "more": 1}
    run.manifest.write_text(json.dumps(document))
    for each in (path, run.manifest):
        (each.parent / CHECKSUMS).unlink()
        if checksum:
            write_with_checksum(each, each.read_bytes())
        with pytest.raises(UserError, match=f"schema {version}, this Stithy reads") as caught:
            manifest_of(each) if each == run.manifest else table_of(each, WINDOW)
        assert caught.value.where == str(each)
        assert "read them with the Stithy that wrote them" in str(caught.value)


@pytest.mark.parametrize("version", [None, True, 1.5, "x", "²", -1, [], {}])
def test_a_manifest_without_a_version_is_damaged(run: RunDirectory, version: object) -> None:
    """Nobody ever wrote it."""
    document = json.loads(run.manifest.read_text()) | {"schema_version": version}
    write_with_checksum(run.manifest, json.dumps(document).encode())
    with pytest.raises(Damaged, match="no schema version"):
        manifest_of(run.manifest)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "3", '"x"', "[" * 100_000, "\\", "{}"])
def test_what_is_no_manifest_is_damaged(run: RunDirectory, text: str) -> None:
    """Whatever JSON it is, or none."""
    write_with_checksum(run.manifest, text.encode())
    with pytest.raises(Damaged):
        manifest_of(run.manifest)


@pytest.mark.parametrize(
    ("way", "value", "told"),
    [
        (("seed",), "x", "seed: Input should be"),
        (("plan", "question", "metric"), "nopn", "unknown metric `nopn`: did you mean `nopm`?"),
        (("plan", "limit", "percentile"), "nopn", "there is no percentile 'nopn'"),
        (("more",), 1, "more: Extra inputs"),
    ],
    ids=["kind", "question", "limit", "unknown key"],
)
def test_a_manifest_that_is_not_as_declared_names_its_key(
    run: RunDirectory, way: tuple[str, ...], value: object, told: str
) -> None:
    """What is asked about is something that is measured."""
    document = json.loads(run.manifest.read_text())
    document["plan"]["limit"] = {"percentile": "p95", "transaction": "all", "limit_s": 1.0}
    document["plan"]["question"] = {
        "users": 4, "metric": "nopm", "margin_share": 0.1, "blocks_least": 4, "blocks_most": 9
    }  # fmt: skip
    inner = document
    for key in way[:-1]:
        inner = inner[key]
    inner[way[-1]] = value
    write_with_checksum(run.manifest, json.dumps(document).encode())
    with pytest.raises(Damaged) as caught:
        manifest_of(run.manifest)
    assert told in str(caught.value)


def test_what_is_no_file_is_damaged_and_never_waited_for(tmp_path: Path) -> None:
    """A pipe that nobody writes to would be read for ever."""
    pipe, loop = tmp_path / "pipe", tmp_path / "loop"
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    told = []
    for path in (pipe, tmp_path, tmp_path / "nothing", loop):
        with pytest.raises(Damaged) as caught:
            content_of(path)
        told.append(str(caught.value))
    assert told[:3] == ["not a file", "not a file", "missing"]
    assert "symbolic links" in told[3]


def test_a_text_is_kept_byte_for_byte_and_in_utf_8(tmp_path: Path) -> None:
    """In another encoding it would be shown with other letters than were written."""
    path = tmp_path / "study.yaml"
    path.write_bytes(b"a\r\nb\n")
    assert text_of(path) == "a\r\nb\n"
    path.write_bytes("für".encode("latin-1"))
    with pytest.raises(Damaged, match="not UTF-8: byte 1"):
        text_of(path)


def test_many_files_are_read_in_their_order_and_some_at_a_time(
    paths: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read at once, or one by one because the last is damaged; some rows alone may be kept."""
    problems: list[Problem] = []
    whole = read_tables(WINDOW, paths, problems)
    assert whole["window_id"].to_list() == [path.parent.name for path in paths]
    monkeypatch.setattr(pieces, "FILES_TOGETHER", 3)
    paths[-1].write_bytes(b"")
    assert read_tables(WINDOW, paths, problems).equals(whole.head(3))
    assert [each.path for each in problems] == [paths[-1]]
    one = pl.col("users") == 1
    assert read_tables(WINDOW, paths, [], one).equals(whole.head(3).filter(one))


@pytest.mark.parametrize("damage", ["copied", "doubled", "changed", "a directory", "gone"])
def test_what_is_wrong_with_one_of_many_is_found(paths: list[Path], damage: str) -> None:
    """Rows of another window, two of them, or a number that was changed where it lies."""
    wrong = paths[1]
    if damage == "copied":
        write_with_checksum(wrong, paths[0].read_bytes())
    elif damage == "doubled":
        frame = pl.read_parquet(wrong)
        write_frame(wrong, WINDOW, pl.concat([frame, frame]))
    elif damage == "changed":
        wrong.write_bytes(wrong.read_bytes().replace(b"none", b"nine", 1))
    else:
        wrong.unlink()
        if damage == "a directory":
            wrong.mkdir()
            (wrong / "part.parquet").write_bytes(paths[0].read_bytes())
    problems: list[Problem] = []
    assert read_tables(WINDOW, paths, problems)["window_id"].to_list() == [
        path.parent.name for path in (paths[0], *paths[2:])
    ]
    assert [each.path for each in problems] == [wrong]


def test_samples_are_read_some_windows_at_a_time(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many: the parts are the whole, and what is damaged is named."""
    monkeypatch.setattr(pieces, "WINDOWS_TOGETHER", 3)
    names = sorted(each.name for each in run.windows.iterdir())
    read = Samples({name: run.window(name).table("series") for name in names})
    parts = list(read.parts())
    assert [part["window_id"].n_unique() for part in parts] == [3, 1]
    assert pl.concat(parts).equals(read.whole())
    found = read.of("block", ["reads_per_s"], ["w-disk-u4-b0", "w-memory-u4-b0"])
    assert set(found["window_id"]) == {"w-disk-u4-b0"}, "missing values are left out"
    assert set(found["metric"]) == {"reads_per_s"}
    assert read.of("cpu", ["idle_share"])["window_id"].n_unique() == 4
    damaged = run.window(names[0]).table("series")
    damaged.write_bytes(b"PAR1 not really")
    left = read_run(run.root)
    assert [each.path for each in left.problems] == [damaged]
    assert left.series["window_id"].n_unique() == 3
    assert Samples({}).whole().is_empty()
