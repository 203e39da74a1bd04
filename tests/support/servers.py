"""A real PostgreSQL for a test: made, started and removed with everything it left."""

import os
import secrets
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from stithy.engines.instance import Configuration, Request, Start
from stithy.engines.postgresql.engine import PostgreSQL
from stithy.engines.postgresql.server import Server
from stithy.hosts.host import LocalHost
from stithy.hosts.runner import find_server_user
from stithy.run.books import PREFIX
from stithy.secrets import Secret
from stithy.storage.volume import remove_tree
from support.places import quick_parent

PASSWORD = "it's a 'secret'/?"


@contextmanager
def mounted(point: Path, size: str) -> Iterator[Path]:
    """A file system in memory of this size, everybody's; unmounted at the end."""
    point.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={size},mode=755"]
    subprocess.run(["mount", *options, "tmpfs", str(point)], check=True)
    try:
        yield point
    finally:
        subprocess.run(["umount", str(point)], check=True)


def make_folder(place: Path, name: str) -> Path:
    """An empty directory of the server's user."""
    made = place / name
    made.mkdir(mode=0o700)
    if user := find_server_user():
        os.chown(made, user.uid, user.gid)
    return made


@contextmanager
def server_place(parent: Path | None = None) -> Iterator[Path]:
    """A directory of the server's user, with `data`, as short as sockets need it."""
    place = make_folder(parent or quick_parent(), f"{PREFIX}{secrets.token_hex(4)}")
    try:
        make_folder(place, "data")
        yield place
    finally:
        remove_tree(place)


def request(
    settings: Mapping[str, str] | None = None,
    users: int = 8,
    own: Sequence[tuple[str, Configuration]] = (),
) -> Request:
    """For an engine with these settings, 256 MiB of memory, and a password that must be quoted.

    `own`: other configurations, by the section of the study that gives them.
    """
    return Request(
        host=LocalHost(), configuration=Configuration(settings or {}, 256 * 2**20),
        connections_max=users, password=Secret(PASSWORD), own=own,
    )  # fmt: skip


def engine(
    settings: Mapping[str, str] | None = None,
    users: int = 8,
    own: Sequence[tuple[str, Configuration]] = (),
) -> PostgreSQL:
    """PostgreSQL, as `request` asks for it."""
    return PostgreSQL(request(settings, users, own))


def start(place: Path, *, loading: bool = False) -> Start:
    """A start in `place`."""
    return Start(place / "data", place, place / "server.log", loading=loading)


@contextmanager
def running_server(settings: Mapping[str, str] | None = None) -> Iterator[Server]:
    """A loading server with an empty database under test, on a directory of its own."""
    with server_place() as place:
        made = engine(settings)
        made.initialise(place / "data", place)
        server = made.start(start(place, loading=True))
        try:
            yield server
        finally:
            server.stop(at_once=True)
