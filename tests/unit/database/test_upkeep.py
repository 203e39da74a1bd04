"""The log of a server gets as many segments as wanted, and no server is kept at it for ever."""

from typing import Any, cast

import pytest

from stithy.engines.postgresql.connection import Connection
from stithy.engines.postgresql.upkeep import BESIDE, FILL, SEGMENTS, SEGMENTS_MIN, fill_log

SEGMENT = 16 * 2**20
MIN_WAL_MB = 160


class Server:
    """A session of one that keeps at most so many segments, and how many there are."""

    def __init__(self, most: int, future: int = 0) -> None:
        self.most, self.future, self.segments = most, future, 1 + future
        self.ran: list[str] = []

    def run(self, statement: str, **given: Any) -> list[list[Any]]:
        """What a server would answer; a switch uses a future segment before it makes another."""
        self.ran.append(statement)
        if statement == SEGMENTS:
            return [[self.segments]]
        if "pg_switch_wal" in statement:
            self.future, made = max(0, self.future - 1), int(self.future == 0)
            self.segments = min(self.most, self.segments + made)
        if "wal_segment_size" in statement:
            return [["16MB", MIN_WAL_MB]]
        return [[SEGMENT if given else None]]


@pytest.mark.parametrize(("most", "future"), [(100, 0), (100, 5), (4, 0)])
def test_a_log_is_filled_to_what_a_window_needs_or_to_what_its_server_keeps(
    most: int, future: int
) -> None:
    """A server whose log is small makes checkpoints meanwhile; the last one ends it."""
    server = Server(most, future)
    fill_log(cast(Connection, server), 1)
    assert server.segments == min(most, SEGMENTS_MIN + BESIDE)
    assert server.ran[-1] == "CHECKPOINT"
    assert server.ran.index(FILL) < server.ran.index(SEGMENTS)
