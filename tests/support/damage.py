"""What can happen to a file that lies on a disk for years, each as a function of its path."""

import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

Damage = Callable[[Path], object]
FLIPS = 3


def _cut(share: float) -> Damage:
    return lambda path: path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])


def _without_its_end(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _flipped(number: int) -> Damage:
    """One bit of the file, drawn from its name and a number."""

    def flip(path: Path) -> None:
        draw = random.Random(f"{path.name}/{number}")
        content = bytearray(path.read_bytes())
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        path.write_bytes(bytes(content))

    return flip


def _scattered(path: Path) -> None:
    """A hundredth of all bytes is another one."""
    draw = random.Random(path.name)
    content = bytearray(path.read_bytes())
    for place in draw.sample(range(len(content)), max(1, len(content) // 100)):
        content[place] = draw.randrange(256)
    path.write_bytes(bytes(content))


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


def _encoded(path: Path) -> None:
    """As an editor saves a text; of what is no text every byte becomes two."""
    path.write_bytes(path.read_bytes().decode("latin-1").encode("utf-16"))


DAMAGES: Mapping[str, Damage] = {
    "gone": Path.unlink,
    "empty": _cut(0),
    "half": _cut(0.5),
    "without its last byte": _without_its_end,
    **{f"one bit other ({number})": _flipped(number) for number in range(FLIPS)},
    "other bytes here and there": _scattered,
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "a folder": _folder,
    "a link to itself": _loop,
    "another encoding": _encoded,
}


@contextmanager
def damaged(path: Path, damage: Damage) -> Iterator[None]:
    """Inside, the file is damaged; afterwards it is what it was."""
    content = path.read_bytes()
    damage(path)
    try:
        yield
    finally:
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        path.write_bytes(content)
