"""One running PostgreSQL server: reach it, keep it in order, end it."""

import ctypes
import re
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from stithy.engines.instance import Start
from stithy.engines.postgresql.connection import (
    MAINTENANCE_DATABASE,
    Connection,
    connect,
    quote_text,
)
from stithy.engines.postgresql.endpoint import PostgreSQLEndpoint
from stithy.engines.postgresql.upkeep import OTHERS, fill_log, freeze
from stithy.engines.postgresql.url import parse_url
from stithy.engines.served import ANSWER_PATIENCE_S, STOP_PATIENCE_S, ServerProcess
from stithy.engines.urls import write_url
from stithy.errors import InfrastructureError, StithyError
from stithy.hosts.processes import end, find_pids_inside
from stithy.hosts.runner import Running
from stithy.secrets import Secret

SHM = Path("/dev/shm")
SEGMENT_PATIENCE_S = 5.0
"""How long the memory of killed processes may take to be unmapped."""

_IPC_RMID = 0
_NAME = "PostgreSQL."


def read_segment_facts(pid: int, pid_file: Path) -> dict[str, str]:
    """What must be known of a living server's shared memory; what cannot be read is left out."""
    facts: dict[str, str] = {}
    with suppress(OSError, IndexError, ValueError):
        # Line 7 of postmaster.pid: key and id of the System V segment.
        key, shmid = pid_file.read_text().splitlines()[6].split()
        facts |= {"key": str(int(key)), "shmid": str(int(shmid))}
    with suppress(OSError):
        maps = Path(f"/proc/{pid}/maps").read_text()
        names = sorted(set(re.findall(rf"/dev/shm/({re.escape(_NAME)}\d+)", maps)))
        facts |= {"files": " ".join(names)}
    return facts


def remove_segment(facts: Mapping[str, str]) -> None:
    """Remove what `read_segment_facts` named, and all that its list of files names. Idempotent.

    Raises InfrastructureError where it stays: while any process uses the System V segment, for a
    living server keeps it; but that is waited for a while, because processes that were just killed
    still hold it when they can no longer be found. Without that segment in the facts nobody can
    tell, so nothing is removed.
    """
    if "shmid" in facts:
        _remove(facts)
    if not is_gone(facts):
        raise InfrastructureError(
            "it is still there",
            where="shared memory of a server",
            remedy="find its users with `ipcs -m -p`, and end them",
        )


def _remove(facts: Mapping[str, str]) -> None:
    until_s = time.monotonic() + SEGMENT_PATIENCE_S
    while attached := _list_attached(facts):
        if time.monotonic() >= until_s:
            return
        time.sleep(0.02)
    for name in facts.get("files", "").split():
        if re.fullmatch(rf"{re.escape(_NAME)}\d+", name):
            _remove_files(SHM / name)
    if attached == 0:
        ctypes.CDLL(None).shmctl(int(facts["shmid"]), _IPC_RMID, None)


def _remove_files(control: Path) -> None:
    """Remove a file and all files whose numbers it holds, of the same owner.

    The control segment lists the handles of all others as 32-bit numbers, and a handle is the
    number in a file's name. Reading every word for one spares knowing the layout of each version.
    """
    try:
        content, owner = control.read_bytes(), control.stat().st_uid
    except OSError:
        return
    words = {int.from_bytes(content[at : at + 4], "little") for at in range(0, len(content), 4)}
    for path in SHM.glob(f"{_NAME}*"):
        with suppress(OSError):
            if path.name.removeprefix(_NAME) in map(str, words) and path.stat().st_uid == owner:
                path.unlink()
    with suppress(OSError):
        control.unlink()


def _list_attached(facts: Mapping[str, str]) -> int | None:
    """Processes that use the System V segment; None where it is gone or belongs to another."""
    with suppress(OSError):
        for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[:2] == [facts["key"], facts["shmid"]]:
                return int(fields[6])
    return None


def is_gone(facts: Mapping[str, str]) -> bool:
    """Whether nothing of it is left."""
    files = [SHM / name for name in facts.get("files", "").split()]
    segment = _list_attached(facts) if "shmid" in facts else None
    return segment is None and not any(file.exists() for file in files)


PROGRAM = "postgres"
ROLE = "stithy"
DATABASE = "stithy"
TEMP_TABLESPACE = "stithy_temp"
AT_ONCE_PATIENCE_S = 20.0
"""How long an immediate shutdown may take: it writes nothing, and kills its children after 5 s."""

LAST_LINES = 3
PORT = 5432
STARTING = "the database system is starting up"


class Server(ServerProcess, PostgreSQLEndpoint):
    """A server process and the way to talk to it."""

    product, program = "PostgreSQL", PROGRAM
    socket = f".s.PGSQL.{PORT}"
    damage = ("invalid page in block", "could not read block")

    def __init__(
        self, spawn: Callable[[], Running], start: Start, password: Secret, port: int = PORT
    ) -> None:
        """`spawn` starts it as `start` says; `port`: at its address, and in its socket's name."""
        super().__init__(spawn, start)
        self.password, self._port = password, port
        self.socket = f".s.PGSQL.{port}"

    @property
    def url(self) -> Secret:
        """Its URL through the socket, with the password of now."""
        return self._make_url(self.password)

    @property
    def far_url(self) -> Secret:
        server = f"{self.address}:{self._port}"
        plain = {"sslmode": "disable"}
        return write_url("postgresql", ROLE, self.password, server, DATABASE, plain)

    def kept_url(self) -> str:
        """Its URL with a file beside the sockets in place of the password."""
        file = self.sockets / "pgpass"
        file.touch(mode=0o600)
        file.write_text(f"*:*:*:*:{self.password.reveal()}\n")
        return self._make_url(None, passfile=str(file)).reveal()

    def _make_url(self, password: Secret | None, **more: str) -> Secret:
        port = "" if self._port == PORT else str(self._port)
        options = {"host": str(self.sockets), "port": port, **more}
        return write_url("postgresql", ROLE, password, "", DATABASE, options)

    def can_answer(self) -> bool:
        try:
            with connect(parse_url(self.url), database=MAINTENANCE_DATABASE) as connection:
                connection.run("SELECT 1")
            return True
        except StithyError:
            return False

    def shared_memory(self) -> Mapping[str, str]:
        """What stays in memory if the server is killed."""
        return read_segment_facts(self.pid, self.data / "postmaster.pid")

    def make_database(self) -> None:
        """Make the database under test, where the server that loads does not have it yet."""
        with connect(parse_url(self.url), database=MAINTENANCE_DATABASE) as connection:
            if not connection.run(f"SELECT 1 FROM pg_database WHERE datname = '{DATABASE}'"):
                connection.run(f"CREATE DATABASE {DATABASE} TEMPLATE template0")

    def use_for_temp(self, place: Path) -> None:
        """Make the tablespace of temporary files in `place`, where the database has none yet.

        It is made in each restored copy, because the master copy knows nothing of candidates.
        """
        with connect(parse_url(self.url), database=MAINTENANCE_DATABASE) as session:
            name = TEMP_TABLESPACE
            if not session.run(f"SELECT 1 FROM pg_tablespace WHERE spcname = '{name}'"):
                session.run(f"CREATE TABLESPACE {name} LOCATION {quote_text(str(place))}")

    def quote_log(self, lines: Sequence[str]) -> str:
        return last_words(lines)

    def checkpoint(self) -> None:
        """Write all dirty pages now."""
        with self._session() as session:
            session.run("CHECKPOINT")

    def finish_loading(self, log_bytes: int) -> None:
        """Freeze and analyse, and leave log segments that a window only has to overwrite.

        A server that has run for a while recycles its segments; making new ones in a window would
        measure the making of files.
        """
        with ExitStack() as stack:
            freeze([stack.enter_context(self._session(name)) for name in (*OTHERS, DATABASE)])
        with self._session() as session:
            fill_log(session, log_bytes)

    def stop(self, *, at_once: bool = False) -> None:
        """Fast shutdown, or immediate; SIGKILL for whatever is left. Idempotent."""
        first, patience_s = (
            (signal.SIGQUIT, AT_ONCE_PATIENCE_S) if at_once else (signal.SIGINT, STOP_PATIENCE_S)
        )
        if self._running.poll() is None:
            end([self.pid], first, patience_s)
            self._running.poll()
        # Children of a postmaster that was killed end by themselves, but not at once.
        end(find_pids_inside(self.data, PROGRAM), signal.SIGQUIT)

    @contextmanager
    def _session(self, database: str = DATABASE) -> Iterator[Connection]:
        target = parse_url(self.url)
        with (
            self.explain_failure(),
            connect(target, database=database, timeout_s=ANSWER_PATIENCE_S) as session,
        ):
            yield session


def last_words(lines: Sequence[str]) -> str:
    """The last lines of a log that tell of an error, or else its last lines, as one line.

    The probes that wait for the server's start leave refusals in its log; they tell nothing.
    """
    heard = [line for line in lines if STARTING not in line]
    shown = [line for line in heard if any(tag in line for tag in ("FATAL", "PANIC", "ERROR"))]
    return " | ".join((shown or heard)[-LAST_LINES:]) or "it wrote nothing"
