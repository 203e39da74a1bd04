"""How exactly agents begin together, and whether one that is killed leaves load behind.

Hosts are network namespaces of this machine, each with an agent; needs root. Every start is a
window of half a second, of which three things are taken over all agents:

- skew: from the earliest to the latest zero of users' times. All hosts have this machine's clock,
  so that is how wrongly clocks were compared;
- first: how late the latest driver was with its first transaction;
- wake: from the first driver that was awake after the start to the last.

Every kill (SIGKILL, at an instant drawn from a seed) is of one agent's process while all users
work: its load driver must be gone within 5 s, and no host may ever have two. Writes
`benches/results/<date>-agents.json`, and exits with 5 where something is not as it must be, with
99 where a target is missed. A signal ends it, and leaves no host.

Usage: agents.py [HOSTS] [STARTS] [KILLS] [SEED]
"""

import random
import signal
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from instance import stop
from kept import NOT_VALID, TARGET_MISSED, keep
from processes import find_hammer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from stithy.activities.hammer.by_agents import require_complete
from stithy.agents.coordinator import Agents
from stithy.agents.window import AgentsDriven
from stithy.errors import StithyError
from stithy.secrets import Secret
from stithy.wire.hammer import ProgressWatch
from support.agent_hosts import (
    CHOICE,
    AgentHosts,
    load_database,
    make_request,
    raise_hosts,
    wait_until,
)

DEFAULTS = (16, 100, 100, 1)
SKEW_S_MAX, ORPHAN_S_MAX = 0.010, 5.0
STARTED = ("skew_s", "first_s", "wake_s")
WINDOWS_MAX = 5
"""So many windows may be refused, because a host was busy, before a kill is given up."""


@dataclass(frozen=True)
class Bench:
    """Hosts, and a database that all of them reach."""

    hosts: AgentHosts
    url: Secret

    def drive(self, fence: str, duration_s: float, watch: ProgressWatch) -> AgentsDriven:
        """Let all agents work."""
        users = len(self.hosts.names)
        request = make_request(users, duration_s, per_s=20.0 * users)
        return Agents(self.hosts.site, self.hosts.names).drive(
            fence, self.url, CHOICE, request, watch
        )

    def measure_start(self, number: int) -> dict[str, float]:
        """What the module says of a start; StithyError where an agent is missing."""
        result = self.drive(f"start-{number}", 0.5, ProgressWatch())
        require_complete(result, f"start-{number}")
        zeros, firsts, wakes = [], [], []
        for agent in result.agents:
            assert agent.driven is not None  # as was just required
            summary = agent.driven.summary
            zeros.append(agent.clocks[0].offset_s)
            firsts.append(summary.first_late_s or 0.0)
            wakes.append(zeros[-1] + (summary.woke_late_s or 0.0))
        spans = (max(zeros) - min(zeros), max(firsts), max(wakes) - min(wakes))
        return dict(zip(STARTED, spans, strict=True))

    def kill_one(self, number: int, draw: random.Random) -> dict[str, Any]:
        """Kill an agent at work; how long its load driver outlived it, and what was wrong."""
        name = draw.choice(self.hosts.names)
        begun, after_s = threading.Event(), draw.uniform(0.0, 3.0)
        watch = ProgressWatch(on_message=lambda message: begun.set())
        results: list[AgentsDriven] = []
        refused: list[str] = []

        def work() -> None:
            while not results and not begun.is_set() and len(refused) < WINDOWS_MAX:
                try:
                    results.append(self.drive(f"kill-{number}-{len(refused)}", 30.0, watch))
                except StithyError as error:
                    refused.append(error.text)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        while thread.is_alive() and not begun.wait(0.1):
            pass
        if not begun.is_set():
            why = results[0].explain_missing() if results else refused[-1]
            return {"agent": name, "refused": refused, "problem": f"nothing began: {why}"}
        time.sleep(after_s)
        twice = [of for of in self.hosts.names if len(self.hosts.list_hammers(of)) != 1]
        self.hosts.kill(name)
        try:
            orphan_s = wait_until(lambda: not self.hosts.list_hammers(name), 30, "it ends")
        except AssertionError:
            return {"agent": name, "problem": "its load driver lives on"}
        thread.join(60)
        missing = results[0].explain_missing() if results else ""
        self.hosts.begin(name)
        self.hosts.wait_until_joined()
        left = [of for of in self.hosts.names if self.hosts.list_hammers(of)]
        wrong = [
            *(f"{of} had not one load driver" for of in twice),
            *(f"{of} has one after the window" for of in left),
            *([] if missing.startswith(f"agent {name}") else [f"told as {missing!r}"]),
            *([] if orphan_s <= ORPHAN_S_MAX else ["its load driver outlived it"]),
        ]
        problem = "; ".join(wrong) or None
        return {"agent": name, "orphan_s": orphan_s, "refused": refused, "problem": problem}


def find_percentile(values: list[float], share: float) -> float:
    """By nearest rank."""
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def summarize(started: list[dict[str, float]]) -> dict[str, float]:
    """Percentiles of what was taken of every start."""
    shares = {"p50": 0.5, "p99": 0.99, "max": 1.0}
    return {
        f"{name.removesuffix('_s')}_{which}_s": find_percentile([of[name] for of in started], share)
        for name in STARTED
        for which, share in shares.items()
    }


def main(count: int, starts: int, kills: int, seed: int) -> int:
    """All starts and kills; the exit code."""
    find_hammer()  # or it ends here: a build for tests wakes late
    draw = random.Random(seed)
    signal.signal(signal.SIGTERM, stop)
    with (
        tempfile.TemporaryDirectory(prefix="stithy-agents-") as name,
        raise_hosts(Path(name), count) as hosts,
    ):
        bench = Bench(hosts, load_database(Path(name)))
        started = []
        for number in range(starts):
            try:
                started.append(bench.measure_start(number))
            except StithyError as error:
                print(f"start {number}: {error}", flush=True)
        killed = []
        for number in range(kills):
            killed.append(bench.kill_one(number, draw))
            print(f"kill {number}: {killed[-1]['problem'] or 'as it must be'}", flush=True)
    times = summarize(started) if started else {}
    outlived = [of["orphan_s"] for of in killed if "orphan_s" in of]
    found = {
        "hosts": count, "starts": starts, "starts_missed": starts - len(started), "kills": kills,
        "seed": seed,
        **times,
        "outlived_max_s": max(outlived, default=None),
        "kills_wrong": sum(of["problem"] is not None for of in killed),
    }  # fmt: skip
    for name, value in found.items():
        print(f"{name:<15}{value}")
    keep("agents", found, {"started": started, "killed": killed})
    if len(started) < starts or found["kills_wrong"]:
        return NOT_VALID
    late_s = max(times.get("skew_p99_s", 0.0), times.get("first_p99_s", 0.0))
    return TARGET_MISSED if late_s > SKEW_S_MAX else 0


if __name__ == "__main__":
    given = [int(each) for each in sys.argv[1:]]
    sys.exit(main(*given, *DEFAULTS[len(given) :]))
