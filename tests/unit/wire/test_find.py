"""Where native programs are looked for."""

from pathlib import Path

import pytest

from stithy.errors import PreconditionError
from stithy.wire.find import default_places, find_program


def program(folder: Path, mode: int = 0o755) -> Path:
    """A file called `stithy-x` in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "stithy-x"
    path.write_text("")
    path.chmod(mode)
    return path


def test_the_first_place_that_has_it_wins(tmp_path: Path) -> None:
    """Places are searched in their order; what cannot be executed is passed over."""
    program(tmp_path / "a", 0o644)
    wanted = program(tmp_path / "b")
    program(tmp_path / "c")
    assert find_program("stithy-x", [tmp_path / each for each in "abc"]) == wanted


def test_a_missing_program_is_a_precondition_with_a_remedy(tmp_path: Path) -> None:
    """The message says how to get it."""
    with pytest.raises(PreconditionError, match="cargo build --release"):
        find_program("stithy-x", [tmp_path])


def test_a_checkout_is_searched_after_the_installation_and_before_the_path(root: Path) -> None:
    """One's own release build comes before its debug build."""
    places = default_places()
    release, debug = (places.index(root / "target" / each) for each in ("release", "debug"))
    assert 0 < release < debug
