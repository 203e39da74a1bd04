"""Ledgers of agents, made one: that of all their users.

A transaction is in the ledger of one agent alone, and what became of it is its last entry there. So
the batches of one after those of the other are what one load driver would have written.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from stithy.errors import InfrastructureError

MARK = b"STITHYL2"
_FRAME = struct.Struct("<II")


def read_batches(path: Path) -> Iterator[bytes]:
    """Read the batches of a ledger with their frames, its head first; without a torn end.

    Raises InfrastructureError for one that is damaged before its end. Source: the section "The
    format" of docs/reference/ledger.md.
    """
    damaged = InfrastructureError(
        "its ledger is damaged", where=str(path), remedy="measure the window again"
    )
    with path.open("rb") as file:
        if file.read(len(MARK)) != MARK:
            raise damaged
        while len(frame := file.read(_FRAME.size)) == _FRAME.size:
            length, checksum = _FRAME.unpack(frame)
            payload = file.read(length)
            if len(payload) < length or zlib.crc32(frame[:4] + payload) != checksum:
                if payload and any(file.read()):
                    raise damaged
                return  # as a full disk leaves it; zeros are room for more
            yield frame + payload


def join_ledgers(whole: Path, parts: Sequence[Path]) -> None:
    """Write the ledgers of several agents as one, which is there once it is whole."""
    begun = whole.with_name(f"{whole.name}.begun")
    with begun.open("wb") as file:
        file.write(MARK)
        for number, part in enumerate(parts):
            for place, batch in enumerate(read_batches(part)):
                if place or not number:  # all have the same head
                    file.write(batch)
    begun.replace(whole)
