"""A PostgreSQL that runs already, on loopback and with a password, as a study by URL finds it."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from stithy.engines.postgresql.connection import connect
from stithy.engines.postgresql.engine import find_installation
from stithy.engines.postgresql.url import parse_url
from stithy.errors import StithyError
from stithy.hosts.host import LocalHost
from stithy.hosts.links import find_free_port
from stithy.hosts.processes import end
from stithy.hosts.runner import Command, LocalRunner, Running
from stithy.secrets import Secret
from support import servers

WORD, QUOTED = "it's a 'secret'/?", "it%27s%20a%20%27secret%27%2F%3F"
PATIENCE_S = 60.0
CHECKPOINTS = "SELECT count(*) FROM pg_roles WHERE rolname = 'pg_checkpoint'"


@dataclass(frozen=True)
class Offer:
    """A server; `bench`, who is no superuser, owns its databases `a` and `b`."""

    port: int
    data: Path
    down: Callable[[], AbstractContextManager[None]]

    def url(self, database: str, user: str = "bench") -> str:
        """As a study names it."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def ask(self, database: str, sql: str, user: str = "bench") -> list[list[object]]:
        """What the server answers."""
        url = self.url(database, user).replace("@", f":{QUOTED}@", 1)
        with connect(parse_url(Secret(url))) as session:
            return session.run(sql)

    def databases(self) -> list[str]:
        """All that the server has, but its own."""
        rows = self.ask("postgres", "SELECT datname FROM pg_database WHERE NOT datistemplate")
        return sorted(str(name) for (name,) in rows if name != "postgres")

    def dump(self, database: str) -> bytes:
        """All that a database holds, as `pg_dump` writes it."""
        program = find_installation(LocalHost()).programs / "pg_dump"
        words = [str(program), "-h", "127.0.0.1", "-p", str(self.port), "-U", "bench", database]
        environment = {**os.environ, "PGPASSWORD": WORD}
        done = subprocess.run(words, capture_output=True, check=True, env=environment)
        # Newer versions write keys that are drawn anew each time.
        lines = done.stdout.splitlines()
        return b"\n".join(each for each in lines if b"restrict" not in each)


@contextmanager
def offer(certificate: Path | None = None) -> Iterator[Offer]:
    """The server runs inside; with a certificate, and the key in the same file, it offers TLS."""
    host = LocalHost()
    with servers.server_place() as place:
        servers.engine().initialise(place / "data", place)
        port = find_free_port("127.0.0.1")
        program = find_installation(host).programs / "postgres"
        words = [str(program), "-D", str(place / "data"), "-k", str(place), "-p", str(port)]
        words += ["-c", "listen_addresses=127.0.0.1", "-c", "max_wal_size=64MB"]
        if certificate is not None:
            words += _tls(certificate, place, host)
        user = host.user.name if host.user else None
        command = Command(words, user=user, environment={"LC_ALL": "C"})
        log = place / "server.log"
        running = [LocalRunner().start(command, stderr=log)]

        @contextmanager
        def down() -> Iterator[None]:
            _end(running.pop())
            try:
                yield
            finally:
                running.append(LocalRunner().start(command, stderr=log))
                _wait(made, log)

        try:
            made = Offer(port, place / "data", down)
            _prepare(made, log)
            yield made
        finally:
            _end(running.pop())


def _tls(certificate: Path, place: Path, host: LocalHost) -> list[str]:
    """Options of a server that has the certificate; only its user may read the key."""
    file = place / "server.pem"
    file.touch(0o600)
    file.write_bytes(certificate.read_bytes())
    if host.user:
        os.chown(file, host.user.uid, host.user.gid)
    return ["-c", "ssl=on", "-c", f"ssl_cert_file={file}", "-c", f"ssl_key_file={file}"]


def _end(running: Running) -> None:
    end([running.pid], signal.SIGINT, PATIENCE_S)
    running.wait()
    for pipe in filter(None, (running.stdin, running.stdout)):
        pipe.close()


def _wait(made: Offer, log: Path) -> list[list[object]]:
    """What the server answers first."""
    until_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            return made.ask("postgres", CHECKPOINTS, "stithy")
        except StithyError:
            assert time.monotonic() < until_s, log.read_text()
            time.sleep(0.05)


def _prepare(made: Offer, log: Path) -> None:
    """As an administrator would, once the server answers."""
    [[checkpoints]] = _wait(made, log)
    word = WORD.replace("'", "''")
    attribute = "CREATEDB" if checkpoints else "SUPERUSER"
    more = ", pg_checkpoint" if checkpoints else ""
    for statement in (
        f"CREATE ROLE bench LOGIN {attribute} PASSWORD '{word}'",
        f"GRANT pg_monitor{more} TO bench",
        "CREATE DATABASE a OWNER bench TEMPLATE template0",
        "CREATE DATABASE b OWNER bench TEMPLATE template0",
    ):
        made.ask("postgres", statement, "stithy")
