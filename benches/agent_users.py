"""Do a million virtual users fit on 16 agents of one machine, and do they what arithmetic says?

First the memory of one load driver by its users, then all users over agents in network namespaces
for a minute, on order entry with few connections. They think so long that they have little to do:
users / think time is the rate. Needs root and PostgreSQL. Writes
`benches/results/<date>-agent-users.json`; exits with 5 where an agent is missing, with 99 where the
rate differs from arithmetic by more than four standard deviations and a hundredth.

Usage: agent_users.py [USERS] [HOSTS]
"""

import contextlib
import math
import os
import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import measurements
import users
from instance import Instance, started
from kept import NOT_VALID, TARGET_MISSED, keep
from processes import find_hammer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from stithy.agents.coordinator import Agents
from stithy.agents.window import AgentsDriven
from stithy.results.hlog import decode
from stithy.secrets import Secret
from stithy.wire.hammer import ProgressWatch
from stithy.wire.jobs import RunRequest, WireThink
from support.agent_hosts import AgentHosts, raise_hosts

PACE = WireThink(mean_s=1000.0)
DURATION_S, CONNECTIONS = 60.0, 4
ALONE = (1_000, 10_000, 100_000)
"""Users of one driver alone."""


def measure_memory(hosts: AgentHosts, ended: threading.Event) -> list[int]:
    """Read the resident sets of all load drivers together, each second."""
    found = []
    while not ended.wait(1.0):
        pids = [pid for name in hosts.names for pid in hosts.list_hammers(name)]
        with contextlib.suppress(OSError):  # one has just ended
            pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids]
            found.append(sum(pages) * os.sysconf("SC_PAGE_SIZE"))
    return found


def drive(instance: Instance, count: int, agents: int) -> tuple[AgentsDriven, list[int]]:
    """Let all users work; what became of it, and the memory of all drivers, each second."""
    request = RunRequest(
        seed=1, users=count, connections=CONNECTIONS * agents, pace=PACE, ramp_up_s=10.0,
        duration_s=DURATION_S, isolation="read-committed",
    )  # fmt: skip
    url, read, ended = Secret(instance.url(measurements.DRIVEN)), list[int](), threading.Event()
    with (
        tempfile.TemporaryDirectory(prefix="stithy-agents-") as name,
        raise_hosts(Path(name), agents) as hosts,
    ):
        watch = threading.Thread(target=lambda: read.extend(measure_memory(hosts, ended)))
        watch.start()
        try:
            together = Agents(hosts.site, hosts.names)
            return together.drive("all", url, users.WORKLOAD, request, ProgressWatch()), read
        finally:
            ended.set()
            watch.join()


def main(count: int = 1_000_000, agents: int = 16) -> int:
    """Take the memory of one driver, then all users together; the exit code."""
    find_hammer()
    with started() as instance:
        users.load(instance)
        idle = replace(users.idle(5.0), connections=CONNECTIONS, pace=PACE)
        alone = [users.measured(instance, replace(idle, users=of)) for of in ALONE]
        memory = [taken.memory_most_bytes for taken in alone]
        result, read = drive(instance, count, agents)
    if result.driven is None:
        print(result.explain_missing())
        return NOT_VALID
    summary = result.driven.summary
    done = sum(kind.committed + kind.rolled_back for kind in summary.transactions)
    expected = count / PACE.mean_s * DURATION_S
    allowed = 4 * math.sqrt(expected) + 0.01 * expected
    found = {
        "users": count, "agents": agents, "think_s": PACE.mean_s, "duration_s": DURATION_S,
        "memory_alone_bytes": dict(zip(map(str, ALONE), memory, strict=True)),
        "user_bytes": round((memory[-1] - memory[0]) / (ALONE[-1] - ALONE[0])),
        "memory_bytes": max(read), "transactions": done, "expected": round(expected),
        "allowed": round(allowed), "errors": sum(error.count for error in summary.errors),
        "lateness_p99_s": decode(summary.lateness).percentile_s(99),
        "cpu_s": summary.driver.cpu_s,
    }  # fmt: skip
    for name, value in found.items():
        print(f"{name:<20}{value}")
    keep("agent-users", found, {"memory_each_second_bytes": read})
    return 0 if abs(done - expected) <= allowed and not found["errors"] else TARGET_MISSED


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
