"""What a run created is registered, and removed by its end, its failure and `clean` alike."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from fakes.clock import FakeClock
from stithy.cli import app
from stithy.cluster import daemons
from stithy.drives import bridge
from stithy.drives import control as places
from stithy.drives.control import DriveEntry
from stithy.errors import InfrastructureError, PreconditionError
from stithy.hosts.processes import get_identity, read_boot_id, read_identity
from stithy.registry import plugins
from stithy.results.layout import RunDirectory
from stithy.run import books, cleaning
from stithy.run.activity import StepKind
from stithy.run.books import Journal, Register, Resource
from stithy.run.doctor import judge_left_behind
from stithy.secrets import Secret
from stithy.storage.consent import DirectoryMark, read_mark, write_mark
from support.examples import DEAD

pytestmark = pytest.mark.usefixtures("own_state")


def enter(run_id: str = "r1") -> Register:
    """An entered run."""
    return Register(run_id, Path("/results"), FakeClock())


def test_what_was_created_is_known_and_a_running_run_is_not_cleaned(own_state: Path) -> None:
    """In the order of its creation. A register that cannot be written is reported before all."""
    own_state.write_text("in the way")
    with pytest.raises(PreconditionError, match="STITHY_STATE"):
        enter()
    own_state.unlink()
    book = enter()
    first = book.register_creation("directory", {"path": "/x"})
    book.register_creation("mark", {"path": "/x"})
    book.register_creation("tree", {"name": "data"})
    book.removed(first)
    [found] = books.list_registered()
    assert (found.run_id, found.directory, found.kept) == ("r1", Path("/results"), False)
    assert [resource.kind for resource in found.resources] == ["mark", "tree"]
    [cleaned] = cleaning.clean()
    assert (cleaned.running, cleaned.removed, cleaning.find_run("r1")) == (True, 0, None)
    assert len(books.list_registered()) == 1
    book.close(remove=True)
    assert books.list_registered() == []


def test_a_kept_run_is_cleaned_and_what_is_left_stays_registered(tmp_path: Path) -> None:
    """Even while its process writes the report; the next `clean` tries again."""
    book, place = enter(), tmp_path / "x"
    place.mkdir()
    (place / "mine").touch()
    book.register_creation("directory", {"path": str(place)})
    book.keep()
    assert cleaning.clean(Path("/elsewhere")) == []
    [cleaned] = cleaning.clean(Path("/results"))
    assert [left.reason for left in cleaned.left] == ["directory not empty"]
    (place / "mine").unlink()
    [again] = cleaning.clean()
    assert (again.removed, again.left, again.running, place.exists()) == (1, (), False, False)
    assert books.list_registered() == []


def test_a_moved_run_is_found_by_its_journal_and_what_is_left_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also within the run whose sensitivity it is of; another directory names no run."""
    book, place = enter(), tmp_path / "x"
    (place / "mine").mkdir(parents=True)
    for path in (place, tmp_path / "gone"):
        book.register_creation("directory", {"path": str(path)})
    book.keep()
    main = RunDirectory(tmp_path / "main")
    moved = RunDirectory(main.corner("nvme") / "run")
    moved.root.mkdir(parents=True)
    (moved.root.parent / "study.yaml").touch()
    assert app.run(["clean", str(moved.root)]) == 0
    Journal(moved.journal, FakeClock()).write("run-started", run_id="r1")
    assert app.run(["clean", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "Nothing to clean.\n" * 2
    assert app.run(["clean", str(moved.root)]) == 4
    assert capsys.readouterr().out == "/results: removed 1 thing, 1 is left\n"
    (place / "mine").rmdir()
    assert app.run(["clean", str(main.root)]) == 0
    assert capsys.readouterr().out == "/results: removed everything that the run left\n"


@pytest.mark.parametrize(("made", "found"), [(1, "1 thing"), (2, "2 things")])
def test_what_an_ended_run_left_is_examined(made: int, found: str) -> None:
    """Whether it was killed or ended by itself."""
    book = enter()
    for _ in range(made):
        book.register_creation("mark", {"path": "/x", "run_id": "r1"})
    book.close(remove=False)
    book.path.write_text(book.path.read_text().replace(read_boot_id(), "another boot"))
    assert [each.found for each in judge_left_behind()] == [f"ended, and left {found} behind"]


def test_a_resumed_run_is_that_of_its_new_process_and_finds_its_password() -> None:
    """Known stays what was made, not that it was kept; `clean` forgets no run that goes on."""
    book = enter()
    book.register_creation("mark", {"path": "/x", "run_id": "r1"})
    book.keep_password(Secret("never tell"))
    book.keep()
    book.close(remove=False)
    [path] = book.path.parent.glob("*.password")
    assert path.stat().st_mode & 0o777 == 0o600
    book.path.write_text(book.path.read_text().replace(read_boot_id(), "another boot"))
    [before] = books.list_registered()
    again = enter()
    password = books.read_password("r1")
    assert password is not None
    assert password.reveal() == "never tell"
    path.write_text("")
    assert books.read_password("r1") is None
    [found] = books.list_registered()
    assert (cleaning.is_going_on(found), found.kept) == (True, False)
    assert [resource.kind for resource in found.resources] == ["mark"]
    cleaning.clean_run(before)
    assert [run.run_id for run in books.list_registered()] == ["r1"]
    again.keep()
    cleaning.clean()
    assert list(book.path.parent.iterdir()) == []


def undone(*resources: Resource) -> tuple[list[int], list[str]]:
    """Numbers of what was undone, and reasons of what was not."""
    numbers: list[int] = []
    left = cleaning.clean_up("r1", resources, numbers.append, everything=False)
    return numbers, [each.reason for each in left]


def volume(root: Path, run_id: str = "r1") -> tuple[Resource, ...]:
    """A marked directory with a database in it, as it is written down for the run r1."""
    (root / "data/base").mkdir(parents=True)
    (root / "data/base/1").touch()
    write_mark(root, DirectoryMark(run_id, made_directory=True, owner=DEAD))
    facts = {"path": str(root), "run_id": "r1"}
    tree = {"volume": str(root), "name": "data", "run_id": "r1"}
    made = (("directory", facts), ("mark", facts), ("tree", tree))
    return tuple(Resource(number, *each) for number, each in enumerate(made))


def test_things_are_unmade_in_reverse_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A volume with a tree that cannot be removed stays known by its mark, which decides."""

    def refuse(facts: Mapping[str, str]) -> None:
        raise OSError(16, "something is mounted inside")

    place, resources = tmp_path / "x", volume(tmp_path / "x")
    with monkeypatch.context() as patch:
        refusing = {**cleaning.CLEANUP_HANDLERS, "tree": refuse}
        patch.setattr(cleaning, "CLEANUP_HANDLERS", refusing)
        reasons = ["something is mounted inside", *["data in it is left"] * 2]
        assert undone(*resources) == ([], reasons)
    assert read_mark(place) is not None
    for _ in range(2):
        assert undone(*resources) == ([2, 1, 0], [])
        assert not place.exists()
    assert undone(*volume(place, "another run")) == ([2, 1], ["directory not empty"])
    assert (place / "data/base/1").exists()
    assert read_mark(place) is not None


@pytest.mark.usefixtures("fakes")
def test_a_kind_of_step_removes_what_it_alone_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a provider and a layer do."""
    note = tmp_path / "note"
    note.touch()
    handlers = plugins(StepKind)["nap"].handlers
    monkeypatch.setitem(handlers, "nap-note", lambda facts: Path(facts["path"]).unlink())
    assert undone(Resource(0, "nap-note", {"path": str(note)})) == ([0], [])
    assert not note.exists()


def test_neither_a_failure_nor_a_full_disk_keeps_the_rest_from_going(tmp_path: Path) -> None:
    """It is the removing that makes room."""
    kinds = {"x": "directory", "full": "directory", "later": "a kind of a later version"}
    (tmp_path / "x").mkdir()
    (tmp_path / "full/mine").mkdir(parents=True)
    resources = [
        Resource(number, kind, {"path": str(tmp_path / name)})
        for number, (name, kind) in enumerate(kinds.items())
    ]

    def refuse(number: int) -> None:
        raise InfrastructureError("full", where="register", remedy="make room")

    left = cleaning.clean_up("0123", resources, refuse, everything=False)
    assert sorted(each.resource.number for each in left) == [1, 2]
    assert [path.name for path in tmp_path.iterdir()] == ["full"]


FAR = {"marked-database", "ceph-fault"}
"""On somebody's server or cluster: whether nothing is there only that tells (e2e/test_by_url.py,
e2e/test_ceph.py)."""


@pytest.mark.parametrize("kind", sorted({*cleaning.list_cleanup_handlers()} - FAR))
def test_every_way_back_is_harmless_where_nothing_is(kind: str, tmp_path: Path) -> None:
    """A kill between the record and the making leaves just that."""
    places = ("path", "volume", "data", "folder")
    facts = dict.fromkeys(places, str(tmp_path / "none")) | {
        "conf": str(tmp_path / "none/ceph.conf"),
        "run_id": "r1", "name": "data", "program": "no-such-program", "engine": "postgresql",
        "device": "/dev/loop99", "devices": "/dev/loop99", "uuid": "none", "user": "u",
        "pool": "p", "image": "stithy-i", "tag": "none",
    }  # fmt: skip
    assert undone(Resource(0, kind, facts)) == ([0], [])


def test_a_persons_process_is_never_ended(tmp_path: Path) -> None:
    """Neither in a server's directory, nor with a dead run's process id: its run is cleaned."""
    (tmp_path / "state/runs").mkdir(parents=True)
    with subprocess.Popen(["sleep", "60"], cwd=tmp_path) as other:
        undone(Resource(0, "server", {"data": str(tmp_path), "program": "postgres"}))
        found = read_identity(other.pid)
        assert found is not None
        for name, owner in (("r1", replace(found, start_ticks=1)), ("r2", found)):
            book = Journal(tmp_path / f"state/runs/{name}.jsonl", FakeClock())
            book.write("run", run_id=name, directory=f"/{name}", owner=owner.list_facts())
            book.write("creating", kind="directory", facts={"path": str(tmp_path / name)})
            book.close()
            (tmp_path / name).mkdir()
        cleaned = {each.run.run_id: each.running for each in cleaning.clean()}
        assert cleaned == {"r1": False, "r2": True}
        assert [(tmp_path / name).exists() for name in ("r1", "r2")] == [False, True]
        assert other.poll() is None
        other.kill()


def test_scratch_directories_and_images_go_only_by_names_of_stithys(tmp_path: Path) -> None:
    """No home in a register that was tampered with, nor what a link in its place leads to."""
    (tmp_path / "stithy-0000").mkdir()
    link = Path("/tmp") / f"stithy-test-{tmp_path.name}-{os.getpid()}"
    link.symlink_to(tmp_path)
    try:
        for path in (tmp_path / "stithy-0000", link):
            assert undone(Resource(0, "scratch", {"path": str(path)})) == ([0], [])
        assert not link.is_symlink()
    finally:
        link.unlink(missing_ok=True)
    for name in ("stithy-a.img", "mine.img", "stithy-a.iso"):
        (tmp_path / name).touch()
    (tmp_path / "stithy-b.img").symlink_to(tmp_path / "mine.img")
    for image in ("stithy-a.img", "mine.img", "stithy-a.iso", "stithy-b.img"):
        undone(Resource(0, "image", {"path": str(tmp_path / image)}))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "mine.img", "stithy-0000", "stithy-a.iso", "stithy-b.img",
    ]  # fmt: skip


def test_a_drive_with_a_used_name_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a reboot a person's drive may be that device; nothing of the run is mounted from it."""
    entry = DriveEntry(None, ("mine",), DEAD, devices=("/dev/loop7",))
    places.make(places.get_folder("mine"), entry)
    mended: list[Path] = []
    monkeypatch.setattr(cleaning, "repair", mended.append)
    facts = {"path": str(tmp_path), "device": "/dev/loop7"}
    assert (undone(Resource(0, "mount", facts)), mended) == (([0], []), [])


def test_another_users_cluster_in_a_closed_folder_is_no_orphan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its bridge tells of it to everybody; one whose folder is gone is an orphan."""
    closed, gone = tmp_path / "closed", tmp_path / "gone"
    monkeypatch.setattr(daemons, "list_tags", lambda: {"a": closed, "b": gone})
    found = Path.lstat

    def lstat(path: Path) -> os.stat_result:
        if path == closed:
            raise PermissionError(13, "Permission denied", str(path))
        return found(path)

    monkeypatch.setattr(Path, "lstat", lstat)
    assert [orphan.folder for orphan in cleaning.list_orphans() if orphan.kind == "cluster"] == [
        gone
    ]


def test_what_killed_drives_left_is_removed_and_what_lives_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A person's that is up, one that is about to come, a run's. A slip of the pen is reported."""

    def refuse(folder: Path) -> None:
        raise OSError(16, "Device or resource busy")

    enter("r1").keep()
    for name, run_id, owner in (
        ("fast", None, DEAD), ("new", None, get_identity()), ("nvme", "r1", DEAD),
        ("nvme", "r2", DEAD),
    ):  # fmt: skip
        places.make(places.get_folder(name, run_id), DriveEntry(run_id, (name,), owner))
    for name in ("r1.1", "r2.1"):
        (bridge.get_home() / name).mkdir(parents=True)
    with monkeypatch.context() as patch:
        patch.setattr(cleaning, "find", lambda folder: get_identity())
        assert [clean_orphan.orphan.folder.name for clean_orphan in cleaning.clean_orphans()] == [
            "r2.1", "r2.nvme"
        ]  # fmt: skip
    assert app.run(["clean", str(tmp_path)]) == 0
    left = [all_folder.name for all_folder in places.list_folders()]
    assert left == ["fast", "new", "r1.nvme"], "another run was named"
    capsys.readouterr()
    assert app.run(["clean", "--json"]) == 0
    run, *drives = json.loads(capsys.readouterr().out)
    assert (run["run_id"], run["left"]) == ("r1", [])
    assert [drive["name"] for drive in drives] == ["r1.1", "fast", "nvme"]
    assert [each.name for each in places.list_folders()] == ["new"]
    assert app.run(["clean"]) == 0
    assert capsys.readouterr().out == "Nothing to clean.\n"
    places.make(places.get_folder("fast"), DriveEntry(None, ("fast",), DEAD))
    monkeypatch.setitem(cleaning.REMOVE, "drive", refuse)
    assert app.run(["clean", str(tmp_path / "rnus/x")]) == 2
    assert app.run(["clean"]) == 4
    assert "not removed: drive fast: " in capsys.readouterr().err
