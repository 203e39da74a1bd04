"""MariaDB as an engine: makes a database, starts servers on its files.

Every instance listens on a Unix socket in a private directory only, asks for a generated password,
and runs without rights of its own. One password serves all candidates of a run, because all get a
copy of the same files. What a server is told stands on its command line: its files hold nothing of
a candidate.
"""

import os
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from stithy.engines.instance import Configuration, Installation, Request, Start
from stithy.engines.mariadb import PLUGINS
from stithy.engines.mariadb.backups import find_tool
from stithy.engines.mariadb.connection import quote_text
from stithy.engines.mariadb.programs import INSTALL, PROGRAM, find_installation
from stithy.engines.mariadb.server import SOCKET, MariaDBServer
from stithy.engines.mariadb.settings import (
    LOADING,
    LOG_FOLDER,
    TEMP_FOLDER,
    SettingsProbe,
    complete,
    list_options,
)
from stithy.engines.mariadb.url import ADMIN, DATABASE, ROLE
from stithy.errors import InfrastructureError, PreconditionError, Problems
from stithy.hosts.runner import Command, Finished

START_PATIENCE_S = 300.0
"""How long a start may take; recovery after a crash reads the log again."""

SOCKET_BYTES_MAX = 107
"""Length of the kernel's sun_path, terminator apart."""

INSTALL_WORDS = (
    "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve",
)  # fmt: skip


class MariaDB:
    """MariaDB as a study asks for it."""

    program = PROGRAM
    log_folder = LOG_FOLDER

    def __init__(self, request: Request) -> None:
        """Nothing is looked for before `check`."""
        self._request = request
        self._found: Installation | None = None

    def check(self) -> Installation:
        """Find the programs and try all settings."""
        request, problems = self._request, Problems()
        self._found = find_installation(request.host, wanted=request.programs)
        programs = self._found.programs
        probe = SettingsProbe(request.host.runner, programs / PROGRAM)
        shared, most = request.configuration, request.connections_max
        problems.attempt(partial(probe.check, shared, self._complete(shared), most))
        for where, own in request.own:
            completed = self._complete(own)
            problems.attempt(partial(probe.check, own, completed, most, where=where, shared=shared))
        for name, options in request.backups:
            method = PLUGINS[0].get_backup(name)
            problems.attempt(partial(method.check_installed, options, programs, self._run))
        problems.refuse("the database's settings")
        probe.check_open_files(self._complete(shared))
        made = {
            name: PLUGINS[0].get_backup(name).identify_tool(programs, self._run)
            for name in dict(request.backups)
        }
        return replace(self._found, backups=made)

    def _run(self, command: Command) -> Finished:
        user = self._request.host.user
        own = replace(command, user=user.name if user else None)
        return self._request.host.runner.run(own, timeout_s=30)

    def initialise(self, data: Path, scratch: Path) -> None:
        """Make an empty database, with two accounts that have the generated password."""
        for name in (LOG_FOLDER, TEMP_FOLDER):
            self._make_folder(data / name)
        settings = {**self._complete(self._request.configuration), **LOADING}
        program = str(find_tool(self._make_installation().programs, INSTALL))
        asked = [program, "--no-defaults", f"--datadir={data}", *INSTALL_WORDS]
        command = self._make_command([*asked, *list_options(settings)])
        finished = self._request.host.runner.run(command)
        if finished.code != 0:
            lines = (finished.stderr or finished.stdout).strip().splitlines()
            raise InfrastructureError(
                f"{INSTALL} failed: {' | '.join(lines[-3:])}",
                where=str(data),
                remedy="correct what it names, then run again",
            )
        self._make_accounts(data, scratch)

    def _make_accounts(self, data: Path, scratch: Path) -> None:
        """Start the server once with a file of statements that it alone may read."""
        file, log = scratch / "first.sql", scratch / "first.log"
        try:
            fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(fd, "w") as written:
                written.write(make_first_statements(self._request.password.reveal()))
            self._own(file)
            start = Start(data, scratch, log, loading=True, more={"init_file": str(file)})
            self.start(start).stop()
        finally:
            file.unlink(missing_ok=True)
            log.unlink(missing_ok=True)

    def start(self, start: Start) -> MariaDBServer:
        """Start a server and wait until it answers."""
        socket = start.sockets / SOCKET
        if len(os.fsencode(socket)) > SOCKET_BYTES_MAX:
            raise PreconditionError(
                f"the socket's path has more than {SOCKET_BYTES_MAX} bytes",
                where=str(socket),
                remedy="choose a shorter directory for sockets",
            )
        temp = start.temp or start.data / TEMP_FOLDER
        for folder in (start.data / LOG_FOLDER, temp):  # which a backup does not hold
            self._make_folder(folder)
        places = {
            "datadir": str(start.data), "socket": str(socket), "tmpdir": str(temp),
            "pid_file": str(start.sockets / "pid"),
        }  # fmt: skip
        settings = self._complete(start.own or self._request.configuration)
        settings |= {**(LOADING if start.loading else {}), **start.more}
        asked = [str(self._make_installation().programs / PROGRAM), "--no-defaults"]
        command = replace(
            self._make_command([*asked, *list_options({**settings, **places})]),
            memory_cgroup=start.memory_cgroup,
            detached=True,
            cpus=start.cpus,
        )
        running = self._request.host.runner.start(command, stderr=start.log)
        server = MariaDBServer(running, start, self._request.password)
        _wait_until_ready(server)
        return server

    def _make_command(self, argv: list[str]) -> Command:
        user = self._request.host.user
        environment = {"LC_ALL": "C", "TZ": "UTC"}
        return Command(argv, user=user.name if user else None, environment=environment)

    def _complete(self, configuration: Configuration) -> dict[str, str]:
        request = self._request
        return complete(configuration, request.connections_max, request.window_s)

    def _make_installation(self) -> Installation:
        return self._found or self.check()

    def _make_folder(self, path: Path) -> None:
        if not path.parent.exists() or path.is_symlink():
            return
        path.mkdir(mode=0o700, exist_ok=True)
        self._own(path)

    def _own(self, path: Path) -> None:
        if user := self._request.host.user:
            os.chown(path, user.uid, user.gid)


def make_first_statements(password: str) -> str:
    """Make the database, the account of users and Stithy's own; those that came with it go."""
    word = quote_text(password)
    statements = (
        f"CREATE DATABASE {DATABASE} CHARACTER SET latin1 COLLATE latin1_bin",
        "DELETE FROM mysql.global_priv WHERE User = 'root'",
        "FLUSH PRIVILEGES",
        f"CREATE USER {ROLE}@localhost IDENTIFIED BY {word}",
        f"GRANT ALL ON {DATABASE}.* TO {ROLE}@localhost",
        f"CREATE USER {ADMIN}@localhost IDENTIFIED BY {word}",
        f"GRANT ALL ON *.* TO {ADMIN}@localhost WITH GRANT OPTION",
    )
    return "".join(f"{statement};\n" for statement in statements)


def _wait_until_ready(server: MariaDBServer) -> None:
    """Return when a probe succeeded; a server that ends before is an error with its last words."""
    deadline = time.monotonic() + START_PATIENCE_S
    while not server.can_answer():
        if ended := server.ended_by():
            raise InfrastructureError(
                f"MariaDB {ended} while starting: {server.last_words()}",
                where=str(server.data),
                remedy="correct what it names (a setting, space, memory), then run again",
            )
        if time.monotonic() > deadline:
            server.stop(at_once=True)
            raise InfrastructureError(
                f"MariaDB did not answer within {START_PATIENCE_S:g} s",
                where=str(server.data),
                remedy=f"read {server.log}; a device that hangs is the usual cause",
            )
        time.sleep(0.02)
