"""Links to namespaces: no faster than asked, measured, and gone afterwards; users over them."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from stithy.hosts.host import NAMESPACES, NamespaceHost
from stithy.hosts.links import INTERFACES, DriverLink
from stithy.hosts.runner import Command
from stithy.results.layout import RunDirectory
from support.running import ROWS, Stithy, entries, window_row, write_study

pytestmark = pytest.mark.needs_namespace
READ = "import socket,sys; line = socket.create_connection((sys.argv[1], int(sys.argv[2])))\n" \
    "while line.recv(1 << 16): pass\nline.sendall(b'!')"  # fmt: skip


@pytest.fixture
def link() -> Iterator[DriverLink]:
    """A link of 80 Mbit/s."""
    made = DriverLink.of_run("test-of-links", 8e7).make()
    yield made
    made.remove()


def test_a_link_is_no_faster_than_its_rate_and_leaves_nothing(link: DriverLink) -> None:
    """10 MB take a second; what waits beside them has a longer round trip than on an idle link."""
    import socket

    idle_s = link.measure_round_trip_s()
    assert 0 < idle_s < 0.5
    with socket.create_server((link.address, 0)) as server:
        host = NamespaceHost(link.namespace)
        words = ["python3", "-c", READ, link.address, str(server.getsockname()[1])]
        reader = threading.Thread(target=lambda: host.runner.run(Command(words)))
        reader.start()
        line, _ = server.accept()
        with line:
            began_s = time.monotonic()
            line.sendall(bytes(10_000_000))
            line.shutdown(socket.SHUT_WR)
            assert line.recv(1) == b"!"
            took_s = time.monotonic() - began_s
        reader.join()
    assert 0.9 < took_s < 8.0
    link.remove()
    link.remove()
    assert not (INTERFACES / link.interface).exists()
    assert not (NAMESPACES / link.namespace).exists()


@pytest.mark.needs_postgresql
@pytest.mark.long
def test_users_come_over_a_network_where_the_study_says_so(stithy: Stithy, place: Path) -> None:
    """Beside users on the server's machine; the window and the report say what the network was."""
    study = write_study(
        place / "study.yaml", {"a": place / "a"}, users=[2], duration="1 s", load={"pace": ""},
        vary="{load.network: [local, 1 Gbit/s]}",
    )  # fmt: skip
    run = RunDirectory(place / "out")
    stithy.run_well("run", study, "--out", run.root)
    local, far = (window_row(run.root, f"w-a-u2-network{of}-b0") for of in ("local", "1gbitps"))
    assert (local["link_round_trip_s"], local["link_bytes_per_s_max"]) == (None, None)
    assert (far["link_bytes_per_s_max"], far["complete"]) == (1.25e8, True)
    assert 0 < far["link_round_trip_s"] < 0.5
    assert 0 < far["link_received_bytes_per_s"] < far["link_bytes_per_s_max"]
    assert far["transactions"] > 0
    table = pl.read_parquet(run.report / "tables" / "driver-network.parquet")
    assert table["windows"].to_list() == [1]
    [made] = entries(run.root, "creating", kind="link")
    link = DriverLink(made.facts["facts"]["tag"], 0.0)
    assert not (INTERFACES / link.interface).exists()
    assert not (NAMESPACES / link.namespace).exists()


@pytest.mark.needs_postgresql
def test_a_killed_run_leaves_a_link_that_clean_removes(stithy: Stithy, place: Path) -> None:
    """Killed as soon as its journal names the link, or a little after."""
    study = write_study(
        place / "study.yaml", {"a": place / "a"}, users=[2], duration="1 s",
        data=ROWS, load={"network": "1 Gbit/s"},
    )  # fmt: skip
    out = place / "out"
    stithy.kill(lambda: entries(out, "creating", kind="link"), "run", study, "--out", out)
    [made] = entries(out, "creating", kind="link")
    link = DriverLink(made.facts["facts"]["tag"], 0.0)
    assert stithy.run("clean").returncode == 0
    assert not (INTERFACES / link.interface).exists()
    assert not (NAMESPACES / link.namespace).exists()
    stithy.assert_nothing_left(out)
