"""A private PostgreSQL instance for a bench: own directory, Unix socket, no rights, then gone."""

import os
import pwd
import secrets
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from urllib.parse import quote

from processes import run

# As a person would set a small machine up; everything else, fsync included, is the default.
SETTINGS = {"shared_buffers": "2GB", "max_wal_size": "8GB", "max_connections": "100"}
PLACES = ("/usr/lib/postgresql", "/usr/pgsql-")


@dataclass(frozen=True)
class Instance:
    """A running instance; `programs` is the directory of PostgreSQL's own programs."""

    programs: Path
    sockets: Path
    user: str
    password: str

    @property
    def environment(self) -> dict[str, str]:
        """What PostgreSQL's own programs need to reach it."""
        return {"PGHOST": str(self.sockets), "PGUSER": self.user, "PGPASSWORD": self.password}

    def url(self, database: str) -> str:
        """What the hammer needs to reach a database."""
        return (
            f"postgresql://{self.user}:{self.password}@/{database}?host={quote(str(self.sockets))}"
        )

    def program(self, name: str) -> str:
        """One of PostgreSQL's programs."""
        return str(self.programs / name)

    def sql(self, text: str, database: str = "postgres") -> list[list[str]]:
        """The rows of a statement, as texts."""
        command = [self.program("psql"), "-XAqt", "-v", "ON_ERROR_STOP=1", "-d", database]
        ended = run(command, stdin=text, environment=self.environment)
        return [line.split("|") for line in ended.stdout.splitlines()]

    def renew(self, database: str) -> None:
        """Make the database empty, and let no work of before weigh on what follows."""
        self.sql(f"DROP DATABASE IF EXISTS {database}")
        self.sql(f"CREATE DATABASE {database}")
        self.settle()

    def settle(self) -> None:
        """Let no work of before weigh on what follows."""
        self.sql("CHECKPOINT")


def find_programs(wanted: int = 15) -> Path:
    """The directory with PostgreSQL's programs: the wanted version, or else the newest there is."""
    found = {}
    for folder in [*Path("/usr/lib/postgresql").glob("*/bin"), *Path("/usr").glob("pgsql-*/bin")]:
        if (folder / "initdb").exists() and (folder / "pgbench").exists():
            found[int(folder.parent.name.removeprefix("pgsql-"))] = folder
    if found:
        return found.get(wanted) or found[max(found)]
    on_path = shutil.which("pgbench")
    if on_path and (Path(on_path).resolve().parent / "initdb").exists():
        return Path(on_path).resolve().parent
    raise SystemExit("no PostgreSQL server with pgbench: run `make setup`, then start again")


def _unprivileged() -> tuple[list[str], int, int]:
    """How to run something as a user without rights: a prefix, and the ids of that user."""
    if os.geteuid() != 0:
        return [], os.geteuid(), os.getegid()
    try:
        user = pwd.getpwnam("postgres")
    except KeyError:
        user = pwd.getpwnam("nobody")
    ids = [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--"]
    return ["setpriv", *ids], user.pw_uid, user.pw_gid


@contextmanager
def started(
    place: Path = Path("/var/tmp"), settings: Mapping[str, str] = SETTINGS
) -> Iterator[Instance]:
    """An instance that is gone, with all its files, when the block ends, by SIGTERM too.

    `place`: a directory on a file system that anybody may enter.
    """
    signal.signal(signal.SIGTERM, stop)
    prefix, uid, gid = _unprivileged()
    programs = find_programs()
    home = Path(tempfile.mkdtemp(prefix="stithy-bench-", dir=place))
    password = secrets.token_hex(16)
    try:
        secret = home / "password"
        secret.touch(mode=0o600)
        secret.write_text(password)
        for path in (home, secret):
            os.chown(path, uid, gid)
        _initialise(prefix, programs, home, secret)
        secret.unlink()
        control = [*prefix, str(programs / "pg_ctl"), "-D", str(home / "data"), "-w", "-s"]
        run([*control, "-l", str(home / "log"), "-o", _options(home, settings), "start"])
        try:
            yield Instance(programs, home, "postgres", password)
        finally:
            run([*control, "-m", "fast", "stop"])
    finally:
        shutil.rmtree(home)


def stop(signal_number: int, frame: object) -> NoReturn:
    """End through the blocks that clean up."""
    raise SystemExit(128 + signal_number)


def _initialise(prefix: list[str], programs: Path, home: Path, secret: Path) -> None:
    initdb = [str(programs / "initdb"), "-D", str(home / "data"), "-U", "postgres"]
    options = ["-A", "scram-sha-256", f"--pwfile={secret}", "--locale=C", "-E", "UTF8"]
    run([*prefix, *initdb, *options])


def _options(home: Path, settings: Mapping[str, str]) -> str:
    chosen = " ".join(f"-c {name}={value}" for name, value in settings.items())
    return f"-k {home} -c listen_addresses='' {chosen}"
