"""MariaDB as an engine: makes a database, starts servers on its files.

Every instance listens on a Unix socket in a private directory, and on no other way but the link of
a load driver elsewhere, asks for a generated password, and runs without rights of its own. One
password serves all candidates of a run, because all get a copy of the same files. What a server is
told stands on its command line: its files hold nothing of a candidate.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from glob import glob
from os.path import expanduser
from pathlib import Path
from typing import ClassVar

from stithy.engines.engine import UNDO_FOLDER, get_engine
from stithy.engines.instance import Configuration, Installation, Request, Start
from stithy.engines.mariadb import KEY_BLOCK, TEMP_FILE, normalise_settings
from stithy.engines.mariadb.backups import find_tool
from stithy.engines.mariadb.connection import is_mariadb, parse_version, quote_text
from stithy.engines.mariadb.server import SOCKET, MariaDBServer, MySQLServer
from stithy.engines.mariadb.settings import (
    LOADING,
    LOG_FOLDER,
    MARIADB,
    MYSQL,
    TEMP_FOLDER,
    Product,
    SettingsProbe,
    complete,
    list_options,
    place_binlog,
)
from stithy.engines.mariadb.url import ADMIN, DATABASE, ROLE
from stithy.engines.served import BackupTools, choose_installation, require_short, run_as_user
from stithy.environment import search_path
from stithy.errors import InfrastructureError, PreconditionError, Problems
from stithy.hosts import links
from stithy.hosts.host import Host
from stithy.hosts.runner import Command

PLACES = ("/usr/sbin", "/usr/libexec", "/usr/local/mysql/bin", "/usr/local/mariadb/bin",
          "/opt/mariadb*/bin")  # fmt: skip


def find_installation(
    host: Host,
    places: Sequence[Path] | None = None,
    wanted: str | None = None,
    product: Product = MARIADB,
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
    probed = (_probe(host, folder, problems, product) for folder in searched)
    distinct = {found.programs: found for found in probed if found}.values()
    installed = sorted(distinct, key=lambda one: parse_version(one.version), reverse=True)
    none = PreconditionError(
        "; ".join(problems) or f"no {product.name} server programs were found", where=where,
        remedy=f"install them: {product.package.install()}; {product.otherwise}",
    )  # fmt: skip
    return choose_installation(
        product.name, installed, wanted,
        lambda version: f"{version}.".startswith(f"{wanted}."), none,
    )  # fmt: skip


def _probe(host: Host, folder: Path, problems: list[str], product: Product) -> Installation | None:
    """Run the server's program of a folder, as the user it will run as; None if it is unfit."""
    program = folder / product.program
    if not os.access(program, os.X_OK):
        return None
    real = program.resolve().parent
    finished = run_as_user(
        host, Command([str(real / product.program), "--no-defaults", "--version"])
    )
    found = re.search(r"\bVer (\S+)", finished.stdout)
    if finished.code != 0 or found is None:
        last = finished.stderr.strip().splitlines() or ["no message"]
        who = f"user {host.user.name}" if host.user else "this user"
        problems.append(f"{who} cannot run {program} ({last[-1]})")
        return None
    if is_mariadb(found[1]) != (product is MARIADB):  # either has a `mysqld`
        return None
    numbers = parse_version(found[1])
    version = ".".join(map(str, numbers))
    if numbers < product.oldest:
        oldest = ".".join(map(str, product.oldest))
        problems.append(f"{real} has version {version}, older than {oldest}")
        return None
    if not os.access(find_tool(real, product.installer), os.X_OK):
        problems.append(f"{real} lacks {product.installer}")
        return None
    return Installation(real, version)


MYSQL_LOG = "#innodb_redo"
INSTALL_WORDS = (
    "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve",
)  # fmt: skip


class MariaDB:
    """MariaDB as a study asks for it."""

    product = MARIADB
    server: ClassVar[type[MariaDBServer]] = MariaDBServer
    log_folder = LOG_FOLDER
    temp_places: ClassVar[Sequence[str]] = ()
    """Settings for directories with temporary files, beside `tmpdir`."""

    @property
    def program(self) -> str:
        """That of its servers."""
        return self.product.program

    def __init__(self, request: Request) -> None:
        self._request = request
        self._found: Installation | None = None

    def check(self) -> Installation:
        """Find the programs and try all settings."""
        request, problems = self._request, Problems()
        self._found = find_installation(request.host, wanted=request.programs, product=self.product)
        programs = self._found.programs
        probe = SettingsProbe(request.host.runner, programs / self.program, self.product.name)
        shared, most = request.configuration, request.connections_max
        problems.attempt(partial(probe.check, shared, self._complete(shared), most))
        for where, own in request.own:
            completed = self._complete(own)
            problems.attempt(partial(probe.check, own, completed, most, where=where, shared=shared))
        tools = BackupTools(get_engine(self.product.name.lower()), request, programs)
        tools.check(problems)
        problems.refuse("the database's settings")
        probe.check_open_files(self._complete(shared))
        return replace(self._found, backups=tools.identify())

    def initialise(self, data: Path, scratch: Path) -> None:
        """Make an empty database, with two accounts that have the generated password."""
        self._make_files(data)
        self._make_accounts(data, scratch)

    def _make_files(self, data: Path) -> None:
        for name in (LOG_FOLDER, UNDO_FOLDER, TEMP_FOLDER):
            self._make_folder(data / name)
        self._install(data, INSTALL_WORDS, {})

    def _install(self, data: Path, words: Sequence[str], more: Mapping[str, str]) -> None:
        """Run what makes the files of a database."""
        settings = {**self._complete(self._request.configuration), **LOADING, **more}
        program = find_tool(self._make_installation().programs, self.product.installer)
        asked = [str(program), "--no-defaults", f"--datadir={data}", *words]
        command = self._make_command([*asked, *list_options(settings)])
        finished = self._request.host.runner.run(command)
        if finished.code != 0:
            lines = (finished.stderr or finished.stdout).strip().splitlines()
            raise InfrastructureError(
                f"{program.name} failed: {' | '.join(lines[-3:])}",
                where=str(data),
                remedy="correct what it names, then run again",
            )

    def _make_accounts(self, data: Path, scratch: Path) -> None:
        """Start the server once with a file of statements that it alone may read."""
        file, log = scratch / "first.sql", scratch / "first.log"
        try:
            fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(fd, "w") as written:
                written.write(
                    make_first_statements(self._request.password.reveal(), self.product.remove_root)
                )
            self._own(file)
            start = Start(data, scratch, log, loading=True, more={"init_file": str(file)})
            self.start(start).stop()
        finally:
            file.unlink(missing_ok=True)
            log.unlink(missing_ok=True)

    def start(self, start: Start) -> MariaDBServer:
        """Start a server and wait until it answers."""
        socket = start.sockets / SOCKET
        require_short(socket)
        temp = start.temp or start.data / TEMP_FOLDER
        for folder in (start.data / LOG_FOLDER, temp):  # which a backup does not hold
            self._make_folder(folder)
        places = {
            "datadir": str(start.data), "socket": str(socket), "tmpdir": str(temp),
            "pid_file": str(start.sockets / "pid"),
        }  # fmt: skip
        configuration = start.own or self._request.configuration
        settings = self._complete(configuration)
        if start.temp is not None:
            # A name in another directory is one seen from the data directory.
            name = settings.get(TEMP_FILE, "ibtmp1:12M:autoextend")
            settings[TEMP_FILE] = f"{os.path.relpath(start.temp, start.data)}/{name}"
            places |= dict.fromkeys(self.temp_places, str(start.temp))
        settings |= {**(LOADING if start.loading else {}), **start.more}
        if start.address is not None:
            settings |= {"skip_networking": "OFF", "bind_address": start.address}
        port = 0
        if settings["skip_networking"] == "OFF":
            port = links.find_free_port(start.address or "127.0.0.1")
            places["port"] = str(port)
        asked = [str(self._make_installation().programs / self.program), "--no-defaults"]
        command = replace(
            self._make_command([*asked, *list_options({**place_binlog(settings), **places})]),
            memory_cgroup=start.memory_cgroup,
            detached=True,
            cpus=start.cpus,
        )
        spawn = partial(self._request.host.runner.start, command, stderr=start.log)
        key_block = normalise_settings(configuration.settings).get(KEY_BLOCK, "")
        server = self.server(spawn, start, self._request.password, key_block, port)
        server.wait_until_ready()
        return server

    def _make_command(self, argv: list[str]) -> Command:
        user = self._request.host.user
        environment = {"LC_ALL": "C", "TZ": "UTC"}
        return Command(argv, user=user.name if user else None, environment=environment)

    def _complete(self, configuration: Configuration) -> dict[str, str]:
        request = self._request
        return complete(configuration, request.connections_max, request.window_s, self.product)

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


class MySQL(MariaDB):
    """MySQL as a study asks for it: the server itself makes its files."""

    product, server = MYSQL, MySQLServer
    temp_places = ("innodb_temp_tablespaces_dir",)

    def _make_files(self, data: Path) -> None:
        """Make them in what must be empty; the log is put where servers have it."""
        self._install(data, ("--initialize-insecure",), {"innodb_log_group_home_dir": str(data)})
        for name in (LOG_FOLDER, TEMP_FOLDER):
            self._make_folder(data / name)
        os.rename(data / MYSQL_LOG, data / LOG_FOLDER / MYSQL_LOG)


def make_first_statements(password: str, remove_root: str) -> str:
    """Make the database, the account of users and Stithy's own; those that came with it go."""
    word = quote_text(password)
    statements = (
        f"CREATE DATABASE {DATABASE} CHARACTER SET latin1 COLLATE latin1_bin",
        remove_root,
        "FLUSH PRIVILEGES",
        f"CREATE USER {ROLE}@localhost IDENTIFIED BY {word}",
        f"GRANT ALL ON {DATABASE}.* TO {ROLE}@localhost",
        f"CREATE USER {ROLE}@'{links.TESTS.with_netmask}' IDENTIFIED BY {word}",
        f"GRANT ALL ON {DATABASE}.* TO {ROLE}@'{links.TESTS.with_netmask}'",
        f"CREATE USER {ADMIN}@localhost IDENTIFIED BY {word}",
        f"GRANT ALL ON *.* TO {ADMIN}@localhost WITH GRANT OPTION",
    )
    return "".join(f"{statement};\n" for statement in statements)
