"""Talking to QEMU's storage daemon, and what a mirror asks of it."""

import itertools
import json
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stithy.drives.bridge import BLOCK_BYTES
from stithy.errors import InfrastructureError
from stithy.scenarios.migration.way import Move
from stithy.scenarios.migration.ways.block_mirror import PIECE_BYTES, find_differing, mirror
from stithy.storage.layers import qemu
from stithy.storage.layers.qemu import open_monitor

GREETING = b'{"QMP": {"version": {}, "capabilities": []}}\n'
DONE = b'{"return": {}}\n'


def event(name: str, at_s: int = 0, **facts: object) -> bytes:
    """An event as QEMU tells it, a quarter of a second after a full one."""
    time = {"seconds": at_s, "microseconds": 250_000}
    return json.dumps({"event": name, "timestamp": time, "data": facts}).encode() + b"\n"


@contextmanager
def serving(path: Path, script: Mapping[str, Sequence[bytes]]) -> Iterator[list[str]]:
    """Inside, a peer answers at `path` by its script; the commands that it heard."""
    heard: list[str] = []

    def converse() -> None:
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as lines:
            connection.sendall(GREETING)
            for line in lines:
                heard.append(json.loads(line)["execute"])
                for piece in script.get(heard[-1], [DONE]):
                    if not piece:
                        return
                    connection.sendall(piece)

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        thread = threading.Thread(target=converse)
        thread.start()
        yield heard
        thread.join()


def test_events_between_answers_are_kept(tmp_path: Path) -> None:
    """In their order, with QEMU's own time, however the pieces come."""
    told = event("A", 5, offset=7)
    script = {"query": [told[:9], told[9:], b'{"return": [1]}\n' + event("B", 6)]}
    with serving(tmp_path / "s", script), open_monitor(tmp_path / "s") as monitor:
        assert monitor.ask("query") == [1]
        events = [*monitor.take_events(1.0), *monitor.take_events(0.05)]
    assert [(each.name, each.at_s) for each in events] == [("A", 5.25), ("B", 6.25)]
    assert events[0].facts == {"offset": 7}


@pytest.mark.parametrize(("answer", "problem"), [
    ([b'{"error": {"class": "GenericError", "desc": "no such node"}}\n'], "query failed: no such"),
    ([b""], "it has ended"),
    ([b"hello\n"], "it answers b'hello'"),
    ([event("A")], "query was not answered within 0.2 s"),
])  # fmt: skip
def test_what_qemu_does_not_do_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: list[bytes], problem: str
) -> None:
    """With its own words, where it has any."""
    monkeypatch.setattr(qemu, "PATIENCE_S", 0.2)
    path = tmp_path / "s"
    with (
        serving(path, {"query": answer}),
        open_monitor(path) as monitor,
        pytest.raises(InfrastructureError, match=problem),
    ):
        monitor.ask("query")


def make_move(now_s: float, tick_s: float = 0.0) -> Move:
    """A move whose users are done at 100 s; each look at the clock takes a tick."""
    times = itertools.count(now_s, tick_s)
    clock = SimpleNamespace(now_s=lambda: next(times), monotonic_s=lambda: 0.0)
    stop = SimpleNamespace(check=lambda: None, asked=threading.Event())
    context: Any = SimpleNamespace(session=SimpleNamespace(stop=stop, clock=clock))
    unused: Any = SimpleNamespace(id="w")
    return Move(context, unused, unused, unused, 100.0)


READY = [DONE, event("BLOCK_JOB_READY", 50, offset=2**20)]
FAILED = [DONE, event("BLOCK_JOB_COMPLETED", 50, offset=0, error="Input/output error")]
TURNED = [DONE, event("JOB_STATUS_CHANGE"), event("BLOCK_JOB_COMPLETED", 51, offset=2**21)]
BEGUN = ["qmp_capabilities", "blockdev-add", "blockdev-mirror"]
ENDED = [*BEGUN, "block-dirty-bitmap-add", "job-complete"]


def test_a_mirror_ends_when_qemu_says_that_it_turned(tmp_path: Path) -> None:
    """By QEMU's time, with the bytes that it copied until then."""
    of, script = make_move(49.0), {"blockdev-mirror": READY, "job-complete": TURNED}
    with serving(tmp_path / "s", script) as heard, open_monitor(tmp_path / "s") as monitor:
        mirror(of, monitor, {"driver": "raw"})
    assert heard == ENDED
    assert [name for name, _ in of.marks] == ["mirror", "switch"]
    assert (of.ended_s, of.moved_bytes) == (51.25, 2**21)


@pytest.mark.parametrize(("tick_s", "copied", "heard", "error"), [
    (0.0, FAILED, BEGUN, "it could not be mirrored: Input/output error"),
    (30.0, [DONE], BEGUN, "the users were done before the migration was, which was at: mirror"),
    (0.0, READY, ENDED, "job-complete failed: not now"),
])  # fmt: skip
def test_a_mirror_that_does_not_end_is_cancelled(
    tmp_path: Path, tick_s: float, copied: list[bytes], heard: list[str], error: str
) -> None:
    """So that its users go on at the source."""
    of, refusal = make_move(30.0, tick_s), b'{"error": {"desc": "not now"}}\n'
    script = {"blockdev-mirror": copied, "job-complete": [refusal]}
    with (
        serving(tmp_path / "s", script) as asked,
        open_monitor(tmp_path / "s") as monitor,
        pytest.raises(InfrastructureError, match=error),
    ):
        mirror(of, monitor, {"driver": "raw"})
    assert asked == [*heard, "block-job-cancel"]


def test_drives_are_compared_to_the_end_of_the_source(disk_place: Path) -> None:
    """Neither what an earlier piece held nor what the target has beyond it is of the source."""
    pieces = PIECE_BYTES // BLOCK_BYTES
    kept, changed, beyond = (bytes([value]) * BLOCK_BYTES for value in (1, 2, 3))
    written = {
        "source": [kept] * (pieces + 2),
        "target": [kept, kept, changed, *[kept] * (pieces - 2), changed, *[beyond] * pieces],
    }
    for name, blocks in written.items():
        (disk_place / name).write_bytes(b"".join(blocks))
    drives: Iterator[Any] = (
        SimpleNamespace(device=str(disk_place / name), size_bytes=len(blocks) * BLOCK_BYTES)
        for name, blocks in written.items()
    )
    assert [*find_differing(*drives)] == [2, pieces + 1]
