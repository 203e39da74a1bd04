"""PostgreSQL's own restore gives the template's state, and leaves nothing for autovacuum to do."""

from collections.abc import Iterator

import pytest

from stithy.engines.postgresql import upkeep
from stithy.engines.postgresql.connection import connect
from stithy.engines.postgresql.server import Server
from stithy.engines.postgresql.upkeep import SEGMENTS
from stithy.engines.postgresql.url import parse_url
from support.servers import running_server

pytestmark = pytest.mark.needs_postgresql

ROWS = 60_000
"""Twice as many as the planner's statistics are sampled from."""

STATE = {
    "rows in their places": "SELECT sum(hashtextextended(ctid::text || t::text, 0)::numeric)::text"
    " FROM t",
    "the planner's statistics": "SELECT md5(string_agg(s::text, ',' ORDER BY s::text))"
    " FROM pg_stats s WHERE schemaname = 'public'",
    "pages": "SELECT string_agg(concat_ws(' ', relname, relpages, reltuples, relallvisible), ','"
    " ORDER BY relname) FROM pg_class WHERE relnamespace = 'public'::regnamespace",
}
UNDONE = (
    "SELECT coalesce(string_agg(relname, ', '), '') FROM pg_stat_all_tables"
    " WHERE n_dead_tup + n_ins_since_vacuum > 0"
    " OR n_mod_since_analyze > 0 AND relname !~ '^pg_(statistic$|toast)'"
)
"""Tables with work for autovacuum, which analyses neither the statistics nor what is set apart."""


def asked(server: Server, query: str, database: str | None = None) -> object:
    """The one value of a query."""
    with connect(parse_url(server.url), database=database) as session:
        [[found]] = session.run(query)
    return found


@pytest.fixture
def server() -> Iterator[Server]:
    """A server with a loaded table, that has kept it."""
    with running_server() as made:
        with connect(parse_url(made.url)) as session:
            session.run("CREATE TABLE t (id bigint PRIMARY KEY, text text)")
            session.run(f"INSERT INTO t SELECT i, md5(i::text) FROM generate_series(1, {ROWS}) i")
        made.finish_loading(0)
        yield made


def test_a_restored_template_is_the_same(server: Server) -> None:
    """Whatever was done to the database meanwhile; autovacuum would find nothing to do."""
    loaded = {name: asked(server, query) for name, query in STATE.items()}
    segments = asked(server, SEGMENTS)
    upkeep.keep(server.url, "kept1")
    for harm in ("UPDATE t SET text = 'x'", "DROP TABLE t", "CREATE TABLE more ()"):
        upkeep.restore(server.url, "kept1", 0)
        assert {name: asked(server, query) for name, query in STATE.items()} == loaded
        for database in (None, "postgres", "template1"):
            assert asked(server, UNDONE, database) == "", database
        with connect(parse_url(server.url)) as session:
            session.run(harm)
            session.run("SELECT pg_logical_emit_message(false, 'x', 'y'), pg_switch_wal()")
        assert asked(server, SEGMENTS) == segments


def test_a_second_template_leaves_the_first_one_as_it_is(server: Server) -> None:
    """Each size of the data has one; nobody can connect to a template."""
    upkeep.keep(server.url, "kept1")
    upkeep.restore(server.url, "kept1", 0)
    upkeep.empty(server.url)
    assert asked(server, "SELECT count(*) FROM pg_class WHERE relname = 't'") == 0
    upkeep.keep(server.url, "kept2")
    upkeep.restore(server.url, "kept1", 0)
    assert asked(server, "SELECT count(*) FROM t") == ROWS
    upkeep.restore(server.url, "kept2", 0)
    assert asked(server, "SELECT count(*) FROM pg_class WHERE relname = 't'") == 0
    allowed = "SELECT bool_or(datallowconn) FROM pg_database WHERE datname LIKE 'kept%'"
    assert asked(server, allowed, "postgres") is False
