"""A way to an image that mixes up concurrent writes is refused."""

import os
from pathlib import Path
from typing import Any

import pytest

from stithy.cluster import image
from stithy.errors import InfrastructureError


def test_what_gives_back_what_was_written_is_taken(place: Path) -> None:
    """A file does."""
    (place / "device").touch()
    image.check(place / "device")


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
        image.check(place / "device")
