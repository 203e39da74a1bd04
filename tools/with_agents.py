"""Runs a command of Stithy while a scheduler and agents are on this machine, and ends them with it.

    python tools/with_agents.py COUNT COMMAND…

The agents are called agent-01, agent-02 and so on (`load.agents`), each a process that is idle
until a run asks it for load. `--scheduler` is added to the command.
"""

import subprocess
import sys
import time
from collections.abc import Sequence

from stithy.agents.coordinator import Agents
from stithy.agents.site import find_site
from stithy.hosts.links import find_free_port

STITHY = (sys.executable, "-m", "stithy")
JOIN_S = 300.0
"""Own: each takes two seconds of a CPU to start."""


def wait_until_joined(address: str, names: Sequence[str]) -> None:
    """Return once all agents are there; whoever is late is named."""
    until_s, missing = time.monotonic() + JOIN_S, {*names}
    agents = Agents(find_site(address, None), ())
    while missing := missing - agents.list_all().keys():
        assert time.monotonic() < until_s, f"not within {JOIN_S:g} s: {', '.join(sorted(missing))}"
        time.sleep(1.0)


def main(count: int, command: Sequence[str]) -> int:
    """Start all, run the command, end all; its exit code."""
    address = f"127.0.0.1:{find_free_port('127.0.0.1')}"
    names = [f"agent-{number:02}" for number in range(1, count + 1)]
    asked = [("agents", "serve", address), *(("agent", address, "--name", name) for name in names)]
    started = []
    try:
        for words in asked:
            started.append(subprocess.Popen([*STITHY, *words], stdout=subprocess.DEVNULL))
            if len(started) == 1:
                time.sleep(5.0)  # an agent waits for its scheduler, and asks more seldom each time
        wait_until_joined(address, names)
        return subprocess.run([*command, "--scheduler", address], check=False).returncode
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(30)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
