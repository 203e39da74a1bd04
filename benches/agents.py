"""How exactly agents begin together, and whether one that is killed leaves load behind.

Hosts are network namespaces of this machine, each with an agent; needs root. Every start is a
window of half a second: its skew is from the first agent's start to the last one's. Every kill
(SIGKILL, at an instant drawn from a seed) is of one agent's process while all users work: its load
driver must be gone within 5 s, and no host may ever have two. Writes
`benches/results/<date>-agents.json`, and exits with 5 where something is not as it must be.

Usage: agents.py [HOSTS] [STARTS] [KILLS] [SEED]
"""

import contextlib
import random
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kept import NOT_VALID, keep

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

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

    def measure_skew_s(self, number: int) -> float | None:
        """From the first start to the last one; None where an agent is missing."""
        result = self.drive(f"start-{number}", 0.5, ProgressWatch())
        begun = [of.driven.summary.started_at_s for of in result.agents if of.driven]
        return max(begun) - min(begun) if len(begun) == len(result.agents) else None

    def kill_one(self, number: int, draw: random.Random) -> dict[str, Any]:
        """Kill an agent at work; how long its load driver outlived it, and what was wrong."""
        name = draw.choice(self.hosts.names)
        begun, after_s = threading.Event(), draw.uniform(0.0, 3.0)
        watch = ProgressWatch(on_message=lambda message: begun.set())
        results: list[AgentsDriven] = []

        def work() -> None:
            while not results:
                # Clocks of a host that is busy for a moment cannot be told: then nothing begins.
                with contextlib.suppress(StithyError):
                    results.append(self.drive(f"kill-{number}", 30.0, watch))

        thread = threading.Thread(target=work)
        thread.start()
        if not begun.wait(60):
            return {"agent": name, "problem": "no second was reported"}
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
        return {"agent": name, "orphan_s": orphan_s, "problem": "; ".join(wrong) or None}


def find_percentile(values: list[float], share: float) -> float:
    """By nearest rank."""
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def main(count: int, starts: int, kills: int, seed: int) -> int:
    """All starts and kills; the exit code."""
    draw = random.Random(seed)
    with (
        tempfile.TemporaryDirectory(prefix="stithy-agents-") as name,
        raise_hosts(Path(name), count) as hosts,
    ):
        bench = Bench(hosts, load_database(Path(name)))
        skews: list[float | None] = []
        for number in range(starts):
            try:
                skews.append(bench.measure_skew_s(number))
            except StithyError as error:
                print(f"start {number}: {error}", flush=True)
                skews.append(None)
        killed = []
        for number in range(kills):
            killed.append(bench.kill_one(number, draw))
            print(f"kill {number}: {killed[-1]['problem'] or 'as it must be'}", flush=True)
    known = [skew for skew in skews if skew is not None]
    outlived = [of["orphan_s"] for of in killed if "orphan_s" in of]
    found = {
        "hosts": count, "starts": starts, "starts_missed": starts - len(known), "kills": kills,
        "seed": seed,
        "skew_p50_s": find_percentile(known, 0.5) if known else None,
        "skew_p99_s": find_percentile(known, 0.99) if known else None,
        "skew_max_s": max(known, default=None),
        "outlived_max_s": max(outlived, default=None),
        "kills_wrong": sum(of["problem"] is not None for of in killed),
    }  # fmt: skip
    for name, value in found.items():
        print(f"{name:<15}{value}")
    keep("agents", found, {"skews_s": skews, "killed": killed})
    late = starts and (len(known) < starts or (found["skew_p99_s"] or 0.0) > SKEW_S_MAX)
    return NOT_VALID if late or found["kills_wrong"] else 0


if __name__ == "__main__":
    given = [int(each) for each in sys.argv[1:]]
    sys.exit(main(*given, *DEFAULTS[len(given) :]))
