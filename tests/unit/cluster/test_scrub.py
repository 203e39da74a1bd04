"""A deep scrub without a manager: asked of OSDs until each placement group was read."""

import json
import socket
from contextlib import closing, suppress
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from stithy.clock import SystemClock
from stithy.cluster.layout import ClusterEntry
from stithy.cluster.scrub import scrub_deeply

ENTRY = ClusterEntry("lab", None, "abcdef", "198.18.0", 1, 1)
LONG_AGO, LATER = "2020-01-01T00:00:00.000000+0000", "2999-01-01T00:00:00.000000+0000"
INCONSISTENT = json.dumps({"epoch": 10, "inconsistents": [{
    "object": {"name": "rbd_data.1.26", "nspace": "", "snap": "head", "version": 18},
    "errors": [], "union_shard_errors": ["read_error"],
    "shards": [{"osd": 0, "primary": True, "errors": ["read_error"], "size": 4194304},
               {"osd": 1, "primary": False, "errors": [], "size": 4194304,
                "omap_digest": "0xffffffff", "data_digest": "0x2e69c840"}],
}]})  # fmt: skip
"""Of `rados list-inconsistent-obj 1.1a --format json`, Ceph 16.2.15, with one of two copies flipped
by an emulated drive; without what nobody reads."""


class FakeOsd(Thread):
    """An admin socket with all placement groups of a pool, each scrubbed when it is asked for."""

    def __init__(self, folder: Path, *, repairs: bool) -> None:
        """Listen."""
        super().__init__(daemon=True)
        self._stamps = {f"1.{number:x}": LONG_AGO for number in range(ENTRY.groups)}
        self.settings: dict[str, str] = {}
        self._repairs, self._line = repairs, socket.socket(socket.AF_UNIX)
        self._line.bind(str(folder / "osd.0.asok"))
        self._line.listen()
        self.start()

    def run(self) -> None:
        """Answer until the socket is closed."""
        with suppress(OSError):
            while True:
                line, _ = self._line.accept()
                with line, line.makefile("rb") as file:
                    asked = b"".join(iter(lambda: file.read(1), b"\0"))
                    answer = json.dumps(self._answer(json.loads(asked))).encode()
                    line.sendall(len(answer).to_bytes(4, "big") + answer)

    def _answer(self, asked: dict[str, Any]) -> Any:
        if asked["prefix"] == "config set":
            self.settings[asked["var"]] = asked["val"][0]
        if asked["prefix"] == "dump_pgstate_history":
            return {"pgs": [{"pg": group, "currently": "Started/Primary/Active/Clean"}
                            for group in self._stamps]}  # fmt: skip
        if asked["prefix"] == "deep_scrub":
            self._stamps[asked["pgid"]] = LATER
        if asked["prefix"] == "query":
            stamp = self._stamps[asked["pgid"]]
            is_wrong = asked["pgid"] == "1.1a" and stamp == LATER
            is_left = is_wrong and not self._repairs
            counts = {"num_scrub_errors": int(is_left),
                      "num_objects_repaired": int(is_wrong and self._repairs)}  # fmt: skip
            return {"info": {"history": {"last_deep_scrub_stamp": stamp},
                             "stats": {"stat_sum": counts}}}  # fmt: skip
        return {}

    def close(self) -> None:
        """Close the socket."""
        self._line.shutdown(socket.SHUT_RDWR)
        self.join()
        self._line.close()


@pytest.fixture
def programs(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `rados` that says which objects are inconsistent."""
    (place / "bin").mkdir()
    program = place / "bin/rados"
    program.write_text(f"#!/bin/sh\necho '{INCONSISTENT}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(place / "bin"), prepend=":")


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize("repairs", [False, True])
def test_a_wrong_copy_is_found_and_repaired(place: Path, repairs: bool) -> None:
    """Each group is asked for; what is wrong is named with its OSD."""
    with closing(FakeOsd(place, repairs=repairs)) as osd:
        found = scrub_deeply(place, ENTRY, lambda: SystemClock().sleep_s(0.01), repairs=repairs)
    assert osd.settings["osd_scrub_auto_repair"] == str(repairs).lower()
    assert osd.settings["osd_scrub_backoff_ratio"] == "0"
    wrong = () if repairs else ("rbd_data.1.26 (read_error on osd.0)",)
    assert (found.inconsistent, found.repaired) == (wrong, int(repairs))
    assert found.describe() == (
        "no copy is wrong" if repairs
        else "inconsistent objects: 1, such as rbd_data.1.26 (read_error on osd.0)"
    )  # fmt: skip
