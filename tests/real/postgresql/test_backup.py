"""A real PostgreSQL, backed up while it runs and restored beside itself."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import pytest

from stithy.database.backup import Options, Source, Tools, check, method_of
from stithy.database.engine import Start
from stithy.database.engines.postgresql.connection import connect, parse_url
from stithy.database.engines.postgresql.engine import PostgreSQL
from stithy.database.engines.postgresql.server import Server, remove_segment
from stithy.errors import PreconditionError, UserError
from stithy.hosts.runner import Command, LocalRunner, server_user
from support.servers import PASSWORD, engine, request, server_place, start

pytestmark = pytest.mark.needs_postgresql

METHOD = method_of("postgresql", "basebackup")
USER = server_user()


@pytest.fixture
def served() -> Iterator[tuple[Path, PostgreSQL, Server]]:
    """A server as in a window, with a table."""
    with server_place() as place:
        made = engine()
        made.initialise(place / "data", place)
        loading = made.start(start(place, loading=True))
        run(
            loading, "CREATE TABLE kept AS SELECT n, n * 2 AS twice FROM generate_series(1, 1000) n"
        )
        loading.stop()
        server = made.start(start(place))
        memory = server.shared_memory()
        yield place, made, server
        server.stop(at_once=True)
        remove_segment(memory)


def run(server: Server, statement: str) -> None:
    """A statement of a person."""
    with connect(parse_url(server.url)) as session:
        session.run(statement)


def done(command: Command) -> None:
    """Run a command as the server's user."""
    finished = LocalRunner().run(replace(command, user=USER.name if USER else None))
    assert finished.code == 0, finished.stderr


def folder(place: Path, name: str) -> Path:
    """An empty directory of the server's user."""
    made = place / name
    made.mkdir(mode=0o700)
    if USER:
        os.chown(made, USER.uid, USER.gid)
    return made


@pytest.mark.parametrize(
    "options", [Options(), Options(compression="gzip"), Options(2, "zstd", 2**30)], ids=str
)
def test_what_is_restored_has_all_rows_of_its_moment_and_leaves_the_source_alone(
    served: tuple[Path, PostgreSQL, Server], options: Options
) -> None:
    """Rows are compared by their sums; a change after the backup is no part of it."""
    place, made, server = served
    before = server.checksums()
    target, data, sockets = (folder(place, name) for name in ("backup", "restored", "s"))
    tools = Tools(made.check().programs)
    command = METHOD.take(tools, Source(server.url), target, options)
    assert PASSWORD not in " ".join(command.argv)
    done(command)
    run(server, "UPDATE kept SET twice = 0 WHERE n = 1")
    for each in METHOD.restore(tools, target, data, options):
        done(each)
    second = made.start(Start(data, sockets, place / "second.log"))
    try:
        assert second.checksums() == before
        assert server.checksums() != before
        run(second, "DROP TABLE kept")
        assert set(server.checksums()) == set(before)
    finally:
        memory = second.shared_memory()
        second.stop()
        remove_segment(memory)


def test_a_backup_reads_no_faster_than_it_is_told(
    served: tuple[Path, PostgreSQL, Server],
) -> None:
    """The server's own clock shows it: its files, at that bandwidth, take so long at least."""
    place, made, server = served
    target = folder(place, "backup")
    limit = 16 * 2**20
    began_s = perf_counter()
    done(
        METHOD.take(
            Tools(made.check().programs), Source(server.url), target, Options(bytes_per_s=limit)
        )
    )
    took_s = perf_counter() - began_s
    assert took_s >= 0.8 * (target / "base.tar").stat().st_size / limit


def test_a_program_that_is_missing_and_options_that_do_not_fit_say_what_to_do() -> None:
    """The package of the program; the option that would fit."""
    found = dict.fromkeys(METHOD.programs(Options()), "/bin/true")
    check(METHOD, Options(), found)
    with pytest.raises(PreconditionError, match="pg_basebackup") as missing:
        check(METHOD, Options(), {**found, "pg_basebackup": None})
    assert "postgresql-client" in missing.value.remedy
    with pytest.raises(UserError, match="zstd"):
        check(METHOD, Options(processes=4), found)
    with pytest.raises(UserError, match="32 KiB to 1 GiB"):
        check(METHOD, Options(bytes_per_s=1024), found)


def test_the_engine_refuses_before_anything_is_made() -> None:
    """Its check knows the methods of the study."""
    asked = replace(request(), backups=[("basebackup", Options(processes=4))])
    with pytest.raises(UserError, match="zstd"):
        PostgreSQL(asked).check()
