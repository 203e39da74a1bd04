"""A real PostgreSQL: made, started, found in order, ended."""

import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stithy.database.engine import Request, Start
from stithy.database.engines.postgresql.connection import connect, parse_url
from stithy.database.engines.postgresql.engine import PostgreSQL
from stithy.database.engines.postgresql.server import Server, is_gone, remove_segment
from stithy.errors import InfrastructureError, UserError
from stithy.hosts.activity import births, made_between
from stithy.hosts.processes import pids_inside
from stithy.hosts.runner import LocalRunner, server_user
from stithy.run.cleanup.register import make_scratch
from stithy.secrets import Secret
from stithy.storage.volume import remove_tree

pytestmark = pytest.mark.needs_postgresql

MIB = 2**20


def engine(settings: dict[str, str] | None = None, users: int = 4) -> PostgreSQL:
    """The engine with these settings, 256 MiB of memory."""
    return PostgreSQL(
        Request(
            runner=LocalRunner(),
            settings=settings or {},
            memory_bytes=256 * MIB,
            connections_max=users,
            user=server_user(),
            password=Secret("it's a 'secret'/?"),
        )
    )


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory of the server's user, with `data`, as short as sockets need it."""
    scratch = make_scratch(lambda kind, facts: None, server_user())
    (scratch / "data").mkdir(mode=0o700)
    if user := server_user():
        os.chown(scratch / "data", user.uid, user.gid)
    yield scratch
    remove_tree(scratch)


@pytest.fixture
def server(place: Path) -> Iterator[Server]:
    """A loading server on a fresh database."""
    postgresql = engine({"work_mem": "5MB"})
    postgresql.initialise(place / "data", place)
    started = postgresql.start(start(place, loading=True))
    memory = started.shared_memory()
    yield started
    started.stop(at_once=True)
    remove_segment(memory)


def start(place: Path, *, loading: bool = False) -> Start:
    """A start in `place`."""
    return Start(place / "data", place, place / "server.log", loading=loading)


def value(server: Server, query: str) -> object:
    """The one value of a query."""
    with connect(parse_url(server.url)) as session:
        [[found]] = session.run(query)
    return found


def test_a_fresh_server_answers_with_the_studys_settings(server: Server, place: Path) -> None:
    """Settings are passed through, nothing listens on the network, the password file is gone."""
    assert value(server, "SHOW work_mem") == "5MB"
    assert value(server, "SHOW listen_addresses") == ""
    assert value(server, "SHOW data_checksums") == "on"
    assert value(server, "SHOW huge_pages") == "off"
    assert not (place / "password").exists()


def test_a_wrong_password_is_refused(server: Server) -> None:
    """Other users of the machine do not get in."""
    server.password = Secret("wrong")
    assert not server.answers()


def test_after_loading_there_are_log_segments_to_overwrite(server: Server) -> None:
    """As many as a window may fill, kept by the checkpoint."""
    server.finish_loading(10 * 16 * MIB)
    count = value(server, "SELECT count(*) FROM pg_ls_waldir()")
    assert isinstance(count, int)
    assert 10 <= count <= 14


def test_log_after_loading_goes_into_files_that_are_there(server: Server, place: Path) -> None:
    """As much as `max_wal_size` holds, and more: the checkpoint in between recycles."""
    server.finish_loading(2**30)
    server.stop()
    again = engine({"max_wal_size": "160MB", "checkpoint_timeout": "1d"}).start(start(place))
    try:
        before = births(place / "data/pg_wal")
        with connect(parse_url(again.url)) as session:
            for _ in range(60):
                session.run("SELECT pg_logical_emit_message(false, 'stithy', repeat('x', 4 << 20))")
        assert made_between(before, births(place / "data/pg_wal")) == 0
    finally:
        again.stop()


def test_autovacuum_finds_nothing_to_do_in_other_databases(place: Path) -> None:
    """What initdb left undone there would be done in the first windows."""
    eager = engine({"autovacuum_naptime": "1s", "log_autovacuum_min_duration": "0"})
    eager.initialise(place / "data", place)
    server = eager.start(start(place, loading=True))
    server.finish_loading(0)
    server.stop()
    again = eager.start(start(place))
    time.sleep(6.0)  # a visit to each of three databases, and one more
    again.stop()
    log = (place / "server.log").read_text()
    assert "database system is ready" in log
    assert re.findall(r'automatic .* of table "\w+\.pg_\w+\.\w+"', log) == []


def test_a_server_can_be_stopped_and_started_again(server: Server, place: Path) -> None:
    """With the settings of a window instead of those of loading."""
    server.stop()
    server.stop()
    assert server.ended_by() == "ended with code 0"
    again = engine().start(start(place))
    try:
        assert value(again, "SHOW fsync") == "on"
        assert value(again, "SHOW wal_level") == "replica"
    finally:
        again.stop()


def test_a_killed_server_is_noticed_and_leaves_no_process(server: Server, place: Path) -> None:
    """Its children are ended too."""
    os.kill(server.pid, signal.SIGKILL)
    while server.ended_by() is None:
        time.sleep(0.01)
    assert server.ended_by() == "was ended by SIGKILL"
    with pytest.raises(InfrastructureError, match="PostgreSQL failed"):
        server.checkpoint()
    server.stop()
    assert pids_inside(place / "data", "postgres") == []


def test_settings_that_the_server_refuses_are_told_before_anything_starts() -> None:
    """All of them at once, in the server's words."""
    with pytest.raises(UserError) as caught:
        engine({"nonsense": "1", "shared_buffers": "12 parsecs", "work_mem": "4MB"}).check()
    assert 'unrecognized configuration parameter "nonsense"' in str(caught.value)
    assert 'invalid value for parameter "shared_buffers": "12 parsecs"' in str(caught.value)
    assert "work_mem" not in str(caught.value)


def test_buffers_that_do_not_fit_the_memory_are_refused() -> None:
    """The server would be killed for it later."""
    with pytest.raises(UserError, match="shared_buffers of 300MB leave too little"):
        engine({"shared_buffers": "300MB"}).check()


def test_too_few_connections_for_the_highest_level_are_refused() -> None:
    """Named with what would do."""
    with pytest.raises(UserError, match="at least 60, or leave it out"):
        engine({"max_connections": "50"}, users=40).check()


def test_a_start_that_fails_quotes_the_server(place: Path) -> None:
    """A directory without a database has no server."""
    with pytest.raises(InfrastructureError, match="while starting: "):
        engine().start(start(place))


def test_a_killed_servers_shared_memory_is_removed(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would stay until the next boot."""
    facts = server.shared_memory()
    assert set(facts) == {"key", "shmid", "files"}
    with monkeypatch.context() as patch:
        patch.setattr("stithy.database.engines.postgresql.server.SEGMENT_PATIENCE_S", 0.2)
        with pytest.raises(InfrastructureError, match="it is still there"):
            remove_segment(facts)
    assert server.answers()
    os.kill(server.pid, signal.SIGKILL)
    server.stop()
    assert not is_gone(facts)
    remove_segment(facts)
    assert is_gone(facts)


def test_a_server_that_is_held_is_ended_all_the_same(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGSTOP: it cannot hear any request to end, and its children go with it."""
    monkeypatch.setattr("stithy.database.engines.postgresql.server.AT_ONCE_PATIENCE_S", 0.2)
    os.kill(server.pid, signal.SIGSTOP)
    server.stop(at_once=True)
    assert server.ended_by() == "was ended by SIGKILL"
    assert pids_inside(server.data, "postgres") == []
