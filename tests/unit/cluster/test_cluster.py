"""A laboratory cluster: its layout, its removal, scrubs and what gives back what was written."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from ipaddress import IPv4Network
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from stithy.clock import SystemClock
from stithy.cluster import layout
from stithy.cluster.image import find_pids
from stithy.cluster.layout import ClusterEntry
from stithy.cluster.scrub import scrub_deeply
from stithy.drives import bridge
from stithy.errors import InfrastructureError, PreconditionError, UserError
from stithy.hosts import links


def test_a_cluster_is_known_by_what_was_written_before_it_was_made(tmp_path: Path) -> None:
    """Its names are drawn for it, and its folder is for its user alone."""
    entry = layout.make_entry("lab", None, 3, 2)
    layout.make(tmp_path / "lab", entry)
    assert layout.read_entry(tmp_path / "lab") == entry
    assert (tmp_path / "lab").stat().st_mode & 0o077 == 0
    assert entry.osds == ((0, 1), (1, 1), (2, 2), (3, 2), (4, 3), (5, 3))
    assert max(len(entry.link(host)) for host in (0, 12)) < 16  # the kernel's limit
    with pytest.raises(UserError, match="already up"):
        layout.make(tmp_path / "lab", entry)


def test_every_daemon_has_a_key_of_its_own_that_nobody_else_may_read(tmp_path: Path) -> None:
    """Generated, and never the same twice."""
    entry = layout.make_entry("lab", None, 3, 1)
    layout.write(tmp_path, entry, "00000000-0000-0000-0000-000000000000")
    rings = [*tmp_path.glob("*keyring"), *tmp_path.glob("osd.*/keyring")]
    assert len(rings) == 5
    assert {ring.stat().st_mode & 0o777 for ring in rings} == {0o600}
    keys = [line for line in (tmp_path / "mon.keyring").read_text().splitlines() if "key =" in line]
    assert len(set(keys)) == 5
    assert "auth client required = cephx" in (tmp_path / layout.CONF).read_text()


def test_the_network_of_a_cluster_is_one_for_tests_that_nothing_uses(tmp_path: Path) -> None:
    """Never one that a route leads to, whoever set it up."""
    routes = tmp_path / "route"
    head = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n"

    def taken(*networks: str) -> None:
        lines = [head, "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\n"]
        for each in map(IPv4Network, networks):
            address, mask = (
                int.from_bytes(word.packed, sys.byteorder)
                for word in (each.network_address, each.netmask)
            )
            lines.append(f"sc1\t{address:08X}\t00000000\t0001\t0\t0\t0\t{mask:08X}\n")
        routes.write_text("".join(lines))

    taken()
    assert links.find_free_subnet(routes).startswith("198.1")
    taken("198.18.0.0/16", "198.19.0.0/17", *(f"198.19.{n}.0/24" for n in range(129, 256)))
    assert links.find_free_subnet(routes) == "198.19.128"
    taken("198.18.0.0/15")
    with pytest.raises(PreconditionError, match="networks for tests, is in use"):
        links.find_free_subnet(routes)


SCRIPT = "#!/usr/bin/env python3\nprint(flush=True)\ninput()\n"


@contextmanager
def working_in(folder: Path, *words: Sequence[str]) -> Iterator[list[int]]:
    """Inside, programs that wait work in the folder; their ids."""
    with ExitStack() as stack:
        started = [
            stack.enter_context(
                subprocess.Popen(
                    word, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
                )
            )
            for word in words
        ]
        for each in started:
            assert each.stdout is not None
            each.stdout.readline()
        yield [each.pid for each in started]


def test_a_shell_that_works_in_the_folder_of_a_cluster_is_none_of_its_processes(
    tmp_path: Path,
) -> None:
    """Programs of Ceph and of its image are, also those written in Python, wherever they lie."""
    folder, programs = tmp_path / "cluster", tmp_path / "programs"
    for each in (folder, programs):
        each.mkdir()
    monitor, client = programs / "ceph-mon", programs / "ceph"
    shutil.copy(shutil.which("bash") or "/bin/bash", monitor)
    client.write_text(SCRIPT)
    client.chmod(0o755)
    wait = "echo; read"
    shell = ("bash", "-c", wait, str(monitor))
    with working_in(folder, (str(monitor), "-c", wait), (str(client),), shell) as pids:
        assert sorted(find_pids(folder)) == sorted(pids[:2])


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


def test_what_gives_back_what_was_written_is_taken(place: Path) -> None:
    """A file does."""
    (place / "device").touch()
    bridge.check(place / "device")


def test_one_block_with_the_content_of_another_is_found(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a buffer is used again before it was written."""
    (place / "device").touch()
    true_write = os.pwrite

    def mixed_up(descriptor: int, data: Any, offset: int) -> int:
        return true_write(descriptor, data, 0 if offset == 77 * 4096 else offset)

    monkeypatch.setattr(os, "pwrite", mixed_up)
    with pytest.raises(InfrastructureError, match="2 of 512 blocks came back as others"):
        bridge.check(place / "device")
