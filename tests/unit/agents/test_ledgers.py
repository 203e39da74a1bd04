"""The ledgers of several agents are one, and nothing that is damaged is taken for a whole one."""

import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stithy.agents.ledgers import MARK, join_ledgers, read_batches
from stithy.errors import InfrastructureError

HEAD = b'{"workload":"oltp","loaded":{},"run_seed":7}'
PAYLOADS = st.lists(st.binary(min_size=1, max_size=60), max_size=5)


def _frame(payload: bytes) -> bytes:
    """Frame a payload as docs/reference/ledger.md says."""
    length = struct.pack("<I", len(payload))
    return length + struct.pack("<I", zlib.crc32(length + payload)) + payload


def _write(path: Path, payloads: list[bytes], end: bytes = b"") -> Path:
    path.write_bytes(MARK + b"".join(map(_frame, [HEAD, *payloads])) + end)
    return path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(PAYLOADS, min_size=1, max_size=4), room=st.integers(0, 40))
def test_the_whole_has_one_head_and_every_batch(
    tmp_path: Path, parts: list[list[bytes]], room: int
) -> None:
    """Each agent's in its order; room that was never used is none of them."""
    paths = [
        _write(tmp_path / str(number), payloads, bytes(room))
        for number, payloads in enumerate(parts)
    ]
    join_ledgers(tmp_path / "whole", paths)
    head, *batches = read_batches(tmp_path / "whole")
    assert head == _frame(HEAD)
    assert batches == [_frame(payload) for payloads in parts for payload in payloads]
    assert not list(tmp_path.glob("*.begun"))


def test_damage_is_no_torn_end(tmp_path: Path) -> None:
    """A full disk tears the last batch; anything else that changed bytes is named."""
    whole = _write(tmp_path / "whole", [b"one", b"two"]).read_bytes()
    part = tmp_path / "part"
    for cut in range(len(whole) - len(_frame(b"two")), len(whole)):
        part.write_bytes(whole[:cut])
        assert len(list(read_batches(part))) == 2
    for at in (0, len(MARK) + 4, len(whole) - len(_frame(b"two")) - 1):
        part.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(InfrastructureError, match="damaged"):
            list(read_batches(part))
