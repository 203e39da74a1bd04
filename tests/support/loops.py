"""Loop devices for tests, as whoever owns a spare device would have one; gone afterwards."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stithy.storage.consent import LOOP_MARK


@contextmanager
def a_loop(
    place: Path, name: str, size_bytes: int = 2**30, *, marked: bool = True
) -> Iterator[Path]:
    """A device of zeros over a sparse file in `place`; `marked`: Stithy may overwrite it."""
    image = place / f"{name}.img"
    with image.open("wb") as file:
        file.truncate(size_bytes)
    if marked:
        Path(f"{image}{LOOP_MARK}").touch()
    asked = ["losetup", "--find", "--show", str(image)]
    device = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    try:
        yield Path(device)
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)
        image.unlink()
