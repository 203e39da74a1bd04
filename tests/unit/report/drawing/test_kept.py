"""A text that is kept is used only as it was written, by who wrote it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from stithy.report.drawing.compact import kept
from stithy.report.drawing.draw import _bundle, library


class Maker:
    """Counts how often the text was made."""

    made = 0

    def __call__(self) -> str:
        """The text."""
        self.made += 1
        return "a text <é 😀>"


@pytest.fixture
def maker() -> Maker:
    """One that has made nothing."""
    return Maker()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder that is not there yet."""
    return tmp_path / "cache" / "stithy"


def ask(home: Path, maker: Maker, times: int = 2) -> list[str]:
    """The text, so many times, as processes one after the other would get it."""
    return [kept(lambda: home, "text", maker) for _ in range(times)]


def test_it_is_made_once(home: Path, maker: Maker) -> None:
    """And nobody but its owner may look into the folder."""
    assert set(ask(home, maker, 3)) == {"a text <é 😀>"}
    assert maker.made == 1
    assert home.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in home.iterdir()] == ["text"]
    assert (home / "text").stat().st_mode & 0o777 == 0o600


def opened_to_others(path: Path) -> None:
    """Others may write to it."""
    path.chmod(0o666)


def changed(path: Path) -> None:
    """Its text is another."""
    path.write_bytes(path.read_bytes().replace(b"text", b"evil"))


def cut_short(path: Path) -> None:
    """A crash came in between."""
    path.write_bytes(path.read_bytes()[:-3])


def emptied(path: Path) -> None:
    """Nothing is left."""
    path.write_bytes(b"")


def led_elsewhere(path: Path) -> None:
    """It leads to a copy of itself."""
    path.rename(path.with_name("other"))
    path.symlink_to("other")


@pytest.mark.parametrize("deed", [opened_to_others, changed, cut_short, emptied, led_elsewhere])
def test_a_file_that_is_not_what_was_written_is_made_again(
    home: Path, maker: Maker, deed: Callable[[Path], None]
) -> None:
    """Whatever became of it; and what is made then is kept."""
    ask(home, maker)
    deed(home / "text")
    assert set(ask(home, maker)) == {"a text <é 😀>"}
    assert maker.made == 2


def test_a_folder_that_others_may_write_to_is_not_used(home: Path, maker: Maker) -> None:
    """Nothing is read from it, and nothing put there."""
    ask(home, maker)
    home.chmod(0o777)
    changed(home / "text")
    before = (home / "text").read_bytes()
    assert set(ask(home, maker)) == {"a text <é 😀>"}
    assert maker.made == 3
    assert (home / "text").read_bytes() == before


def test_what_is_kept_of_the_libraries_is_what_is_bundled() -> None:
    """A page is the same, whether it was the first or not."""
    assert library() == _bundle()
