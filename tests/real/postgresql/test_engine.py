"""A real PostgreSQL: made, started, found in order, ended."""

import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stithy.engines.engine import get_engine
from stithy.engines.instance import Configuration
from stithy.engines.postgresql import upkeep
from stithy.engines.postgresql.connection import connect
from stithy.engines.postgresql.engine import find_installation
from stithy.engines.postgresql.replication import read_end
from stithy.engines.postgresql.server import Server, remove_segment
from stithy.engines.postgresql.url import parse_url
from stithy.errors import InfrastructureError, Refused, UserError
from stithy.hosts.activity import count_made_between, list_births
from stithy.hosts.host import LocalHost
from stithy.hosts.processes import find_pids_inside
from stithy.hosts.runner import LocalRunner
from stithy.secrets import Secret
from support.servers import engine, server_place, start

pytestmark = pytest.mark.needs_postgresql

MIB = 2**20


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory of the server's user, with `data`."""
    with server_place() as made:
        yield made


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


def value(server: Server, query: str) -> object:
    """The one value of a query."""
    with connect(parse_url(server.url)) as session:
        [[found]] = session.run(query)
    return found


def test_a_fresh_server_answers_with_the_studys_settings(server: Server, place: Path) -> None:
    """Nothing listens on the network, the password file is gone, a wrong password is refused.

    Started again it has the settings of a window instead of those of loading.
    """
    settings = {"work_mem": "5MB", "listen_addresses": "", "data_checksums": "on"}
    for name, expected in {**settings, "huge_pages": "off"}.items():
        assert value(server, f"SHOW {name}") == expected
    assert not (place / "password").exists()
    server.password = Secret("wrong")
    assert not server.can_answer()
    server.stop()
    server.stop()
    assert server.ended_by() == "ended with code 0"
    again = engine().start(start(place))
    try:
        assert value(again, "SHOW fsync") == "on"
        assert value(again, "SHOW wal_level") == "replica"
    finally:
        again.stop()


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
        before = list_births(place / "data/pg_wal")
        with connect(parse_url(again.url)) as session:
            for _ in range(60):
                session.run("SELECT pg_logical_emit_message(false, 'stithy', repeat('x', 4 << 20))")
        assert count_made_between(before, list_births(place / "data/pg_wal")) == 0
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


def test_where_a_log_ends_is_known_of_a_clean_end_alone(server: Server, place: Path) -> None:
    """A server that was killed has log behind its latest checkpoint, which nobody may pass over."""
    runner, data = LocalRunner(), place / "data"
    programs = find_installation(LocalHost()).programs
    server.stop(at_once=True)
    with pytest.raises(InfrastructureError, match=r"did not shut down: .* in production"):
        read_end(runner, programs, data)
    server.start_again()
    server.stop()
    assert re.fullmatch("[0-9A-F]+/[0-9A-F]+", read_end(runner, programs, data))


def test_the_check_of_a_large_database_takes_its_time(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Longer than an answer may take otherwise: what was not checked to its end is no damage."""
    assert get_engine("postgresql").find_damage(server) == ""
    monkeypatch.setattr(connect, "__kwdefaults__", {"database": None, "timeout_s": 0.1})
    slow = "SELECT a::text, 0, '' FROM pg_sleep(0.5) a WHERE a::text <> ''"
    monkeypatch.setattr(upkeep, "CHECK_HEAPS", slow)
    assert get_engine("postgresql").find_damage(server) == ""


def test_memory_of_a_living_server_stays(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its shared memory would stay if it were killed; while it runs it needs it."""
    monkeypatch.setattr("stithy.engines.postgresql.server.SEGMENT_PATIENCE_S", 0.2)
    facts = server.shared_memory()
    assert set(facts) == {"key", "shmid", "files"}
    with pytest.raises(InfrastructureError, match="it is still there"):
        remove_segment(facts)
    assert server.can_answer()


def test_a_held_server_is_ended(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGSTOP: it cannot hear any request to end, and its children go with it."""
    monkeypatch.setattr("stithy.engines.postgresql.server.AT_ONCE_PATIENCE_S", 0.2)
    os.kill(server.pid, signal.SIGSTOP)
    server.stop(at_once=True)
    assert server.ended_by() == "was ended by SIGKILL"
    assert find_pids_inside(server.data, "postgres") == []


@pytest.mark.parametrize(
    ("settings", "users", "shown"),
    [
        (
            {"nonsense": "1", "shared_buffers": "12 parsecs", "work_mem": "4MB"}, 4,
            ['unrecognized configuration parameter "nonsense"',
             'invalid value for parameter "shared_buffers": "12 parsecs"'],
        ),
        ({"shared_buffers": "300MB"}, 4, ["shared_buffers of 300MB leave too little"]),
        ({"max_connections": "50"}, 40, ["at least 60, or leave it out"]),
        ({"max_connections": "0x32"}, 40, ["max_connections of 50 are too few"]),
        ({"max_connections": "50.0"}, 40, ["max_connections of 50 are too few"]),
    ],
)  # fmt: skip
def test_impossible_settings_are_refused_first(
    settings: dict[str, str], users: int, shown: list[str]
) -> None:
    """All of them at once, in the server's words, and with what would do."""
    with pytest.raises(UserError) as caught:
        engine(settings, users).check()
    assert [each for each in shown if each not in str(caught.value)] == []
    assert "work_mem" not in str(caught.value)


def test_settings_of_candidates_are_tried() -> None:
    """Each with the study's memory and settings beside it, which are not reported again."""
    shared = {"shared_buffers": "128MB"}
    own = {
        "a": Configuration({**shared, "work_mem": "8MB"}, 256 * MIB),
        "b": Configuration({**shared, "nonsense": "1", "max_connections": "9"}, 256 * MIB),
        "c": Configuration(shared, 128 * MIB),
        "d": Configuration({"shared_buffers": "300MB"}, 256 * MIB),
    }
    with pytest.raises(Refused) as caught:
        engine(shared, own=[(f"candidates.{name}", each) for name, each in own.items()]).check()
    keys = ("b.settings", "b.settings.max_connections", "c.memory", "d.settings.shared_buffers")
    assert [part.where for part in caught.value.parts()] == [f"candidates.{key}" for key in keys]
