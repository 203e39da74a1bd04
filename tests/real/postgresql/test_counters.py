"""A real server's counters, read so that they can be compared with the hammer's."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from stithy.database.engines.postgresql.activity import ActivityReader
from stithy.database.engines.postgresql.connection import (
    MAINTENANCE_DATABASE,
    connect,
    parse_url,
)
from stithy.database.engines.postgresql.counters import (
    loaded,
    read_commit_counters,
    read_server_facts,
)
from stithy.database.engines.postgresql.server import Server, remove_segment
from stithy.errors import InfrastructureError
from support.servers import engine, running_server, server_place, start

pytestmark = pytest.mark.needs_postgresql


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One server for all tests of this file; autovacuum off, because the tests count commits."""
    with running_server({"autovacuum": "off"}) as running:
        yield running


def test_commits_and_rollbacks_of_ended_sessions_are_counted_exactly(server: Server) -> None:
    """10 commits, one for the session's start, 3 rollbacks; and none of the reader's, who asks the
    maintenance database.
    """
    before = read_commit_counters(server.url)
    assert read_commit_counters(server.url) == before
    with connect(parse_url(server.url)) as client:
        for _ in range(10):
            client.run("SELECT 1")
        for _ in range(3):
            client.run("BEGIN")
            client.run("ROLLBACK")
    after = read_commit_counters(server.url)
    assert after.settled
    assert after.commits - before.commits == 11
    assert after.rollbacks - before.rollbacks == 3


def test_the_facts_name_version_and_settings_but_no_places(server: Server) -> None:
    """What a reader of a storage comparison looks for; no directory, no socket."""
    facts = read_server_facts(server.url)
    assert facts.version.split(".")[0].isdigit()
    assert facts.settings["autovacuum"] == "off"
    assert {"fsync", "wal_sync_method", "shared_buffers", "data_checksums"} <= facts.settings.keys()
    everything = repr(facts.settings)
    assert str(server.data) not in everything
    assert str(server.sockets) not in everything


def test_activity_is_one_answer_with_every_group(server: Server) -> None:
    """Counters of the database under test, waits of others, and not the reader's own.

    Nothing was loaded into it: None, so that a person is told to prepare it.
    """
    assert loaded(server.url) is None
    reader = ActivityReader(server.url)
    try:
        first, second = reader.read(), reader.read()
    finally:
        reader.close()
    assert first["database"]["commits"] == second["database"]["commits"]
    assert first["wal_bytes"] > 0
    assert first["log_files_to_archive"] is None
    assert first["backends"]["waits"] is None
    assert ("wal" in first) == (reader.version >= 140000)
    assert ("io" in first) == (reader.version >= 160000)


def test_the_log_that_an_archive_has_not_taken_is_counted() -> None:
    """A file of the log is finished, and the command of the archive refuses it."""
    more = {"archive_mode": "on", "archive_command": "false"}
    with server_place() as place:
        made = engine()
        made.initialise(place / "data", place)
        running = made.start(replace(start(place), more=more))
        memory = running.shared_memory()
        try:
            with connect(parse_url(running.url), database=MAINTENANCE_DATABASE) as client:
                client.run("SELECT pg_switch_wal()")
            reader = ActivityReader(running.url)
            assert reader.read()["log_files_to_archive"] == 1
            reader.close()
        finally:
            running.stop(at_once=True)
            remove_segment(memory)


def test_a_backend_that_is_ended_is_an_infrastructure_error(server: Server) -> None:
    """Not a traceback of the client's library."""
    reader = ActivityReader(server.url)
    with connect(parse_url(server.url)) as client:
        client.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'stithy' AND pid <> pg_backend_pid()"
        )
    with pytest.raises(InfrastructureError, match="did not answer"):
        reader.read()
    reader.close()
