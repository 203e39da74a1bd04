"""The way from QEMU to a block device, over a file: what it must not do to data."""

from pathlib import Path

import pytest

from stithy.drives import bridge
from stithy.errors import InfrastructureError

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_ceph]


@pytest.mark.parametrize("discard", ["unmap", "ignore"])
def test_a_bridge_that_drops_requests_for_zeros_is_refused(place: Path, discard: str) -> None:
    """The loop device asks for zeros by a discard, which QEMU ignores unless it is told not to."""
    folder, file = place / "bridge", place / "image.img"
    folder.mkdir()
    with file.open("wb") as made:
        made.truncate(2**24)
    try:
        device = Path(bridge.attach(
            folder, f"driver=file,node-name=image,filename={file},discard={discard},cache.direct=on"
        ))  # fmt: skip
        if discard == "unmap":
            bridge.check(device)
        else:
            said = "4 of 512 blocks are wrong after zeros were asked for"
            with pytest.raises(InfrastructureError, match=said):
                bridge.check(device)
    finally:
        bridge.remove(folder)
    assert not bridge.list_loops(folder / "device")
