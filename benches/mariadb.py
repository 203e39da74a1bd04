"""A private MariaDB for a bench: own directory, a socket, then gone; and raw loads of its rows."""

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from instance import stop
from processes import run, run_together

USER, PASSWORD = "stithy", "anvil"
SETTINGS = {
    "innodb-buffer-pool-size": "1G",
    "innodb-log-file-size": "1G",
    "innodb-io-capacity": "2000",
    "innodb-flush-log-at-trx-commit": "2",
    "local-infile": "1",
}
PATIENCE_S = 120.0


@dataclass(frozen=True)
class MariaDb:
    """A running server."""

    socket: Path

    def url(self, database: str) -> str:
        """For the hammer."""
        return f"mariadb://{USER}:{PASSWORD}@localhost/{database}?socket={self.socket}"

    def command(self, program: str, *options: str) -> list[str]:
        """One of MariaDB's programs, connected."""
        whose = [f"--socket={self.socket}", f"--user={USER}", f"--password={PASSWORD}"]
        return [program, "--no-defaults", *whose, *options]

    def sql(self, text: str, database: str = "") -> list[list[str]]:
        """The rows of the last statement, as texts."""
        ended = run(self.command("mariadb", "-BN", database), stdin=text)
        return [line.split("\t") for line in ended.stdout.splitlines()]

    def renew(self, database: str) -> None:
        """Make the database empty, and let no work of before weigh on what follows."""
        self.sql(f"DROP DATABASE IF EXISTS {database}; CREATE DATABASE {database}")
        self.settle()

    def settle(self) -> None:
        """Remove old versions of rows and write all changed pages: nothing is left to do."""
        for name, value in {"max_purge_lag_wait": 0, "log_checkpoint_now": 1}.items():
            self.sql(f"SET GLOBAL innodb_{name} = {value}")


@contextmanager
def start_mariadb() -> Iterator[MariaDb]:
    """A server that is gone, with all its files, when the block ends, by SIGTERM too."""
    signal.signal(signal.SIGTERM, stop)
    with tempfile.TemporaryDirectory(prefix="stithy-bench-", dir="/var/tmp") as name:
        folder = Path(name)
        data, socket, first = folder / "data", folder / "socket", folder / "first.sql"
        install = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--user=root"]
        run([*install, "--auth-root-authentication-method=normal", "--skip-test-db"])
        first.write_text(
            f"CREATE USER {USER}@localhost IDENTIFIED BY '{PASSWORD}';\n"
            f"GRANT ALL ON *.* TO {USER}@localhost;\n"
        )
        options = [
            "--no-defaults", "--skip-networking", f"--socket={socket}", f"--datadir={data}",
            f"--init-file={first}", f"--log-error={folder / 'log'}", f"--pid-file={folder / 'pid'}",
            "--user=root", *(f"--{name}={value}" for name, value in SETTINGS.items()),
        ]  # fmt: skip
        program = shutil.which("mariadbd") or "/usr/sbin/mariadbd"
        with subprocess.Popen([program, *options]) as server:
            try:
                _wait_for(MariaDb(socket), server)
                yield MariaDb(socket)
            finally:
                server.terminate()
                server.wait(PATIENCE_S)


def _wait_for(mariadb: MariaDb, server: "subprocess.Popen[bytes]") -> None:
    ping = mariadb.command("mariadb-admin", "ping")
    while subprocess.run(ping, capture_output=True).returncode != 0:
        if server.poll() is not None:
            raise SystemExit(f"MariaDB ended with {server.returncode}")
        time.sleep(0.2)


@dataclass(frozen=True)
class Dump:
    """The rows of a database as texts, a file a table, and the statements that make its tables."""

    schema: str
    rows: tuple[Path, ...]


def dump(mariadb: MariaDb, database: str, folder: Path) -> Dump:
    """Write the rows in the order of their keys; largest table first."""
    run(mariadb.command("mariadb-dump", f"--tab={folder}", "--order-by-primary", database))
    rows = sorted(folder.glob("*.txt"), key=lambda path: path.stat().st_size, reverse=True)
    return Dump("\n".join(path.read_text() for path in folder.glob("*.sql")), tuple(rows))


def load_raw(mariadb: MariaDb, database: str, dumped: Dump, sessions: int) -> float:
    """Load the same rows into tables with their keys and indexes, by sessions at once; seconds.

    Sessions check neither keys nor references, which is what makes `LOAD DATA` quickest.
    """
    mariadb.renew(database)
    mariadb.sql(f"SET foreign_key_checks = 0;\n{dumped.schema}", database)
    mariadb.settle()
    unchecked = "--init-command=SET unique_checks = 0, foreign_key_checks = 0"
    client = mariadb.command("mariadb", "--local-infile=1", unchecked, database)
    return run_together([[*client, "-e", text] for text in _share_out(dumped.rows, sessions)])


def _share_out(rows: Sequence[Path], sessions: int) -> list[str]:
    """Statements for each session; the next largest table goes to who has least to do."""
    bytes_of, texts = [0] * sessions, [""] * sessions
    for path in rows:
        idle = bytes_of.index(min(bytes_of))
        bytes_of[idle] += path.stat().st_size
        texts[idle] += f"LOAD DATA LOCAL INFILE '{path}' INTO TABLE {path.stem};"
    return texts
