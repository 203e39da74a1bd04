"""What is known of a cluster by its folder alone."""

import sys
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from stithy.cluster import layout
from stithy.errors import PreconditionError, UserError
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
