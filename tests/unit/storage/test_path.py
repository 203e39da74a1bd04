"""A candidate's directory from taking it to giving it back."""

from pathlib import Path

import pytest

from stithy.errors import PreconditionError
from stithy.hosts.processes import Identity, own_identity
from stithy.storage.consent import Mark, held_bytes, read_mark, write_mark
from stithy.storage.providers.path import DirectoryProvider, Spec, create, likely_memory_backed

Records = list[tuple[str, dict[str, str]]]


def provision(provider: DirectoryProvider, run_id: str = "r1") -> Records:
    """Provision, and what was recorded."""
    records: Records = []
    provider.provision(run_id, lambda kind, facts: records.append((kind, facts)))
    return records


def test_a_missing_directory_is_recorded_made_and_marked(tmp_path: Path) -> None:
    """The record comes first, so that a kill in between leaves nothing unknown."""
    path = tmp_path / "new"
    seen: list[bool] = []
    provider = create(Spec(path=path), "disk")
    provider.provision("r1", lambda kind, facts: seen.append(path.exists()))
    assert seen == [False, True]
    mark = read_mark(path)
    assert mark is not None
    assert (mark.run_id, mark.made_directory, mark.in_use) == ("r1", True, True)
    assert path.stat().st_mode & 0o777 == 0o755


def test_an_empty_directory_stays_the_users(tmp_path: Path) -> None:
    """It is marked but not recorded as made."""
    assert [kind for kind, _ in provision(create(Spec(path=tmp_path), "disk"))] == ["mark"]


def test_two_candidates_cannot_take_one_directory(tmp_path: Path) -> None:
    """The second is refused while the first holds it; afterwards it may be taken."""
    first = create(Spec(path=tmp_path / "x"), "disk")
    provision(first)
    with pytest.raises(PreconditionError, match="in use by run r1"):
        provision(create(Spec(path=tmp_path / "x"), "copy"), "r2")


def test_what_a_dead_run_left_is_emptied_and_taken_over(tmp_path: Path) -> None:
    """Who made the directory is remembered, so that it is removed in the end."""
    write_mark(tmp_path, Mark("old", made_directory=True, owner=Identity("b", 1, 1)))
    (tmp_path / "data").mkdir()
    provider = create(Spec(path=tmp_path), "disk")
    assert provider.left_by() == "old"
    assert [kind for kind, _ in provision(provider)] == ["directory", "mark"]
    assert not (tmp_path / "data").exists()
    assert provider.left_by() is None


def test_a_kept_volume_is_in_use_without_a_living_owner(tmp_path: Path) -> None:
    """Until `stithy clean`."""
    provider = create(Spec(path=tmp_path), "disk")
    provision(provider)
    provider.keep()
    provider.release()
    mark = read_mark(tmp_path)
    assert mark is not None
    assert mark.owner is None
    assert mark.in_use


def test_room_is_told_by_file_system(tmp_path: Path) -> None:
    """Candidates on one file system share its room."""
    rooms = [create(Spec(path=tmp_path / name), name).rooms()[0] for name in ("a", "b")]
    assert rooms[0].filesystem_id == rooms[1].filesystem_id
    assert (rooms[0].free_bytes or 0) > 0


def test_memory_is_guessed_from_the_name_alone() -> None:
    """Planning never probes the machine."""
    assert likely_memory_backed(Spec(path=Path("/dev/shm/x")))
    assert not likely_memory_backed(Spec(path=Path("/var/tmp/x")))


DEAD = Identity("b", 1, 1)


def test_the_next_session_of_a_run_finds_what_the_dead_one_left(tmp_path: Path) -> None:
    """And takes it over as it is: nothing of it is new, so nothing is recorded."""
    write_mark(tmp_path, Mark("r1", made_directory=True, owner=DEAD))
    (tmp_path / "master").mkdir()
    provider = create(Spec(path=tmp_path), "disk")
    assert provider.survives("r1") == tmp_path
    assert provision(provider) == []
    assert (tmp_path / "master").is_dir()
    mark = read_mark(tmp_path)
    assert mark is not None
    assert (mark.made_directory, mark.in_use) == (True, True)


@pytest.mark.parametrize(
    "mark",
    [
        Mark("r2", made_directory=True, owner=DEAD),
        Mark("r1", made_directory=True, owner=None),
        Mark("r1", made_directory=True, owner=own_identity()),
        None,
    ],
)
def test_nothing_else_survives(tmp_path: Path, mark: Mark | None) -> None:
    """What is another run's, was kept for a person, is in use, or bears no mark."""
    if mark is not None:
        write_mark(tmp_path, mark)
    assert create(Spec(path=tmp_path), "disk").survives("r1") is None


def test_what_stithy_left_makes_room(tmp_path: Path) -> None:
    """It is used on or removed before anything else is written; what is not marked counts not."""
    provider = create(Spec(path=tmp_path), "disk")
    (tmp_path / "data").mkdir()
    (tmp_path / "data/1").write_bytes(b"x" * 2**20)
    assert held_bytes(tmp_path) == 0
    write_mark(tmp_path, Mark("r1", made_directory=True, owner=DEAD))
    assert held_bytes(tmp_path) >= 2**20
    [room] = provider.rooms()
    assert room.free_bytes is not None
    assert room.free_bytes >= 2**20
