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
from stithy.drives import places
from stithy.drives.places import Entry
from stithy.errors import InfrastructureError, PreconditionError
from stithy.hosts.processes import Identity, boot_id, identity_of, own_identity
from stithy.run.cleanup import handlers
from stithy.run.cleanup.handlers import CLEANUP_HANDLERS, clean, clean_run, clean_up, find_run
from stithy.run.cleanup.register import (
    Register,
    Resource,
    all_registered,
    kept_password,
    read_registered,
)
from stithy.run.executor import execute
from stithy.run.journal import Journal
from stithy.secrets import Secret
from stithy.storage.consent import Mark, read_mark, write_mark
from support.faked_run import FakedRun
from support.running import left_by


def register(run_id: str = "r1") -> Register:
    """An entered run."""
    return Register(run_id, Path("/results"), FakeClock())


def test_what_was_created_and_not_removed_is_known(tmp_path: Path) -> None:
    """In the order of its creation."""
    book = register()
    first = book.creating("directory", {"path": "/x"})
    book.creating("mark", {"path": "/x"})
    book.removed(first)
    found = read_registered(book.path)
    assert found is not None
    assert (found.run_id, found.directory, found.kept) == ("r1", Path("/results"), False)
    assert found.is_running
    assert [(each.kind, each.facts) for each in found.resources] == [("mark", {"path": "/x"})]


def test_a_run_that_left_nothing_is_forgotten() -> None:
    """Its file goes with its end."""
    book = register()
    assert len(all_registered()) == 1
    book.close(remove=True)
    assert all_registered() == []


def test_a_running_run_is_not_cleaned() -> None:
    """Neither by `clean` nor by the next run."""
    register()
    [cleaned] = clean()
    assert cleaned.running
    assert len(all_registered()) == 1
    assert find_run("r1") is None


def test_a_kept_run_is_cleaned_even_while_its_process_writes_the_report(tmp_path: Path) -> None:
    """It has ended as far as its instances are concerned."""
    book = register()
    (tmp_path / "x").mkdir()
    book.creating("directory", {"path": str(tmp_path / "x")})
    book.keep()
    [cleaned] = clean()
    assert (cleaned.removed, cleaned.left, cleaned.running) == (1, (), False)
    assert not (tmp_path / "x").exists()
    assert all_registered() == []


def test_only_the_named_run_is_cleaned() -> None:
    """By the directory of its results."""
    register().keep()
    assert clean(Path("/elsewhere")) == []
    assert len(clean(Path("/results"))) == 1


def test_what_cannot_be_removed_stays_registered(tmp_path: Path) -> None:
    """With the reason; the next `clean` tries again."""
    book = register()
    (tmp_path / "x").mkdir()
    (tmp_path / "x/mine").touch()
    book.creating("directory", {"path": str(tmp_path / "x")})
    book.keep()
    [cleaned] = clean()
    assert [left.reason for left in cleaned.left] == ["Directory not empty"]
    (tmp_path / "x/mine").unlink()
    [again] = clean()
    assert again.left == ()


def test_a_register_that_cannot_be_written_is_told_before_anything_is_made(
    tmp_path: Path,
) -> None:
    """With the variable that names another place."""
    (tmp_path / "state").write_text("in the way")
    with pytest.raises(PreconditionError, match="STITHY_STATE"):
        register()


def test_a_resumed_run_is_that_of_its_new_process(tmp_path: Path) -> None:
    """What was made before stays known; that it was once kept does not count any more."""
    book = register()
    book.creating("mark", {"path": "/x"})
    book.keep()
    book.close(remove=False)
    text = book.path.read_text()
    book.path.write_text(text.replace(boot_id(), "another boot"))
    again = register()
    found = read_registered(again.path)
    assert found is not None
    assert (found.is_running, found.kept) == (True, False)
    assert [each.kind for each in found.resources] == ["mark"]


def test_cleaning_does_not_forget_a_run_that_was_resumed_meanwhile() -> None:
    """The new session writes into that file."""
    book = register()
    book.close(remove=False)
    [known] = all_registered()
    register()
    clean_run(known)
    assert [run.run_id for run in all_registered()] == ["r1"]


def test_the_password_lies_beside_the_entry_for_its_user_alone() -> None:
    """As long as the entry, and no longer; whoever resumes the run finds it."""
    book = register()
    book.keep_password(Secret("never tell"))
    [path] = book.path.parent.glob("*.password")
    assert path.stat().st_mode & 0o777 == 0o600
    found = kept_password("r1")
    assert found is not None
    assert found.reveal() == "never tell"
    assert len(all_registered()) == 1
    book.close(remove=False)
    assert kept_password("r1") is not None
    register().close(remove=True)
    assert kept_password("r1") is None
    assert list(book.path.parent.iterdir()) == []


def test_a_cleaned_run_leaves_no_password() -> None:
    """An empty one, torn by a crash, is none."""
    book = register()
    book.keep_password(Secret(""))
    assert kept_password("r1") is None
    book.keep()
    book.close(remove=False)
    clean()
    assert list(book.path.parent.iterdir()) == []


DEAD = Identity("another boot", 1, 1)


def undone(*resources: Resource) -> tuple[list[int], list[str]]:
    """Numbers of what was undone, and reasons of what was not."""
    numbers: list[int] = []
    left = clean_up("r1", resources, numbers.append, everything=False)
    return numbers, [each.reason for each in left]


def volume(root: Path, run_id: str = "r1") -> Path:
    """A marked directory with a database in it."""
    (root / "data/base").mkdir(parents=True)
    (root / "data/base/1").touch()
    write_mark(root, Mark(run_id, made_directory=True, owner=DEAD))
    return root


def resources(path: Path) -> tuple[Resource, ...]:
    """What a provision and a load write down."""
    facts = {"path": str(path), "run_id": "r1"}
    tree = {"volume": str(path), "name": "data", "run_id": "r1"}
    return (
        Resource(0, "directory", facts),
        Resource(1, "mark", facts),
        Resource(2, "tree", tree),
    )


def test_things_are_unmade_in_the_reverse_order_and_again_without_harm(tmp_path: Path) -> None:
    """Twice is as good as once."""
    path = volume(tmp_path / "x")
    assert undone(*resources(path)) == ([2, 1, 0], [])
    assert not path.exists()
    assert undone(*resources(path)) == ([2, 1, 0], [])


def test_another_runs_volume_is_not_touched(tmp_path: Path) -> None:
    """The mark decides, not the register."""
    path = volume(tmp_path / "x", run_id="r2")
    numbers, reasons = undone(*resources(path))
    assert numbers == [2, 1]
    assert reasons == ["Directory not empty"]
    assert (path / "data/base/1").exists()
    assert read_mark(path) is not None


def test_a_scratch_directory_is_removed_only_where_stithy_makes_them(tmp_path: Path) -> None:
    """A register that was tampered with must not remove a home."""
    (tmp_path / "stithy-0000").mkdir()
    undone(Resource(0, "scratch", {"path": str(tmp_path / "stithy-0000")}))
    assert (tmp_path / "stithy-0000").exists()


def test_one_failure_does_not_stop_the_others(tmp_path: Path) -> None:
    """Everything that can be removed is removed."""
    (tmp_path / "x").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine").touch()
    numbers, reasons = undone(
        Resource(0, "directory", {"path": str(tmp_path / "x")}),
        Resource(1, "directory", {"path": str(tmp_path / "full")}),
        Resource(2, "a kind of a later version", {}),
    )
    assert numbers == [0]
    assert len(reasons) == 2


@pytest.mark.parametrize("kind", CLEANUP_HANDLERS)
def test_every_way_back_is_harmless_where_nothing_is(kind: str, tmp_path: Path) -> None:
    """A kill between the record and the making leaves just that."""
    none = str(tmp_path / "none")
    facts = {
        "path": none, "run_id": "r1", "volume": none, "name": "data", "data": none,
        "program": "no-such-program", "engine": "postgresql", "device": "/dev/loop99",
        "folder": none,
    }  # fmt: skip
    assert undone(Resource(0, kind, facts)) == ([0], [])


def test_a_full_disk_under_the_register_does_not_keep_anything_from_being_removed(
    tmp_path: Path,
) -> None:
    """It is the removing that makes room."""
    made = [tmp_path / "a", tmp_path / "a/b"]
    for path in made:
        path.mkdir()
    resources = [Resource(n, "directory", {"path": str(path)}) for n, path in enumerate(made)]

    def refuse(number: int) -> None:
        raise InfrastructureError("full", where="register", remedy="make room")

    assert clean_up("0123", resources, refuse, everything=False) == []
    assert not made[0].exists()


def test_a_volume_with_a_tree_that_cannot_be_removed_stays_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its mark the next clean finds it again, and then removes it."""
    path = volume(tmp_path / "x")
    refused = [True]

    def refuse(facts: Mapping[str, str]) -> None:
        if refused[0]:
            raise OSError(16, "something is mounted inside")
        undo_tree(facts)

    undo_tree = CLEANUP_HANDLERS["tree"]
    monkeypatch.setattr(
        "stithy.run.cleanup.handlers.CLEANUP_HANDLERS", {**CLEANUP_HANDLERS, "tree": refuse}
    )
    numbers, reasons = undone(*resources(path))
    assert numbers == []
    assert reasons == ["something is mounted inside", *["data in it is left"] * 2]
    assert read_mark(path) is not None
    refused[0] = False
    assert undone(*resources(path)) == ([2, 1, 0], [])
    assert not path.exists()


def test_a_foreign_process_in_a_servers_directory_is_not_ended(tmp_path: Path) -> None:
    """A server is known by its program as well: a shell that somebody has there is not it."""
    (tmp_path / "data").mkdir()
    shell = subprocess.Popen(["sleep", "60"], cwd=tmp_path / "data")
    try:
        undone(Resource(0, "server", {"data": str(tmp_path / "data"), "program": "postgres"}))
        assert shell.poll() is None
    finally:
        shell.kill()
        shell.wait()


def test_a_link_in_the_place_of_a_scratch_directory_is_removed_alone(tmp_path: Path) -> None:
    """What it points to is a person's."""
    (tmp_path / "mine").touch()
    link = Path("/tmp") / f"stithy-test-{tmp_path.name}-{os.getpid()}"
    link.symlink_to(tmp_path)
    try:
        assert undone(Resource(0, "scratch", {"path": str(link)})) == ([0], [])
        assert not link.is_symlink()
        assert (tmp_path / "mine").exists()
    finally:
        link.unlink(missing_ok=True)


def test_a_drive_that_has_the_name_of_one_that_is_gone_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a reboot a person's drive may be that device; nothing of the run is mounted from it."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))
    folder = places.folder_of("mine")
    places.make(folder, places.Entry(None, ("mine",), DEAD, devices=("/dev/loop7",)))
    mended: list[Path] = []
    monkeypatch.setattr("stithy.run.cleanup.handlers.repair", mended.append)
    (tmp_path / "point").mkdir()
    facts = {"path": str(tmp_path / "point"), "device": "/dev/loop7"}
    assert undone(Resource(0, "mount", facts)) == ([0], [])
    assert mended == []


def left() -> list[str]:
    """The names of the folders that are there still."""
    return [each.name for each in places.all_folders()]


def test_what_killed_drives_left_is_removed(capsys: pytest.CaptureFixture[str]) -> None:
    """It is told by the drive's name."""
    places.make(places.folder_of("fast"), Entry(None, ("fast",), DEAD))
    assert app.run(["clean", "--json"]) == 0
    cleaned = json.loads(capsys.readouterr().out)
    assert [(each["drives"], each["left"]) for each in cleaned] == [(["fast"], None)]
    assert left() == []
    assert app.run(["clean"]) == 0
    assert capsys.readouterr().out == "Nothing to clean.\n"


def test_drives_that_live_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person's that is up, and one whose program is about to come."""
    places.make(places.folder_of("fast"), Entry(None, ("fast",), DEAD))
    places.make(places.folder_of("new"), Entry(None, ("new",), own_identity()))
    monkeypatch.setattr(handlers, "find", lambda folder: own_identity())
    assert handlers.clean_drives() == []
    assert left() == ["fast", "new"]


def test_drives_of_a_run_go_when_nobody_knows_it_any_more(tmp_path: Path) -> None:
    """A run that goes on, or was kept, has its drives."""
    known = Register("r1", tmp_path, FakeClock())
    for run_id in ("r1", "r2"):
        places.make(places.folder_of("nvme", run_id), Entry(run_id, ("data",), DEAD))
    assert [each.folder.name for each in handlers.clean_drives()] == ["r2.nvme"]
    assert left() == ["r1.nvme"]
    known.close(remove=True)
    assert app.run(["clean"]) == 0
    assert left() == []


def test_what_cannot_be_removed_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And the exit code says it."""

    def refuse(folder: Path) -> None:
        raise OSError(16, "Device or resource busy")

    places.make(places.folder_of("fast"), Entry(None, ("fast",), DEAD))
    monkeypatch.setattr(handlers, "remove", refuse)
    assert app.run(["clean"]) == 4
    assert "not removed: drive fast: " in capsys.readouterr().err


def test_cleaning_one_run_leaves_drives_of_others_alone(tmp_path: Path) -> None:
    """The person named what is to be cleaned."""
    places.make(places.folder_of("fast"), Entry(None, ("fast",), DEAD))
    (tmp_path / "results").mkdir()
    assert app.run(["clean", str(tmp_path / "results")]) == 0
    assert left() == ["fast"]


def test_a_directory_that_is_not_there_and_of_no_run_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else a slip of the pen would look as if all were clean."""
    assert app.run(["clean", str(tmp_path / "rnus/x")]) == 2
    assert "there is no such directory" in capsys.readouterr().err


def test_a_process_that_has_a_dead_runs_process_id_now_is_neither_it_nor_ended(
    tmp_path: Path,
) -> None:
    """Its run is cleaned all the same; a run is known by boot, process id and start."""
    other = subprocess.Popen(["sleep", "60"])
    try:
        found = identity_of(other.pid)
        assert found is not None
        (tmp_path / "state/runs").mkdir(parents=True)
        for name, owner in (("r1", replace(found, start_ticks=1)), ("r2", found)):
            book = Journal(tmp_path / f"state/runs/{name}.jsonl", FakeClock())
            book.write("run", run_id=name, directory=f"/{name}", owner=owner.facts())
            book.write("creating", kind="directory", facts={"path": str(tmp_path / name)})
            book.close()
            (tmp_path / name).mkdir()
        cleaned = {each.run.run_id: each.running for each in handlers.clean()}
        assert cleaned == {"r1": False, "r2": True}
        assert [(tmp_path / name).exists() for name in ("r1", "r2")] == [False, True]
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_instances_are_kept_until_they_are_cleaned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A URL for each candidate, without a password; marks that keep other runs away."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))
    faked = FakedRun(tmp_path)
    outcome = execute(faked.start(), keep=True)
    assert sorted(outcome.kept) == ["a", "b"]
    # Loading, the check after it, four windows, two last checks, two instances.
    assert len(faked.engine.starts) == 10
    for url in outcome.kept.values():
        assert "secret" not in url
        passfile = Path(url.rpartition("passfile=")[2])
        assert passfile.read_text() == "*:*:*:*:secret\n"
        assert passfile.stat().st_mode & 0o777 == 0o600
    for name in ("a", "b"):
        mark = read_mark(tmp_path / name)
        assert mark is not None
        assert mark.in_use
        assert mark.owner is None
    [cleaned] = clean()
    assert cleaned.left == ()
    assert left_by(faked.out) == []
