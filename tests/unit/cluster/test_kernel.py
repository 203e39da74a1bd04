"""The kernel's own clients of images, as the program `rbd` maps them; here it is a script."""

from pathlib import Path

import pytest

from fakes.machine import FakeMachine
from stithy.cluster import image
from stithy.cluster.image import Kernel
from stithy.cluster.layout import PACKAGES, Access
from stithy.needs import ProgramNeed
from stithy.storage.providers.ceph import laboratory as ways

RBD = """#!/bin/sh
echo "$@" >> {place}/asked
case "$*" in
  *"device map"*krbd*) [ -e {place}/refuse ] && exit 1; echo {place}/rbd0; touch {place}/rbd0 ;;
  *"device map"*nbd*) echo {place}/nbd0; touch {place}/nbd0 ;;
  *"device list"*krbd*) [ -e {place}/rbd0 ] && echo '[{{"name":"i-1","device":"{place}/rbd0"}}]' ;;
  *"device list"*nbd*) [ -e {place}/nbd0 ] && echo '[{{"image":"i-1","device":"{place}/nbd0"}}]' ;;
  *"device unmap"*) for last; do :; done; rm "$last" ;;
esac
exit 0
"""


@pytest.fixture
def rbd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the script works, on a kernel that has both."""
    for name in ("rbd", "rbd-nbd"):
        (tmp_path / name).write_text(RBD.format(place=tmp_path))
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    both = (
        Kernel("krbd", tmp_path, ("rbd",), limits=False),
        Kernel("nbd", tmp_path, ("rbd", "rbd-nbd"), limits=True),
    )
    monkeypatch.setattr(image, "KERNELS", both)
    return tmp_path


def _map(place: Path, *, limited: bool = False) -> str | None:
    return image.map_image("p", "i-1", Access("/c", "u"), place, limited=limited)


def test_the_first_client_that_maps_is_used_and_its_device_found_by_the_image(rbd: Path) -> None:
    """And of no other image; afterwards there is none."""
    assert _map(rbd) == f"{rbd}/rbd0"
    assert (
        (rbd / "asked").read_text().startswith("-c /c --id u device map --device-type krbd p/i-1")
    )
    assert list(image.list_devices("i-1")) == [("krbd", f"{rbd}/rbd0")]
    assert list(image.list_devices("i-2")) == []
    image.unmap_image("i-1")
    assert list(image.list_devices("i-1")) == []
    image.unmap_image("i-1")


def test_a_client_that_fails_or_ignores_limits_is_passed_over(rbd: Path) -> None:
    """Limits of an image hold in librbd, which krbd does without."""
    assert _map(rbd, limited=True) == f"{rbd}/nbd0"
    image.unmap_image("i-1")
    (rbd / "refuse").touch()
    assert _map(rbd) == f"{rbd}/nbd0"


def test_a_kernel_without_either_maps_nothing(rbd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is even asked."""
    none = (Kernel("krbd", rbd / "none", ("rbd",), limits=False),)
    monkeypatch.setattr(image, "KERNELS", none)
    assert _map(rbd) is None
    assert not (rbd / "asked").exists()
    assert "is not there" in str(none[0].explain_unusable())


def test_a_program_of_a_client_that_is_not_there_has_a_package_that_brings_it() -> None:
    """Else a kernel with nbd, on a machine without rbd-nbd, would end every cluster."""
    assert {name for each in image.KERNELS for name in each.programs} <= PACKAGES.keys()


def test_programs_are_needed_only_where_the_kernel_has_no_client(
    rbd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Limits hold on one way alone; a client that lacks its program is told with the way."""
    (rbd / "krbd").mkdir()
    (rbd / "nbd").mkdir()
    krbd = Kernel("krbd", rbd / "krbd", ("rbd",), limits=False)
    nbd = Kernel("nbd", rbd / "nbd", ("rbd", "rbd-nbd"), limits=True)
    monkeypatch.setattr(ways, "KERNELS", (krbd, nbd))
    need = ProgramNeed(name="nbdfuse", package=PACKAGES["nbdfuse"], why="images")

    def judged(*signs: Kernel, limited: bool = False) -> str:
        there = {str(sign.sign): ("there",) for sign in signs}
        machine = FakeMachine(listed=there, programs={"rbd": "16.2", "rbd-nbd": "16.2"})
        [wrapped] = ways.make_unless_kernel([need], limited=limited)
        return wrapped.judge(machine).found

    assert judged(krbd) == judged(krbd, nbd) == "not needed: images go by krbd"
    assert judged(krbd, limited=True) == judged() == "not found"
    assert judged(krbd, nbd, limited=True) == "not needed: images go by nbd"
    assert (ways.describe_access(limited=False), ways.describe_access(limited=True)) == (
        "krbd",
        "nbd",
    )
    assert ways.describe_unlimited_access() == "krbd"
    (rbd / "rbd-nbd").unlink()
    lacking = "QEMU, nbdfuse and a loop device (nbd: this machine: the program rbd-nbd was not "
    assert ways.describe_access(limited=True).startswith(lacking)
    assert ways.describe_unlimited_access() == "krbd"
    monkeypatch.setattr(ways, "KERNELS", (nbd,))
    assert ways.describe_unlimited_access() is None
