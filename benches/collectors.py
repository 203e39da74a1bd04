"""What the collectors cost beside a loaded PostgreSQL: all of them together, of one core.

Runs the hammer against a private instance, samples for a minute, and adds the CPU time of this
process (which does nothing else) to that of the server's backend that answers it. The target is at
most 1 %.
"""

import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from instance import Instance, started
from kept import TARGET_MISSED
from stithy.collectors.collector import Collector, InstanceScope, Scope
from stithy.engines.postgresql.endpoint import open_endpoint
from stithy.hosts.runner import LocalRunner
from stithy.registry import plugins
from stithy.run.sampler import Sampler
from stithy.secrets import Secret
from stithy.wire.hammer import Hammer, ProgressWatch
from stithy.wire.jobs import RunRequest
from stithy.workloads.order_entry import Choice

TARGET_SHARE = 0.01
DATABASE = "collectors"
SIZE = Choice(warehouses=1)
USERS = 8


@dataclass(frozen=True)
class Cost:
    """CPU time a second of watching, in shares of one core."""

    sampler_share: float
    server_share: float
    readings_per_s: float


def main(words: list[str]) -> int:
    """Measure and print; 99 where the target is missed."""
    duration_s = 10.0 if "--quick" in words else 60.0
    with started() as instance:
        instance.renew(DATABASE)
        cost = measured(instance, duration_s)
    whole = cost.sampler_share + cost.server_share
    print(f"collectors, over {duration_s:.0f} s beside {USERS} users back to back:")
    print(f"  sampler {cost.sampler_share:.3%} of a core, {cost.readings_per_s:.0f} readings a s")
    print(f"  server  {cost.server_share:.3%} of a core, for its answers")
    print(f"  together {whole:.3%}, target {TARGET_SHARE:.0%} at most")
    return 0 if whole <= TARGET_SHARE else TARGET_MISSED


def measured(instance: Instance, duration_s: float) -> Cost:
    """The cost while the hammer drives the server."""
    url = Secret(instance.url(DATABASE))
    hammer, stop = Hammer(LocalRunner(), url), threading.Event()
    hammer.prepare(SIZE, seed=1, loaders=2)
    request = RunRequest(seed=1, users=USERS, ramp_up_s=1.0, duration_s=3600.0)
    load = threading.Thread(
        target=hammer.run, args=(SIZE, request), kwargs={"watch": ProgressWatch(None, None, stop)}
    )
    load.start()
    try:
        return watched(instance, url, duration_s)
    finally:
        stop.set()
        load.join()


def watched(instance: Instance, url: Secret, duration_s: float) -> Cost:
    """CPU time of this process and of the answering backend over `duration_s`."""
    data = Path(instance.sql("SHOW data_directory")[0][0])
    sampler = Sampler(
        Scope((instance.sockets,), (InstanceScope("", open_endpoint(url), data),)),
        plugins(Collector),
    )
    sampler.start()
    time.sleep(2.0)  # connecting and the first readings are not the running cost
    backend = instance.sql("SELECT pid FROM pg_stat_activity WHERE application_name = 'stithy'")
    pid = int(backend[0][0])
    begin = (time.process_time(), backend_cpu_s(pid), time.monotonic())
    time.sleep(duration_s)
    own_s, server_s, elapsed_s = (
        after - before
        for before, after in zip(
            begin, (time.process_time(), backend_cpu_s(pid), time.monotonic()), strict=True
        )
    )
    readings = sampler.stop()
    rate = len(readings) / (elapsed_s + 2.0)
    return Cost(own_s / elapsed_s, server_s / elapsed_s, rate)


def backend_cpu_s(pid: int) -> float:
    """CPU time of a process, seconds, from schedstat, which counts nanoseconds."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
