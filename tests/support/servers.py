"""A real PostgreSQL for a test: made, started and removed with everything it left."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from stithy.database.engine import Request, Start
from stithy.database.engines.postgresql.engine import PostgreSQL
from stithy.database.engines.postgresql.server import Server
from stithy.hosts.runner import LocalRunner, server_user
from stithy.run.cleanup.register import make_scratch
from stithy.secrets import generate_password
from stithy.storage.volume import remove_tree


@contextmanager
def running_server(settings: Mapping[str, str] | None = None) -> Iterator[Server]:
    """A server with an empty database under test, on a directory of its own."""
    user = server_user()
    place = make_scratch(lambda kind, facts: None, user)
    try:
        (place / "data").mkdir(mode=0o700)
        if user:
            os.chown(place / "data", user.uid, user.gid)
        yield from _running(_engine(settings or {}), place)
    finally:
        remove_tree(place)


def _engine(settings: Mapping[str, str]) -> PostgreSQL:
    return PostgreSQL(
        Request(
            runner=LocalRunner(),
            settings=settings,
            memory_bytes=256 * 2**20,
            connections_max=8,
            user=server_user(),
            password=generate_password(),
        )
    )


def _running(engine: PostgreSQL, place: Path) -> Iterator[Server]:
    engine.initialise(place / "data", place)
    server = engine.start(Start(place / "data", place, place / "server.log", loading=True))
    try:
        yield server
    finally:
        server.stop(at_once=True)
