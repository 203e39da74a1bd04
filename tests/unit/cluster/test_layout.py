"""What is known of a cluster by its folder alone."""

from pathlib import Path

import pytest

from stithy.cluster import configuration, layout
from stithy.errors import UserError


def test_a_cluster_is_known_by_what_was_written_before_it_was_made(tmp_path: Path) -> None:
    """Its names are drawn for it, and its folder is for its user alone."""
    entry = layout.fresh_entry("lab", None, 3, 2)
    layout.make(tmp_path / "lab", entry)
    assert layout.read_entry(tmp_path / "lab") == entry
    assert (tmp_path / "lab").stat().st_mode & 0o077 == 0
    assert entry.osds == ((0, 1), (1, 1), (2, 2), (3, 2), (4, 3), (5, 3))
    assert max(len(entry.link(host)) for host in (0, 12)) < 16  # the kernel's limit
    with pytest.raises(UserError, match="already up"):
        layout.make(tmp_path / "lab", entry)


def test_every_daemon_has_a_key_of_its_own_that_nobody_else_may_read(tmp_path: Path) -> None:
    """Generated, and never the same twice."""
    entry = layout.fresh_entry("lab", None, 3, 1)
    configuration.write(tmp_path, entry, "00000000-0000-0000-0000-000000000000")
    rings = [*tmp_path.glob("*keyring"), *tmp_path.glob("osd.*/keyring")]
    assert len(rings) == 5
    assert {ring.stat().st_mode & 0o777 for ring in rings} == {0o600}
    keys = [line for line in (tmp_path / "mon.keyring").read_text().splitlines() if "key =" in line]
    assert len(set(keys)) == 5
    assert "auth client required = cephx" in (tmp_path / configuration.CONF).read_text()
