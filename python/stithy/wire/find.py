"""Where a native program is: installed beside Stithy, built in a checkout, or on the PATH."""

import os
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path

from stithy.environment import search_path
from stithy.errors import PreconditionError

HAMMER = "stithy-hammer"
DRIVE = "stithy-drive"


def find_program(name: str, places: Sequence[Path] | None = None) -> Path:
    """The program's file, from the first of `places` that has it (default: `default_places()`).

    Raises PreconditionError, with how to get it, where none does.
    """
    searched = default_places() if places is None else places
    for place in searched:
        if _is_program(candidate := place / name):
            return candidate
    raise PreconditionError(
        f"the program {name} was not found",
        where=f"{len(searched)} directories, from {searched[0]}" if searched else "no directory",
        remedy="install Stithy (`pip install .`), or build it with `cargo build --release`",
    )


def default_places() -> list[Path]:
    """Directories to search, best first.

    The installation that runs now wins over a checkout, so that an installed Stithy never picks up
    a half-built program; a checkout wins over the PATH, so that one's own build is what is tested.
    """
    return list(dict.fromkeys([*_installed(), *_built(Path(__file__)), *search_path()]))


def _installed() -> Iterable[Path]:
    yield Path(sys.executable).parent
    yield Path(sysconfig.get_path("scripts"))


def _built(module: Path) -> Iterable[Path]:
    """`target/` of the checkout that holds `module`, if it is in one."""
    for parent in module.resolve().parents:
        if (parent / "Cargo.toml").is_file() and (parent / "crates").is_dir():
            yield parent / "target" / "release"
            yield parent / "target" / "debug"
            return


def _is_program(path: Path) -> bool:
    # A folder of the PATH may be closed to this user, at which Path.is_file would fail.
    return os.path.isfile(path) and os.access(path, os.X_OK)
