"""One running MariaDB server: reach it, keep it in order, end it."""

import re
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from stithy.engines.instance import Start
from stithy.engines.mariadb.connection import ControlSession, connect
from stithy.engines.mariadb.endpoint import MariaDBEndpoint
from stithy.engines.mariadb.upkeep import compress, finish_loading, write_back
from stithy.engines.mariadb.url import ADMIN, DATABASE, ROLE, parse_url, write_password
from stithy.engines.served import (
    ANSWER_PATIENCE_S,
    KILL_PATIENCE_S,
    STOP_PATIENCE_S,
    ServerProcess,
)
from stithy.engines.urls import write_url
from stithy.errors import StithyError
from stithy.hosts.processes import end
from stithy.hosts.runner import Running, wait_for_end
from stithy.secrets import Secret

SOCKET = "mariadb.sock"
LAST_LINES = 3
_USUAL = re.compile("Aborted connection|max_open_files")
"""In warnings of a session that its user left, and of a limit that is high enough."""


class MariaDBServer(ServerProcess, MariaDBEndpoint):
    """A server process and the way to talk to it."""

    product, program, scheme = "MariaDB", "mariadbd", "mariadb"
    socket = SOCKET

    def __init__(
        self, spawn: Callable[[], Running], start: Start, password: Secret, key_block: str = "",
        port: int = 0,
    ) -> None:  # fmt: skip
        """`spawn` starts it as `start` says; `key_block`: of what is loaded, as a study has it.

        `port`: at the address of its start.
        """
        ServerProcess.__init__(self, spawn, start)
        MariaDBEndpoint.__init__(
            self, self._make_url(ROLE, password), self._make_url(ADMIN, password)
        )
        self._password, self._key_block, self._port = password, key_block, port

    def _make_url(self, role: str, password: Secret | None = None, **more: str) -> Secret:
        options = {"socket": str(self.sockets / SOCKET), **more}
        return write_url(self.scheme, role, password, "localhost:3306", DATABASE, options)

    @property
    def far_url(self) -> Secret:
        """As `ServerProcess`."""
        server = f"{self.address}:{self._port}"
        return write_url(self.scheme, ROLE, self._password, server, DATABASE, {"tls": "disable"})

    def kept_url(self) -> str:
        """Its URL with a file beside the socket in place of the password."""
        file = self.sockets / "client.cnf"
        file.touch(mode=0o600)
        file.write_text(write_password(self._password))
        return self._make_url(ROLE, passfile=str(file)).reveal()

    def can_answer(self) -> bool:
        """Whether a session can be opened now."""
        try:
            with connect(parse_url(self.control), timeout_s=10.0) as session:
                session.run("SELECT 1")
            return True
        except StithyError:
            return False

    def shared_memory(self) -> Mapping[str, str]:
        """The kernel removes all of it with the process."""
        return {}

    def quote_log(self, lines: Sequence[str]) -> str:
        """Quote the last lines that tell of an error, or else of other trouble."""
        errors = [line for line in lines if "[ERROR]" in line]
        warnings = [line for line in lines if "[Warning]" in line and not _USUAL.search(line)]
        return " | ".join((errors or warnings)[-LAST_LINES:]) or "it wrote of no error"

    def checkpoint(self) -> None:
        """Write all dirty pages now."""
        with self._keep_in_order() as session:
            write_back(session)

    def finish_loading(self, log_bytes: int) -> None:
        """Compress, analyse, purge and write all. Its log is one file, of its full size."""
        if self._key_block:
            with self._connect(ANSWER_PATIENCE_S) as session:
                compress(session, self._key_block)
        with self._keep_in_order() as session:
            finish_loading(session)

    def stop(self, *, at_once: bool = False) -> None:
        """Shut down, or kill: InnoDB recovers; SIGKILL for whatever is left. Idempotent."""
        if not at_once and self._running.poll() is None:
            end([self.pid], signal.SIGTERM, STOP_PATIENCE_S)
            # Its other threads may end after the one that gives it its name.
            wait_for_end(self._running, KILL_PATIENCE_S)
        self.kill()

    @contextmanager
    def _keep_in_order(self) -> Iterator[ControlSession]:
        with self.explain_failure(), self._connect(ANSWER_PATIENCE_S) as session:
            yield session


class MySQLServer(MariaDBServer):
    """A server process of MySQL."""

    product, program, scheme = "MySQL", "mysqld", "mysql"
