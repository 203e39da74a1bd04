"""The register knows what each run has left, without the run's own files."""

from pathlib import Path

import pytest

from fakes.clock import FakeClock
from stithy.errors import PreconditionError
from stithy.hosts.processes import boot_id
from stithy.run.undoing.clean import clean, clean_run, find_run
from stithy.run.undoing.register import Register, all_registered, kept_password, read_registered
from stithy.secrets import Secret


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs register in a directory of the test's own."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))


def register(run_id: str = "r1") -> Register:
    """An entered run."""
    return Register(run_id, Path("/results"), FakeClock())


def test_what_was_made_and_not_unmade_is_known(tmp_path: Path) -> None:
    """In the order of its making."""
    book = register()
    first = book.making("directory", {"path": "/x"})
    book.making("mark", {"path": "/x"})
    book.unmade(first)
    found = read_registered(book.path)
    assert found is not None
    assert (found.run_id, found.directory, found.kept) == ("r1", Path("/results"), False)
    assert found.is_running
    assert [(each.kind, each.facts) for each in found.makings] == [("mark", {"path": "/x"})]


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
    book.making("directory", {"path": str(tmp_path / "x")})
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
    book.making("directory", {"path": str(tmp_path / "x")})
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
    book.making("mark", {"path": "/x"})
    book.keep()
    book.close(remove=False)
    text = book.path.read_text()
    book.path.write_text(text.replace(boot_id(), "another boot"))
    again = register()
    found = read_registered(again.path)
    assert found is not None
    assert (found.is_running, found.kept) == (True, False)
    assert [each.kind for each in found.makings] == ["mark"]


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
