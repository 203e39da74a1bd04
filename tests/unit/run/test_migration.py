"""Files that are copied under a server: it works with the copy, or goes on with its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import pytest

from fakes.clock import FakeClock
from stithy.engines.served import ServerProcess
from stithy.errors import InfrastructureError
from stithy.results.layout import RunDirectory
from stithy.run.activity import Span, Times
from stithy.run.session import Stop
from stithy.run.window import list_spans
from stithy.scenarios.migration.activity import END, SUMS, MigrationActivity
from stithy.scenarios.migration.declared import DAMAGED, TABLES
from stithy.scenarios.migration.judge import find_damaged, find_differing
from stithy.scenarios.migration.way import Move, TableSums, UnfinishedError
from stithy.scenarios.migration.ways.servers import FileCopy, ReplicationWay
from stithy.secrets import Secret


class FirstServer(ServerProcess):
    """A server without a process."""

    socket, url = "socket", Secret("first")

    def __init__(self, moving: "Moving") -> None:
        """It only says how it ends, to the migration."""
        self.moving, self.sockets = moving, moving.source.path

    def stop(self, *, at_once: bool = False) -> None:
        """End after a second."""
        self.moving.said.append("killed" if at_once else "stopped")
        self.moving.clock.sleep_s(1)


class Moving:
    """Two directories, and a server that only says what became of it."""

    def __init__(self, root: Path) -> None:
        """With a file in the source."""
        self.said: list[str] = []
        self.source, self.target = (SimpleNamespace(path=root / name, others={}) for name in "ab")
        for volume in (self.source, self.target):
            volume.path.mkdir()
            volume.get_part = lambda _, own=self.target: own
        self.data = self.source.path / "data"
        self.data.mkdir()
        (self.data / "table").write_text("rows")
        self.clock = FakeClock()
        self.server, self.looks = FirstServer(self), 0

    def make_tree(self, candidate: str, name: str, role: str = "data") -> Path:
        """Make an empty directory."""
        path = Path((self.target if role == "target" else self.source).path / name)
        path.mkdir()
        return path

    @contextmanager
    def stop_commits(self, url: Secret, socket: Path) -> Iterator[str]:
        """Say that nobody commits any more."""
        self.said.append("no commits")
        yield "end"

    def has_all(self, url: Secret, end: str) -> bool:
        """Have it after the third look, a second each."""
        self.clock.sleep_s(1)
        self.looks += 1
        return self.looks >= 3

    def promote(self, url: Secret) -> None:
        """Say so."""
        self.said.append("promoted")

    def start_again(self, candidate: str, moved_to: Path | None = None) -> None:
        """Say where its files are."""
        self.said.append(f"{candidate} at {moved_to}")

    def move(self, lasts_s: float) -> Move:
        """Make a migration that users outlast by so much."""
        dataset = SimpleNamespace(name="data")
        study = SimpleNamespace(database=SimpleNamespace(engine="postgresql", settings={}))
        context: Any = SimpleNamespace(
            volumes=SimpleNamespace(make_tree=self.make_tree),
            servers=SimpleNamespace(
                live={self.data: self.server},
                start_again=self.start_again,
                find_study=lambda *_: study,
            ),
            session=SimpleNamespace(
                clock=self.clock, stop=Stop(), directory=RunDirectory(self.source.path / "run")
            ),
            plan=SimpleNamespace(dataset_at=lambda _: dataset),
            study_of=lambda _: study,
            file=SimpleNamespace(study=SimpleNamespace(at=lambda _: study)),
        )
        window = cast(Any, SimpleNamespace(id="w", candidate="one", point=None, duration_s=60))
        ends_s = self.clock.now_s() + lasts_s
        return Move(context, window, cast(Any, self.source), cast(Any, self.target), ends_s)


@pytest.mark.parametrize(
    ("sums", "compared", "differing", "damaged"),
    [({"a": ("1", "1"), "b": ("2", "2")}, 2, 0, None), (None, None, None, 0),
     ({"a": ("1", "1"), "b": ("2", None)}, 2, 1, 3)],
)  # fmt: skip
def test_tables_are_compared_once_users_are_done(
    tmp_path: Path, sums: TableSums | None, compared: int | None, differing: int | None,
    damaged: int | None,
) -> None:  # fmt: skip
    """One that differs, or is missing, is lost, and so is a block that its checksum denies.

    What could not be compared is not known.
    """
    moving = Moving(tmp_path)
    move = moving.move(60)
    FileCopy().move(move)
    move.begin("end")
    fails = InfrastructureError("no answer", where="here", remedy="none")
    compare = Mock(side_effect=fails) if sums is None else lambda _: sums
    way: Any = Mock(parts=(), compare=compare, explain_uncompared=lambda _: None,
                    count_damage=lambda _: damaged)  # fmt: skip
    folder = move.find_folder()
    folder.mkdir(parents=True)
    activity = MigrationActivity(way, move.context, move.window)
    activity._move = move
    with activity.ready():
        pass
    found = {value.metric: value for value in activity.values()}
    assert [found[name].value for name in (*TABLES, DAMAGED)] == [compared, differing, damaged]
    assert ("no answer" in (found[TABLES[1]].missing_because or "")) is (sums is None)
    assert (folder / SUMS).exists() is (sums is not None)
    values: dict[tuple[str, str], Any] = {(name, "all"): vars(of) for name, of in found.items()}
    record: Any = SimpleNamespace(values=values)
    assert (find_differing(record) is not None) is bool(differing)
    assert (find_damaged(record) is not None) is bool(damaged)


def test_a_log_that_is_not_whole_gives_no_rate(tmp_path: Path) -> None:
    """Seconds that it lacks would be seconds without a transaction."""
    moving = Moving(tmp_path)
    move = moving.move(60)
    FileCopy().move(move)
    move.begin(END)
    activity = MigrationActivity(FileCopy(), move.context, move.window)
    activity._move, activity.times = move, Times(0.0, 0.0, 60.0, complete=True)
    activity._begun_s, activity._ended_s = 12.0, 20.0
    values = [value for value in activity.values() if value.metric == "migration.tpm"]
    assert [value.value for value in values] == [None] * 4


def test_a_copied_server_works_at_the_target(tmp_path: Path) -> None:
    """The source's place leads to it, and what was there lies aside until the window is over."""
    moving = Moving(tmp_path)
    move = moving.move(60)
    FileCopy().move(move)
    place = tmp_path / "b" / "moved"
    assert moving.said == ["stopped", f"one at {place}"]
    assert moving.data.is_symlink()
    assert (moving.data / "table").read_text() == "rows"
    assert (tmp_path / "a" / "before-the-move" / "table").exists()
    assert move.moved_bytes == 4


def test_a_copy_that_takes_too_long_is_undone(tmp_path: Path) -> None:
    """The users were done meanwhile: the server goes on with the files that it had."""
    moving = Moving(tmp_path)
    with pytest.raises(UnfinishedError, match="which was at: switch"):
        FileCopy().move(moving.move(1))
    assert moving.said == ["stopped", "one at None"]
    assert not moving.data.is_symlink()
    assert [path.name for path in moving.data.iterdir()] == ["table"]


def test_the_first_server_is_killed_before_the_second_one_writes(tmp_path: Path) -> None:
    """Once nobody commits at it and the other has all: there are never two that take commits."""
    moving = Moving(tmp_path)
    ReplicationWay().switch(moving.move(60), cast(Any, moving.server), cast(Any, moving))
    assert moving.looks == 3
    assert moving.said == ["no commits", "killed", "promoted"]


def test_a_switch_that_does_not_end_is_undone(tmp_path: Path) -> None:
    """The second never has all: the first goes on, from what it had."""
    moving = Moving(tmp_path)
    with pytest.raises(UnfinishedError):
        ReplicationWay().switch(moving.move(2), cast(Any, moving.server), cast(Any, moving))
    assert moving.said == ["no commits", "killed", "one at None"]


def test_who_watches_a_migration_learns_its_parts_and_fixes_none_of_them() -> None:
    """What was asked in the middle is asked again at the end; what cannot answer hinders nobody."""
    activity = MigrationActivity(None, cast("Any", None), cast("Any", None))
    activity._move = cast("Any", SimpleNamespace(marks=[("copy", 1.0)]))
    broken = cast("Any", SimpleNamespace(spans=lambda: 1 / 0))
    assert list_spans([broken, activity]) == (Span("copy", 1.0),)
    activity._move.marks.append((END, 5.0))
    assert list_spans([activity]) == tuple(activity.spans()) == (Span("copy", 1.0, 5.0, "done"),)
