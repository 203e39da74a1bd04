"""Small files and sockets: read as far as they are there, written durably, reached by any path."""

import os
import socket
from pathlib import Path


def text_of(path: Path) -> str:
    """The content of a file, stripped; empty where there is none, or this user may not see it."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def write_private(path: Path, text: str) -> None:
    """Write a file that only its user may read; it is whole on disk when this returns."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def connected(path: Path, patience_s: float) -> socket.socket:
    """A connection to a socket, whose path may be longer than the 107 bytes of a Unix address.

    Through the folder's own descriptor the address is short.
    """
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(patience_s)
        connection.connect(f"/proc/self/fd/{folder}/{path.name}")
    except BaseException:
        connection.close()
        raise
    finally:
        os.close(folder)
    return connection
