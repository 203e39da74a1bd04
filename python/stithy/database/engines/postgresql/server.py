"""One running PostgreSQL server: reach it, keep it in order, end it."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import pg8000.native  # type: ignore[import-untyped]  # it has no annotations

from stithy.database.engine import Start
from stithy.errors import InfrastructureError
from stithy.hosts.processes import end, pids_inside
from stithy.hosts.runner import Running
from stithy.secrets import Secret

ROLE = "stithy"
DATABASE = "stithy"
PORT = 5432
STOP_PATIENCE_S = 300.0
"""How long a fast shutdown may take: it writes all dirty pages to the device under test."""

SEGMENTS_MIN = 5
LAST_LINES = 3


@contextmanager
def open_session(
    sockets: Path, password: Secret, database: str = DATABASE
) -> Iterator[pg8000.native.Connection]:
    """A session on the server whose socket is in `sockets`; raises what pg8000 raises."""
    session = pg8000.native.Connection(
        ROLE,
        password=password.reveal(),
        unix_sock=str(sockets / f".s.PGSQL.{PORT}"),
        database=database,
        application_name="stithy",
    )
    try:
        yield session
    finally:
        # A server that was killed meanwhile has closed the session already.
        with suppress(pg8000.native.InterfaceError, OSError):
            session.close()


class Server:
    """A server process and the way to talk to it."""

    def __init__(self, running: Running, start: Start, password: Secret) -> None:
        """`running` was started as `start` says."""
        self._running = running
        self._since = start.log.stat().st_size if start.log.exists() else 0
        self.data = start.data
        self.sockets = start.sockets
        self.log = start.log
        self.password = password

    @property
    def url(self) -> Secret:
        """A connection URL that libpq, tokio-postgres and pg8000 understand."""
        word = quote(self.password.reveal(), safe="")
        host = quote(str(self.sockets), safe="/")
        return Secret(f"postgresql://{ROLE}:{word}@/{DATABASE}?host={host}")

    @property
    def pid(self) -> int:
        """Process id of the postmaster."""
        return self._running.pid

    def answers(self) -> bool:
        """Whether a session can be opened now."""
        try:
            with open_session(self.sockets, self.password, "postgres") as session:
                session.run("SELECT 1")
            return True
        except (pg8000.native.Error, OSError):
            return False

    def ended_by(self) -> str | None:
        """How the server ended by itself, in words; None while it runs."""
        code = self._running.poll()
        if code is None:
            return None
        return (
            f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        )

    def last_words(self) -> str:
        """The last lines of its log that matter, as one line."""
        try:
            lines = self.log.read_text(errors="replace").splitlines()
        except OSError:
            return "it left no log"
        told = [line for line in lines if any(tag in line for tag in ("FATAL", "PANIC", "ERROR"))]
        return " | ".join((told or lines)[-LAST_LINES:]) or "it wrote nothing"

    def checkpoint(self) -> None:
        """Write all dirty pages now."""
        self._do("CHECKPOINT")

    def finish_loading(self, growth_bytes: int) -> None:
        """Freeze and analyse, and leave log segments that a window only has to overwrite.

        A server that has run for a while recycles its segments; making new ones in a window would
        measure the making of files. Segments are filled by switching to the next one, and the
        checkpoint then turns them into future ones (`min_wal_size` keeps it from removing them).
        """
        with self._session() as session:
            session.run("VACUUM (FREEZE, ANALYZE)")
            for _ in range(self._segments(session, growth_bytes)):
                session.run("SELECT pg_logical_emit_message(false, 'stithy', 'fill')")
                session.run("SELECT pg_switch_wal()")
            session.run("CHECKPOINT")

    def _segments(self, session: pg8000.native.Connection, growth_bytes: int) -> int:
        """Enough for what a window may write, at most what `min_wal_size` keeps."""
        [[segment_bytes, kept_mb]] = session.run(
            "SELECT current_setting('wal_segment_size')::text,"
            " setting::bigint FROM pg_settings WHERE name = 'min_wal_size'"
        )
        [[size]] = session.run("SELECT pg_size_bytes(:size)", size=segment_bytes)
        most = kept_mb * 2**20 // size
        return int(max(SEGMENTS_MIN, min(growth_bytes // size, most)))

    def stop(self, *, at_once: bool = False) -> None:
        """Fast shutdown, or immediate; SIGKILL for whatever is left. Idempotent."""
        first = signal.SIGQUIT if at_once else signal.SIGINT
        if self._running.poll() is None:
            end([self.pid], first, STOP_PATIENCE_S)
            self._running.poll()
        # Children of a postmaster that was killed end by themselves, but not at once.
        end(pids_inside(self.data, "postgres"), signal.SIGQUIT)

    @contextmanager
    def _session(self) -> Iterator[pg8000.native.Connection]:
        """A session; errors name the server and what it said last."""
        try:
            with open_session(self.sockets, self.password) as session:
                yield session
        except (pg8000.native.Error, OSError) as error:
            raise InfrastructureError(
                f"PostgreSQL failed: {_text(error)}; its last words: {self.last_words()}",
                where=str(self.data),
                remedy=f"read {self.log}; a full or failing device is the usual cause",
            ) from error

    def _do(self, statement: str) -> None:
        with self._session() as session:
            session.run(statement)


def _text(error: Exception) -> str:
    """The server's message out of pg8000's dictionary of fields."""
    fields = error.args[0] if error.args else ""
    return str(fields.get("M", fields)) if isinstance(fields, dict) else str(error)
