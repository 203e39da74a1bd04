"""A runner whose fio measures a simulated drive: requests queue for channels, in no time.

What the drive does is known exactly, so that what is made of its measurement can be judged.
"""

import configparser
import heapq
import io
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from stithy.hosts.runner import Command, Finished, Running

SMALL_BYTES = 4096
REQUESTS_MOST = 4_000


@dataclass(frozen=True)
class SimulatedDrive:
    """A drive without moving parts; times in seconds. `spread` is the sigma of the logarithm.

    A flush takes `flush_s`, and more for what was written since the last one, at
    `drain_bytes_per_s`.
    """

    channels: int = 8
    read_s: float = 100e-6
    write_s: float = 40e-6
    bytes_per_s: float = 1e9
    spread: float = 0.3
    flush_s: float = 200e-6
    drain_bytes_per_s: float = 1e12

    def service_s(self, *, is_read: bool, length_bytes: int, draw: random.Random) -> float:
        """One request alone."""
        median_s = self.read_s if is_read else self.write_s
        return (
            median_s * draw.lognormvariate(0, self.spread)
            + (length_bytes - SMALL_BYTES) / self.bytes_per_s
        )


@dataclass
class Ended:
    """A process that has ended well."""

    stdin: IO[str] | None = field(default_factory=io.StringIO)
    stdout: IO[str] | None = None
    pid: int = 0

    def poll(self) -> int | None:
        """Its exit code."""
        return 0

    def wait(self, timeout: float | None = None) -> int:
        """Nothing is left to wait for."""
        return 0

    def send_signal(self, signal: int) -> None:
        """Nobody is there to get it."""


@dataclass
class FioRunner:
    """A seam's stand-in: every command is fio's, and is answered at once.

    `version` is what it says of itself; `refused` are engines that do not work here.
    """

    drive: SimulatedDrive = field(default_factory=SimulatedDrive)
    version: str = "fio-3.33"
    refused: Sequence[str] = ()
    commands: list[dict[str, str]] = field(default_factory=list)

    def run(self, command: Command, *, timeout_s: float = 600.0, stdin: str = "") -> Finished:
        """fio's json+ output of the simulated drive."""
        if "--version" in command.argv:
            return Finished(0, f"{self.version}\n", "")
        if "--enghelp" in command.argv:
            return Finished(0, "\tlibaio\n\tio_uring\n\tpsync\n", "")
        refused = any(f"--ioengine={each}" in command.argv for each in self.refused)
        return Finished(int(refused), "", "")

    def start(self, command: Command, *, stderr: Path | IO[bytes] | None = None) -> Running:
        """A job file's output, which is there at once."""
        assert command.directory is not None
        parser = configparser.ConfigParser(interpolation=None, delimiters="=")
        parser.read(command.directory / "job.fio")
        *_, name = parser.sections()
        words = {**parser["global"], **parser[name], "name": name}
        if "--readonly" in command.argv:
            words["readonly"] = ""
        self.commands.append(words)
        if words["ioengine"] in self.refused:
            said = f"fio: engine {words['ioengine']} not loadable"
        else:
            said = json.dumps(self._output(words), indent=2)
        (command.directory / "fio.json").write_text(said)
        return Ended()

    def _output(self, words: dict[str, str]) -> dict[str, object]:
        draw = random.Random(int(words.get("randseed", "1")))
        length, depth = int(words["bs"].partition(",")[0]), int(words["iodepth"])
        share = 1.0 if words["rw"].endswith("read") else int(words.get("rwmixread", "0")) / 100
        until_s = float(words.get("runtime", "100ms").removesuffix("ms")) / 1000
        flushed_every = int(words.get("fdatasync", "0"))
        latencies: dict[bool, list[float]] = {True: [], False: []}
        flushes: list[float] = []
        free = [0.0] * self.drive.channels
        waiting = [0.0] * depth
        end_s, times = 0.0, 1.0
        for number in range(REQUESTS_MOST):
            at_s = heapq.heappop(waiting)
            if at_s >= until_s:
                break
            is_read = draw.random() < share
            start_s = max(at_s, heapq.heappop(free))
            done_s = start_s + self.drive.service_s(is_read=is_read, length_bytes=length, draw=draw)
            heapq.heappush(free, done_s)
            latencies[is_read].append(done_s - at_s)
            if flushed_every and (number + 1) % flushed_every == 0:
                flush_s = self.drive.flush_s + flushed_every * length / self.drive.drain_bytes_per_s
                flushes.append(flush_s)
                done_s += flush_s
            heapq.heappush(waiting, done_s)
            end_s = max(end_s, at_s)
        else:
            # The rest of the time is like what was simulated of it.
            times = until_s / end_s
        runtime_ms = max(1, round(until_s * 1000))
        job: dict[str, Any] = {
            "jobname": words["name"], "error": 0, "trim": {"io_bytes": 0},
            "sync": {"lat_ns": latency(repeated(flushes, times))},
            "read": direction(repeated(latencies[True], times), length, runtime_ms),
            "write": direction(repeated(latencies[False], times), length, runtime_ms),
        }  # fmt: skip
        if "time_based" not in words:
            job["read" if share else "write"]["io_bytes"] = int(words["size"])
        return {"fio version": self.version, "jobs": [job]}


def repeated(latencies: list[float], times: float) -> list[float]:
    """So many times as many, the last part of them being the first ones again."""
    part = round(times % 1 * len(latencies))
    return latencies * int(times) + latencies[:part]


def direction(latencies: list[float], length_bytes: int, runtime_ms: int) -> dict[str, object]:
    """One direction as fio tells it."""
    count, runtime_ms = len(latencies), runtime_ms if latencies else 0
    return {
        "io_bytes": count * length_bytes, "runtime": runtime_ms, "total_ios": count,
        "iops_max": 0, "bw_max": 0, "lat_ns": latency(latencies),
    }  # fmt: skip


def latency(latencies: list[float]) -> dict[str, object]:
    """Latencies in seconds as fio's histogram."""
    if not latencies:
        return {"N": 0, "mean": 0.0}
    bins: dict[str, int] = {}
    for each in latencies:
        key = str(bin_ns(round(each * 1e9)))
        bins[key] = bins.get(key, 0) + 1
    return {"N": len(latencies), "mean": sum(latencies) / len(latencies) * 1e9, "bins": bins}


def bin_ns(time_ns: int) -> int:
    """The middle of fio's bin: seven leading bits are kept. Source: stat.c of fio 3.33."""
    shift = max(0, time_ns.bit_length() - 7)
    return (time_ns >> shift << shift) + (1 << shift) // 2
