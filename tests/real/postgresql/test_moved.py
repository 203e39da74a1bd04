"""A real PostgreSQL that was copied: a server on the source's files tells which tables differ."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stithy.clock import SystemClock
from stithy.engines.engine import get_engine
from stithy.engines.postgresql.connection import connect
from stithy.engines.postgresql.engine import find_installation
from stithy.engines.postgresql.replication import promote
from stithy.engines.postgresql.server import Server
from stithy.engines.postgresql.url import parse_url
from stithy.hosts.host import LocalHost
from stithy.run.session import Stop
from stithy.scenarios.migration.ways.servers import FileCopy
from stithy.storage.consent import ASIDE
from stithy.storage.copy import copy_tree
from support.servers import engine, make_folder, server_place, start

pytestmark = pytest.mark.needs_postgresql


def run(server: Server, *statements: str) -> None:
    """Run statements in the database under test."""
    with connect(parse_url(server.url)) as session:
        for statement in statements:
            session.run(statement)


@pytest.mark.parametrize(("is_changed", "is_promoted"), [(False, False), (True, False),
                                                         (False, True)])  # fmt: skip
def test_a_source_that_follows_tells_which_tables_differ(
    is_changed: bool, is_promoted: bool
) -> None:
    """What users did since the copy is the same in both; a row that was copied wrong is not."""
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
        if is_promoted:
            shutil.copy2(place / "data/PG_VERSION", place / "data/standby.signal")
            owner = (place / "data").stat()
            os.chown(place / "data/standby.signal", owner.st_uid, owner.st_gid)
        target = made.start(start(place))
        held.callback(target.stop)
        if is_promoted:
            promote(target.url)
        run(target, "INSERT INTO b SELECT 7", "CHECKPOINT", "DELETE FROM b WHERE n < 10")

        def start_beside(
            data: Path, settings: Mapping[str, str], held: ExitStack, name: str
        ) -> Server:
            sockets = make_folder(place, name)
            begin = replace(start(place), data=data, sockets=sockets, more=settings)
            follower = made.start(replace(begin, log=place / f"{name}.log"))
            held.callback(follower.stop)
            return follower

        move: Any = SimpleNamespace(
            context=SimpleNamespace(
                session=SimpleNamespace(clock=SystemClock(), stop=Stop()),
            ),
            window=SimpleNamespace(candidate="one", point=None, id="w"),
            find_server=lambda: target, find_engine=partial(get_engine, "postgresql"),
            start_beside=start_beside, source=SimpleNamespace(path=place, drives=()),
        )  # fmt: skip
        sums = FileCopy().compare(move)
        assert {name: of[0] == of[1] for name, of in sums.items()} == {
            "public.a": not is_changed, "public.b": True
        }  # fmt: skip
        assert [str(sums["public.b"][1]).partition(",")[0]] == ["991 rows"]


def change_row(data: Path) -> None:
    """Change a row where no checksum tells it."""
    program = find_installation(LocalHost()).programs / "pg_checksums"
    subprocess.run([program, "--disable", "--no-sync", "-D", data], check=True, capture_output=True)
    [file] = [each for each in data.glob("base/*/*") if b"as it was" in each.read_bytes()]
    file.write_bytes(file.read_bytes().replace(b"as it was", b"as it saw"))
