"""Files that were made are told from files that were renamed."""

from pathlib import Path

from stithy.hosts.births import births, made_between


def test_a_renamed_file_was_not_made(tmp_path: Path) -> None:
    """A server recycles its log files in this way."""
    (tmp_path / "1").write_text("log")
    (tmp_path / "folder").mkdir()
    before = births(tmp_path)
    (tmp_path / "1").rename(tmp_path / "2")
    assert made_between(before, births(tmp_path)) == 0
    (tmp_path / "3").write_text("log")
    assert made_between(before, births(tmp_path)) == 1


def test_a_file_with_the_inode_of_a_removed_one_was_made(tmp_path: Path) -> None:
    """Its birth time tells; file systems give inode numbers again at once."""
    for number in range(20):
        before = births(tmp_path)
        path = tmp_path / str(number)
        path.write_text("log")
        after = births(tmp_path)
        path.unlink()
        assert made_between(before, after) == 1


def test_of_a_missing_directory_nothing_is_known(tmp_path: Path) -> None:
    """None, and not 0."""
    assert births(tmp_path / "none") is None
    assert made_between(None, births(tmp_path)) is None
    assert made_between(births(tmp_path), None) is None
