"""Where MariaDB's programs are on a machine, and which version of them is used.

Distributions put the server where an ordinary user does not look for programs, and the others
elsewhere.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from glob import glob
from os.path import expanduser
from pathlib import Path

from stithy.engines.instance import Installation
from stithy.engines.mariadb.backups import find_tool
from stithy.engines.mariadb.connection import parse_version
from stithy.environment import search_path
from stithy.errors import PreconditionError
from stithy.hosts.host import Host
from stithy.hosts.runner import Command
from stithy.needs import Package

PROGRAM, INSTALL = "mariadbd", "mariadb-install-db"
PLACES = ("/usr/sbin", "/usr/libexec", "/usr/local/mysql/bin", "/usr/local/mariadb/bin",
          "/opt/mariadb*/bin")  # fmt: skip

SERVER = Package("mariadb-server-core mariadb-client", "mariadb-server")
OLDEST = (10, 6)
"""Versions before are no longer maintained, and lack JSON_TABLE."""


def find_installation(
    host: Host, places: Sequence[Path] | None = None, wanted: str | None = None
) -> Installation:
    """Find a complete set of programs that its user can run: the newest, or what a study wants.

    `wanted`: a version or its beginning, or a directory.

    Raises PreconditionError where there is none, with what was found instead.
    """
    usual = (Path(path) for pattern in PLACES for path in sorted(glob(pattern)))
    searched = list(dict.fromkeys([*search_path(), *usual]) if places is None else places)
    where = f"{len(searched)} directories, PATH among them"
    if wanted and "/" in wanted:
        searched, where, wanted = [Path(expanduser(wanted))], wanted, None
    problems: list[str] = []
    probed = (_probe(host, folder, problems) for folder in searched)
    distinct = {found.programs: found for found in probed if found}.values()
    installed = sorted(distinct, key=lambda one: parse_version(one.version), reverse=True)
    for installation in installed:
        if wanted is None or f"{installation.version}.".startswith(f"{wanted}."):
            others = [other for other in installed if other is not installation]
            return replace(installation, others=others)
    if installed:
        raise PreconditionError(
            f"MariaDB {wanted} is not installed",
            where="database.programs",
            remedy=f"install it, or use what is installed: {', '.join(map(str, installed))}",
        )
    raise PreconditionError(
        "; ".join(problems) or "no MariaDB server programs were found",
        where=where,
        remedy=f"install them: {SERVER.install()}; a MySQL server is measured by its URL",
    )


def _probe(host: Host, folder: Path, problems: list[str]) -> Installation | None:
    """Run the server's program of a folder, as the user it will run as; None if it is unfit."""
    program = folder / PROGRAM
    if not os.access(program, os.X_OK):
        return None
    real = program.resolve().parent
    user = host.user.name if host.user else None
    finished = host.runner.run(
        Command([str(real / PROGRAM), "--no-defaults", "--version"], user=user), timeout_s=30
    )
    found = re.search(r"\bVer (\S+)", finished.stdout)
    if finished.code != 0 or found is None:
        last = finished.stderr.strip().splitlines() or ["no message"]
        problems.append(
            f"{f'user {user}' if user else 'this user'} cannot run {program} ({last[-1]})"
        )
        return None
    numbers = parse_version(found[1])
    version = ".".join(map(str, numbers))
    if numbers < OLDEST:
        problems.append(f"{real} has version {version}, older than {'.'.join(map(str, OLDEST))}")
        return None
    if not os.access(find_tool(real, INSTALL), os.X_OK):
        problems.append(f"{real} lacks {INSTALL}")
        return None
    return Installation(real, version)
