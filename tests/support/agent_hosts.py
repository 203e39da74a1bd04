"""Hosts for agents, made of network namespaces around a bridge, with a scheduler beside them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from stithy.agents.coordinator import Agents
from stithy.agents.site import SchedulerSite, find_site
from stithy.clock import SystemClock
from stithy.hosts.links import (
    connect_namespace,
    find_free_subnet,
    remove_interface,
    remove_namespace,
)
from stithy.hosts.runner import LocalRunner
from stithy.secrets import Secret
from stithy.wire.hammer import Hammer
from stithy.wire.jobs import RunRequest, WireRate
from stithy.workloads.oltp import OltpKeys
from stithy.workloads.workload import Driving

JOIN_S = 60.0
CHOICE = OltpKeys.model_validate(
    {"name": "oltp", "tables": 1, "rows": 1000, "mix": "point_select"}
).choice(Driving(is_open=True))


def wait_until(is_so: Callable[[], bool], limit_s: float, what: str) -> float:
    """Wait; returns how long it took, and fails after `limit_s`."""
    clock = SystemClock()
    began_s = clock.monotonic_s()
    while not is_so():
        assert clock.monotonic_s() - began_s < limit_s, f"not within {limit_s:g} s: {what}"
        time.sleep(0.05)
    return clock.monotonic_s() - began_s


def ip(*words: str) -> None:
    """Change the network."""
    subprocess.run(["ip", *words], check=True, capture_output=True)


def make_certificate(folder: Path) -> Path:
    """Make a certificate and its key, as docs/how-to/use-many-hosts.md says."""
    key, certificate, both = (folder / f"agents.{end}" for end in ("key", "crt", "pem"))
    command = [
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
        "-nodes", "-days", "2", "-subj", "/CN=stithy", "-keyout", str(key),
        "-out", str(certificate),
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    both.touch(0o600)
    both.write_bytes(certificate.read_bytes() + key.read_bytes())
    return both


@dataclass
class AgentHosts:
    """Namespaces with an agent each; `agents` are their processes by name."""

    prefix: str
    site: SchedulerSite
    names: tuple[str, ...]
    agents: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def begin(self, name: str) -> None:
        """Start an agent on its host."""
        self.agents[name] = _start(
            "nsenter", f"--net=/run/netns/{self.prefix}{name}", "--",
            sys.executable, "-m", "stithy", "agent", self.site.address, "--name", name,
            "--tls", str(self.site.tls),
        )  # fmt: skip

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        """Send a signal to an agent, and to nobody else."""
        self.agents[name].send_signal(number)
        if number == signal.SIGKILL:
            self.agents[name].wait()

    def end(self) -> None:
        """End all agents."""
        for agent in self.agents.values():
            agent.terminate()
        for agent in self.agents.values():
            _end(agent)

    def wait_until_joined(self) -> None:
        """Wait for all agents."""
        agents = Agents(self.site, ())

        def joined() -> bool:
            return agents.list_all().keys() >= set(self.names)

        wait_until(joined, JOIN_S, "all agents have joined")

    def list_hammers(self, name: str) -> list[int]:
        """List the load drivers that run on a host."""
        return self.list_programs(name, "stithy-hammer")

    def list_programs(self, name: str, program: str) -> list[int]:
        """List the processes of a program that run on a host."""
        namespace = os.stat(f"/run/netns/{self.prefix}{name}").st_ino
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                is_program = (folder / "comm").read_text().strip() == program
                if is_program and (folder / "ns/net").stat().st_ino == namespace:
                    found.append(int(folder.name))
            except OSError:
                continue  # it has just ended
        return found


def _start(*words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(words, stdout=subprocess.DEVNULL)  # errors are to be read


@contextmanager
def _end_undisturbed(stack: ExitStack) -> Iterator[None]:
    """Hear no signal from the end of this on until the stack is done: it would leave a half."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        stack.callback(signal.signal, number, signal.getsignal(number))
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)


@contextmanager
def raise_hosts(folder: Path, count: int) -> Iterator[AgentHosts]:
    """Inside, hosts `h1`, `h2`, … are there, each with an agent that has joined a scheduler."""
    prefix, network = f"sa{os.getpid() % 100_000}", find_free_subnet()
    bridge, names = f"{prefix}b", tuple(f"h{number + 1}" for number in range(count))
    site = find_site(f"{network}.1:8786", make_certificate(folder))
    with ExitStack() as stack, _end_undisturbed(stack):
        stack.callback(remove_interface, bridge)  # before it is there: a signal may come
        ip("link", "add", bridge, "type", "bridge")
        ip("address", "add", f"{network}.1/24", "dev", bridge)
        ip("link", "set", bridge, "up")
        for number, name in enumerate(names):
            link = f"{prefix}{name}"  # and its namespace
            stack.callback(remove_namespace, link)
            connect_namespace(link, link, f"{network}.{number + 10}", None)
            ip("link", "set", link, "master", bridge)
        scheduler = _start(
            sys.executable, "-m", "stithy", "agents", "serve", site.address, "--tls", str(site.tls)
        )
        stack.callback(_end, scheduler)
        hosts = AgentHosts(prefix, site, names)
        stack.callback(hosts.end)
        time.sleep(2)  # an agent that is early tries again only after two seconds
        for name in names:
            hosts.begin(name)
        hosts.wait_until_joined()
        yield hosts


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGCONT)
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def load_database(folder: Path) -> Secret:
    """Load a small database that needs no server; its URL."""
    url = Secret(f"sqlite://{folder / 'small.db'}")
    Hammer(LocalRunner(), url).prepare(CHOICE, seed=1, loaders=1)
    return url


def make_request(users: int, duration_s: float, per_s: float = 200.0) -> RunRequest:
    """Reads at a constant rate."""
    pace = WireRate(per_s=per_s, arrivals="constant")
    return RunRequest(seed=7, users=users, pace=pace, ramp_up_s=0.5, duration_s=duration_s,
                      isolation="serializable")  # fmt: skip
