"""A real server's counters, read so that they can be compared with the hammer's."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from stithy.clock import SystemClock
from stithy.collectors.collector import Collector, InstanceScope, Sample, Scope, TimedSample
from stithy.engines.postgresql.activity import ActivityReader
from stithy.engines.postgresql.connection import MAINTENANCE_DATABASE, connect
from stithy.engines.postgresql.server import Server, remove_segment
from stithy.engines.postgresql.url import parse_url
from stithy.errors import InfrastructureError
from stithy.registry import plugins
from stithy.run.sampler import Sampler
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
    before = server.commits(SystemClock())
    assert server.commits(SystemClock()) == before
    with connect(parse_url(server.url)) as client:
        for _ in range(10):
            client.run("SELECT 1")
        for _ in range(3):
            client.run("BEGIN")
            client.run("ROLLBACK")
    after = server.commits(SystemClock())
    assert after.settled
    assert after.commits - before.commits == 11
    assert after.rollbacks - before.rollbacks == 3


def test_activity_is_one_answer_with_every_group(server: Server) -> None:
    """Counters of the database under test, waits of others, and not the reader's own.

    Nothing was loaded into it: None, so that a person is told to prepare it. Its facts have what a
    reader of a storage comparison looks for.
    """
    assert server.loaded() is None
    looked_for = {"fsync", "wal_sync_method", "shared_buffers", "data_checksums"}
    assert looked_for <= server.facts().settings.keys()
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


def test_samples_of_two_servers_stay_apart(server: Server) -> None:
    """Sessions, what they wait for and the last checkpoint: nothing of one is the other's."""
    with running_server({"autovacuum": "off"}) as other:
        servers = {"tenant-1": server, "tenant-2": other}
        counts = {"tenant-1": 1, "tenant-2": 3}
        other.checkpoint()
        with ExitStack() as stack:
            for name, each in servers.items():
                stack.enter_context(waiting(each, counts[name]))
            readings = sampled_twice(servers)
        told = {name: each.maintenance().last_checkpoint_at_s for name, each in servers.items()}
    assert (told["tenant-1"] or 0.0) < (told["tenant-2"] or 0.0)
    for name, count in counts.items():
        mine = [reading.sample for reading in readings if reading.instance == name]
        found = {(each.metric, each.subject): each.value for each in mine}
        assert found["active_sessions", ""] == count
        assert found["waiting_sessions_by_event", "Lock:advisory"] == count
        assert found["last_checkpoint_at_s", ""] == told[name]
        assert (found["cpu_share", ""] or 0) >= 0, "its processes are found by its directory"


@contextmanager
def waiting(server: Server, count: int) -> Iterator[None]:
    """So many sessions of a server that wait for one lock, until the end."""

    def wait() -> None:
        with connect(parse_url(server.url)) as client:
            client.run("SELECT pg_advisory_lock(1)")

    threads = [threading.Thread(target=wait) for _ in range(count)]
    with connect(parse_url(server.url)) as holder:
        holder.run("SELECT pg_advisory_lock(1)")
        for thread in threads:
            thread.start()
        asked = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory'"
        while holder.run(asked) != [[count]]:
            time.sleep(0.01)
        try:
            yield
        finally:
            holder.run("SELECT pg_advisory_unlock(1)")
            for each in threads:
                each.join()


def sampled_twice(servers: Mapping[str, Server]) -> Sequence[TimedSample]:
    """What one sampler gives of all of them, once each collector has said something."""
    heard = {name: threading.Semaphore(0) for name in servers}

    def heard_of(kind: Collector) -> Collector:
        def create(scope: Scope, instance: InstanceScope) -> Any:
            assert kind.create_for is not None
            collector = kind.create_for(scope, instance)

            def sample() -> Sequence[Sample]:
                found: Sequence[Sample] = collector.sample()
                if found:
                    heard[instance.name].release()
                return found

            return SimpleNamespace(sample=sample, close=collector.close)

        return replace(kind, create_for=create)

    scopes = (InstanceScope(name, each, each.data) for name, each in servers.items())
    kinds = {name: heard_of(plugins(Collector)[name]) for name in ("database", "server")}
    sampler = Sampler(Scope((), tuple(scopes)), kinds)
    sampler.start()
    for each in heard.values():
        for _ in kinds:
            assert each.acquire(timeout=60)
    return sampler.stop()


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
