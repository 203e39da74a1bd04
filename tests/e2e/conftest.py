"""What all end-to-end tests share: a real `stithy`, ended and cleaned whatever happens."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.running import Stithy


@pytest.fixture
def stithy(place: Path) -> Iterator[Stithy]:
    """`stithy` with a state directory of its own; used before `place` is removed."""
    program = Stithy(place / "state")
    yield program
    program.end()


ROOM_BYTES = 4 * 2**30


def quick_parent() -> Path:
    """Where directories for tests go: memory where there is room, because disks are slow."""
    memory = Path("/dev/shm")
    if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > ROOM_BYTES:
        return memory
    return Path("/var/tmp")


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that the server's user can reach; pytest's own are closed to others."""
    path = Path(tempfile.mkdtemp(prefix="stithy-test-", dir=quick_parent()))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)
