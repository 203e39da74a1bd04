"""`stithy doctor` on this machine with a part of it hidden: what is missing, for what, its fix."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from support.places import LEAVE_DRIVES
from support.running import Stithy

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_ceph]
KEPT = "null zero full random urandom tty"
WITHOUT_DEVICES = (
    "unshare", "--mount", "sh", "-c",
    f'{LEAVE_DRIVES}for name in {KEPT}; do '
    'touch "$0/$name"; mount --bind "/dev/$name" "$0/$name"; done; '
    'mount --rbind "$0" /dev; exec "$@"',
)  # fmt: skip
"""Only devices that every program needs; seen by what follows alone."""

WITHOUT_NETWORK = ("setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin")


def lacking(place: Path, prefix: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """What each provider lacks, with its fix."""
    stithy = Stithy(place / "state", prefix=[*prefix, sys.executable, "-m", "stithy"])
    shown = stithy.run("doctor", "--json")
    assert shown.returncode in (0, 3), shown.stderr
    parts: list[dict[str, Any]] = json.loads(shown.stdout)["parts"]
    found = {}
    for part in (each for each in parts if each["family"] == "provider"):
        missing = [each for each in part["needs"] if each["state"] == "missing"]
        assert part["works"] == all(each["optional"] for each in missing)
        found[part["name"]] = {each["what"]: each["remedy"] for each in missing}
    return found


def test_missing_programs_name_their_packages(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of Ceph, and those that bring its image to a block device."""
    empty = place / "bin"
    empty.mkdir()
    monkeypatch.setenv("PATH", str(empty))
    found = lacking(place, ())["ceph"]
    for program, package in {
        "ceph-mon": "ceph-mon", "ceph-osd": "ceph-osd", "rbd": "ceph-common",
        "nbdfuse": "libnbd-bin", "qemu-storage-daemon": "qemu-system-common",
    }.items():  # fmt: skip
        assert package in found[program]


def test_missing_devices_are_named(place: Path) -> None:
    """As in a container that was not given them."""
    (devices := place / "dev").mkdir()
    found = lacking(place, (*WITHOUT_DEVICES, str(devices)))["ceph"]
    assert {"/dev/fuse", "/dev/loop-control"} <= set(found)
    assert "--device /dev/fuse" in found["/dev/fuse"]


def test_hosts_that_cannot_be_made_are_named(place: Path) -> None:
    """Without the right to make links: drives do work, clusters do not."""
    found = lacking(place, WITHOUT_NETWORK)
    assert "CONFIG_VETH" in found["ceph"]["hosts as network namespaces"]
    assert "hosts as network namespaces" not in found["drive"]


def test_a_whole_machine_lacks_nothing(place: Path) -> None:
    """So that the tests above find what they have hidden, and nothing else."""
    assert not {*lacking(place, ())["ceph"]} & {
        "hosts as network namespaces", "rbd in QEMU", "/dev/fuse", "nbdfuse", "ceph-osd",
    }  # fmt: skip
    assert os.path.exists("/dev/fuse")
