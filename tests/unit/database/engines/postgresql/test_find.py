"""The newest complete set of server programs that the user can run is chosen."""

from pathlib import Path

import pytest

from stithy.database.engines.postgresql.find import find_installation
from stithy.errors import PreconditionError
from stithy.hosts.runner import LocalRunner


def programs(folder: Path, version: str, names: tuple[str, ...] = ("initdb", "pg_ctl")) -> Path:
    """A folder with programs that only tell their version."""
    folder.mkdir(parents=True)
    for name in ("postgres", *names):
        (folder / name).write_text(f"#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n")
        (folder / name).chmod(0o755)
    return folder


def test_the_newest_version_wins_wherever_it_is(tmp_path: Path) -> None:
    """By number, not by the order of its digits."""
    folders = [programs(tmp_path / each, each) for each in ("15.4", "9.6", "16.10", "16.9")]
    found = find_installation(LocalRunner(), None, folders)
    assert (found.programs, found.version) == (tmp_path / "16.10", "16.10")


def test_an_incomplete_set_is_not_chosen_and_told_if_nothing_else_is_there(tmp_path: Path) -> None:
    """Distributions have client packages too."""
    folder = programs(tmp_path / "a", "15.4", names=("pg_ctl",))
    with pytest.raises(PreconditionError, match=f"{folder} lacks initdb"):
        find_installation(LocalRunner(), None, [folder])


def test_a_version_that_is_too_old_is_told(tmp_path: Path) -> None:
    """With the oldest that would do."""
    folder = programs(tmp_path / "a", "11.2")
    with pytest.raises(PreconditionError, match="has version 11, older than 14"):
        find_installation(LocalRunner(), None, [folder])


def test_without_any_programs_the_remedy_names_both_ways_to_get_them(tmp_path: Path) -> None:
    """The distribution's, and the package for those without root."""
    with pytest.raises(PreconditionError) as caught:
        find_installation(LocalRunner(), None, [tmp_path])
    assert "no PostgreSQL server programs were found" in str(caught.value)
    assert "apt-get install postgresql" in caught.value.remedy
    assert "stithy[postgresql]" in caught.value.remedy


def test_a_link_leads_to_the_folder_of_the_real_programs(tmp_path: Path) -> None:
    """They find their other files beside themselves."""
    real = programs(tmp_path / "real", "15.4")
    (tmp_path / "bin").mkdir()
    for path in real.iterdir():
        (tmp_path / "bin" / path.name).symlink_to(path)
    assert find_installation(LocalRunner(), None, [tmp_path / "bin"]).programs == real


def test_a_beta_is_a_version_too(tmp_path: Path) -> None:
    """Its name is kept."""
    folder = programs(tmp_path / "a", "19beta1")
    assert find_installation(LocalRunner(), None, [folder]).version == "19beta1"
