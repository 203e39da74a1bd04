"""What cannot work is found before anything is made."""

from pathlib import Path

import pytest

from fakes.clock import FakeClock
from stithy.errors import PreconditionError, UserError
from stithy.plan.expand import expand
from stithy.run.before.preflight import check_directory, check_room, memory_available_bytes
from stithy.run.start import default_directory
from stithy.storage.provider import Room
from stithy.storage.providers.path import Spec, create
from stithy.study.load import read_study
from support.running import write_study

GIB = 2**30


def check(tmp_path: Path, available_gib: float = 1, **free_gib: tuple[str, float, bool]) -> None:
    """Check the room of candidates, each given as file system, free GiB, whether it is memory."""
    study = write_study(tmp_path / "s.yaml", {name: tmp_path / name for name in free_gib})
    read = read_study(study).study
    rooms = {
        name: (Room(filesystem, int(free * GIB), memory, Path("/" + filesystem)),)
        for name, (filesystem, free, memory) in free_gib.items()
    }
    check_room(read, expand(read), rooms, int(available_gib * GIB))


def test_room_on_a_shared_file_system_is_added_up(tmp_path: Path) -> None:
    """Each would fit alone, both do not."""
    check(tmp_path, a=("one", 1.0, False), b=("two", 1.0, False))
    with pytest.raises(PreconditionError, match="candidates a and b: .* may be needed on /one"):
        check(tmp_path, a=("one", 1.0, False), b=("one", 1.0, False))


def test_volumes_in_memory_are_checked_against_memory(tmp_path: Path) -> None:
    """A file system in memory may promise more than there is."""
    check(tmp_path, 2, a=("shm", 1000.0, True))
    check(tmp_path, 0.1, a=("disk", 1000.0, False))
    with pytest.raises(PreconditionError, match="of memory, the server's included"):
        check(tmp_path, 0.5, a=("shm", 1000.0, True))


def test_drives_in_memory_are_refused_where_they_do_not_fit_beside_the_server(
    tmp_path: Path,
) -> None:
    """All of them together, at their whole size, however little is written."""
    study = read_study(
        write_study(tmp_path / "s.yaml", {"a": tmp_path / "a", "b": tmp_path / "b"})
    ).study
    place = Path("/run/a")
    rooms = {
        name: (Room(f"image of {name}", None, True, place, takes_bytes=4 * GIB),) for name in "ab"
    }
    check_room(study, expand(study), rooms, 9 * GIB)
    with pytest.raises(PreconditionError, match="8.19 GiB may be needed of memory") as caught:
        check_room(study, expand(study), rooms, 8 * GIB)
    assert "a directory as `backing`" in caught.value.remedy


def test_available_memory_is_read_from_the_kernel(tmp_path: Path) -> None:
    """MemAvailable, not MemFree: caches can be dropped."""
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemFree: 1 kB\nMemAvailable: 4 kB\n")
    assert memory_available_bytes(tmp_path) == 4096


def test_results_go_to_a_new_or_empty_directory_outside_of_the_candidates(tmp_path: Path) -> None:
    """Nothing is overwritten, nothing is measured along."""
    providers = {"a": create(Spec(path=tmp_path / "a"), "a")}
    check_directory(tmp_path / "out", providers)
    (tmp_path / "out").mkdir()
    check_directory(tmp_path / "out", providers)
    (tmp_path / "out/x").touch()
    for wrong in (
        *(tmp_path / "out", tmp_path / "out/x", tmp_path / "out/x/y", tmp_path / "a/out"),
        tmp_path,
    ):
        with pytest.raises(UserError):
            check_directory(wrong, providers)


def test_the_default_directory_tells_study_and_time() -> None:
    """In UTC, sortable."""
    now_s = FakeClock(1_795_220_000.0).now_s()
    assert default_directory(Path("x/demo.yaml"), now_s) == Path("runs/demo-20261121T001320Z")
