"""A real PostgreSQL that was copied: a server on the source's files tells which tables differ."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stithy.engines.postgresql.connection import connect
from stithy.engines.postgresql.engine import find_installation
from stithy.engines.postgresql.replication import promote
from stithy.engines.postgresql.server import Server
from stithy.engines.postgresql.url import parse_url
from stithy.errors import InfrastructureError
from stithy.hosts.host import LocalHost
from stithy.scenarios.migration.ways import servers
from stithy.scenarios.migration.ways.servers import FileCopy, ReplicationWay
from stithy.storage.consent import ASIDE
from stithy.storage.copy import copy_tree
from support.moved import make_move
from support.servers import engine, make_folder, server_place, start

pytestmark = pytest.mark.needs_postgresql


def run(server: Server, *statements: str) -> None:
    """Run statements in the database under test."""
    with connect(parse_url(server.url)) as session:
        for statement in statements:
            session.run(statement)


@contextmanager
def moved(
    *, is_changed: bool = False, is_promoted: bool = False, goes_on: bool = False
) -> Iterator[Any]:
    """A database whose source lies aside, and at whose target users have worked since.

    `is_changed`: a row of the source is another; `goes_on`: it has log that the target never got.
    """
    with server_place() as place, ExitStack() as held:
        made = engine()
        made.initialise(place / "data", place)
        made.start(start(place, loading=True)).stop()
        first = made.start(start(place))
        held.callback(first.stop)
        run(first, "CREATE TABLE a AS SELECT 'as it was' AS text",
            "CREATE TABLE b AS SELECT generate_series(1, 1000) AS n")  # fmt: skip
        first.stop()
        aside = make_folder(place, ASIDE)
        copy_tree(place / "data", aside)
        if is_changed:
            change_row(aside)
        if goes_on:
            source = made.start(replace(start(place), data=aside))
            run(source, "INSERT INTO b SELECT 1")
            source.stop(at_once=True)
        if is_promoted:
            shutil.copy2(place / "data/PG_VERSION", place / "data/standby.signal")
            owner = (place / "data").stat()
            os.chown(place / "data/standby.signal", owner.st_uid, owner.st_gid)
        target = made.start(start(place))
        held.callback(target.stop)
        if is_promoted:
            promote(target.url)
        run(target, "INSERT INTO b SELECT 7", "CHECKPOINT", "DELETE FROM b WHERE n < 10")
        yield make_move("postgresql", made, place, target)


@pytest.mark.parametrize(("is_changed", "is_promoted"), [(False, False), (True, False),
                                                         (False, True)])  # fmt: skip
def test_a_source_that_follows_tells_which_tables_differ(
    is_changed: bool, is_promoted: bool
) -> None:
    """What users did since the copy is the same in both; a row that was copied wrong is not."""
    with moved(is_changed=is_changed, is_promoted=is_promoted) as move:
        sums = FileCopy().compare(move)
    assert {name: of[0] == of[1] for name, of in sums.items()} == {
        "public.a": not is_changed, "public.b": True
    }  # fmt: skip
    assert [str(sums["public.b"][1]).partition(",")[0]] == ["991 rows"]


def test_a_source_with_log_of_its_own_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed server may have written what no other got: it cannot follow, and nobody guesses."""
    monkeypatch.setattr(servers, "FOLLOW_S", 3.0)
    with (
        moved(is_promoted=True, goes_on=True) as move,
        pytest.raises(InfrastructureError, match="did not get the target's log"),
    ):
        ReplicationWay().compare(move)


def change_row(data: Path) -> None:
    """Change a row where no checksum tells it."""
    program = find_installation(LocalHost()).programs / "pg_checksums"
    subprocess.run([program, "--disable", "--no-sync", "-D", data], check=True, capture_output=True)
    [file] = [each for each in data.glob("base/*/*") if b"as it was" in each.read_bytes()]
    file.write_bytes(file.read_bytes().replace(b"as it was", b"as it saw"))
