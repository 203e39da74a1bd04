"""How long does a laboratory cluster take from nothing to a usable volume, and back to nothing?

Needs root and Ceph's programs. Each round raises a cluster of each shape by `stithy cluster up`,
writes to its volume, reads CPU and memory of its daemons, and takes it down; then it kills a
raising halfway, and cleans. `benches/clusters.py 3` takes three rounds, `--quick` the first shape.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kept import NOT_VALID, TARGET_MISSED, keep
from stithy.hosts.processes import find_pids_within

ROUNDS = 2
UP_S, DOWN_S = 60.0, 15.0
"""What is promised: to a usable volume, and to nothing."""

KILLED_AFTER_S = 4.0
SHAPES: dict[str, tuple[str, ...]] = {
    "2 hosts, FTT 1": ("--hosts", "2"),
    "3 hosts, FTT 2": ("--hosts", "3", "--ftt", "2"),
    "3 hosts, 2+1": ("--hosts", "3", "--erasure-coding", "2+1"),
    "4 hosts, 3+1": ("--hosts", "4", "--erasure-coding", "3+1"),
    "6 hosts, 4+2": ("--hosts", "6", "--erasure-coding", "4+2"),
}
COMMON = ("--size", "256MiB", "--drive", "generic-nvme", "--json")


@dataclass(frozen=True)
class Times:
    """One cluster: seconds until its volume was mounted, written and synced, and until it was gone.

    `cpu_s`, `memory_bytes`: of daemons and clients, without the drives, once it was written to.
    `left`: what was still there after it had gone. `load`: the machine's load average before.
    """

    shape: str
    up_s: float
    written_s: float
    down_s: float
    killed_clean_s: float | None
    cpu_s: float
    memory_bytes: int
    left: list[str]
    load: float

    def __str__(self) -> str:
        killed = "" if self.killed_clean_s is None else f"  cleaned {self.killed_clean_s:5.1f} s"
        return (
            f"{self.shape:<16}up {self.up_s:5.1f} s  written {self.written_s:5.2f} s  down "
            f"{self.down_s:5.1f} s{killed}  CPU {self.cpu_s:5.1f} s  memory "
            f"{self.memory_bytes / 2**20:5.0f} MiB  load {self.load:.1f}"
        )

    @property
    def kept(self) -> bool:
        """Whether what is promised was kept."""
        slowest_down = max(self.down_s, self.killed_clean_s or 0.0)
        return self.up_s + self.written_s <= UP_S and slowest_down <= DOWN_S


def main(words: Sequence[str]) -> int:
    """Measure each shape in each round, show, keep."""
    quick = "--quick" in words
    rounds = next((int(word) for word in words if word.isdigit()), 1 if quick else ROUNDS)
    shapes = list(SHAPES)[: 1 if quick else None]
    taken: list[Times] = []
    for _ in range(rounds):
        for shape in shapes:
            with state() as home:
                taken.append(times(shape, home))
            print(taken[-1], flush=True)
    if not quick:
        keep("clusters", {"up_s": UP_S, "down_s": DOWN_S}, {"clusters": taken})
    if any(each.left for each in taken):
        print("something was left behind:", *(each.left for each in taken if each.left))
        return NOT_VALID
    return 0 if all(each.kept for each in taken) else TARGET_MISSED


@contextmanager
def state() -> Iterator[Path]:
    """A state directory of its own; whatever a round left is cleaned."""
    with tempfile.TemporaryDirectory(prefix="stithy-bench-") as folder:
        home = Path(folder)
        try:
            yield home
        finally:
            stithy(home, "cluster", "down", "--all")
            stithy(home, "clean")


def stithy(home: Path, *words: str) -> tuple[float, str]:
    """Run a command to its end: how long it took, and what it printed."""
    begun_s = time.monotonic()
    finished = subprocess.run(
        command(*words), env=environment(home), capture_output=True, text=True
    )
    if finished.returncode not in (0, 2):  # 2: nothing was up
        print(finished.stderr, file=sys.stderr)
    return time.monotonic() - begun_s, finished.stdout


def command(*words: str) -> list[str]:
    """The words of `stithy` by this Python."""
    return [sys.executable, "-m", "stithy", *words]


def environment(home: Path) -> dict[str, str]:
    """That of a command with a state directory of its own."""
    return {**os.environ, "STITHY_STATE": str(home)}


def times(shape: str, home: Path) -> Times:
    """One cluster from nothing to nothing, and one that is killed while it is raised."""
    load = os.getloadavg()[0]
    up_s, told = stithy(home, "cluster", "up", "--name", "bench", *SHAPES[shape], *COMMON)
    written_s = write(Path(json.loads(told)["path"]))
    cpu_s, memory_bytes = taken_by(home)
    down_s, _ = stithy(home, "cluster", "down", "bench")
    left = left_in(home)
    killed_clean_s = killed(shape, home)
    return Times(
        shape, up_s, written_s, down_s, killed_clean_s, cpu_s, memory_bytes,
        [*left, *left_in(home)], load,
    )  # fmt: skip


def write(volume: Path) -> float:
    """How long 16 MiB take to be safe."""
    begun_s = time.monotonic()
    with (volume / "file").open("wb") as file:
        file.write(os.urandom(2**24))
        file.flush()
        os.fsync(file.fileno())
    return time.monotonic() - begun_s


def taken_by(home: Path) -> tuple[float, int]:
    """CPU time and resident memory of all processes that work below a folder."""
    cpu_s, memory_bytes, ticks = 0.0, 0, os.sysconf("SC_CLK_TCK")
    for pid in (
        pid for each in home.resolve().glob("clusters/*") for pid in find_pids_within(each)
    ):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        cpu_s += (int(fields[11]) + int(fields[12])) / ticks
        memory_bytes += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    return cpu_s, memory_bytes


def killed(shape: str, home: Path) -> float | None:
    """How long `stithy clean` takes after a raising that was killed; None: it had ended before."""
    words = command("cluster", "up", "--name", "bench", *SHAPES[shape], *COMMON)
    process = subprocess.Popen(words, env=environment(home), stdout=subprocess.DEVNULL)
    time.sleep(KILLED_AFTER_S)
    ended = process.poll() is not None
    process.kill()
    process.wait()
    clean_s, _ = stithy(home, *(("cluster", "down", "bench") if ended else ("clean",)))
    return None if ended else clean_s


def left_in(home: Path) -> list[str]:
    """What is still there of clusters, their drives and their entries in the register."""
    return [
        str(each) for pattern in ("clusters/*", "runs/*", "drives/*") for each in home.glob(pattern)
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
