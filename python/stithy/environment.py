"""The environment variables that Stithy reads, all of them, in one place."""

import os
from pathlib import Path

from stithy.errors import PreconditionError


def state_home() -> Path:
    """Directory in which runs are registered so that `stithy clean` finds them.

    `STITHY_STATE` wins; root uses /var/lib/stithy; others follow the XDG base directories. Raises
    PreconditionError for a user without a home.
    """
    if chosen := os.environ.get("STITHY_STATE"):
        return Path(chosen)
    if os.geteuid() == 0:
        return Path("/var/lib/stithy")
    if base := os.environ.get("XDG_STATE_HOME"):
        return Path(base) / "stithy"
    try:
        return Path.home() / ".local" / "state" / "stithy"
    except RuntimeError as error:  # a user without an entry, as containers may have
        problem, remedy = "this user has no home directory", "set HOME, or STITHY_STATE"
        raise PreconditionError(problem, where="HOME", remedy=remedy) from error


def find_cache_home() -> Path:
    """Directory for what can be made again at any time, and takes long to make.

    Root uses /var/cache/stithy; others follow the XDG base directories. Raises RuntimeError for a
    user without a home.
    """
    if os.geteuid() == 0:
        return Path("/var/cache/stithy")
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "stithy"


def search_path() -> list[Path]:
    """Directories of PATH, in order, empty entries left out."""
    return _list_paths("PATH")


def list_plugin_folders() -> tuple[Path, ...]:
    """Directories with plug-ins of one's own (STITHY_PLUGINS), separated as in PATH."""
    return tuple(_list_paths("STITHY_PLUGINS"))


def _list_paths(name: str) -> list[Path]:
    return [Path(entry) for entry in os.environ.get(name, "").split(os.pathsep) if entry]


_FORGOTTEN: dict[str, str] = {}
"""What `forget` removed: a person may have named one of these."""


def read_variable(name: str) -> str | None:
    """One that a person has named, such as the variable with a password; None where it is empty."""
    return os.environ.get(name) or _FORGOTTEN.get(name) or None


def forbids_colour() -> bool:
    """Whether the person asked for plain text (NO_COLOR)."""
    return bool(os.environ.get("NO_COLOR"))


def copy_for_processes(without: tuple[str, ...]) -> dict[str, str]:
    """The environment for processes that Stithy starts.

    Variables that begin `without` are those with which engines and their clients are told things: a
    server of a study must see what the study says, not what the person's shell happens to hold.
    """
    return {name: value for name, value in os.environ.items() if not name.startswith(without)}


def forget(begin: str, *, but: tuple[str, ...]) -> None:
    """Remove the variables that begin so from this process, for a library that would obey them."""
    for name in [name for name in os.environ if name.startswith(begin) and name not in but]:
        _FORGOTTEN[name] = os.environ.pop(name)
