"""A network namespace as a host: what is started on it is in it, and can be ended."""

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from stithy.hosts.host import NAMESPACES, NamespaceHost
from stithy.hosts.processes import end
from stithy.hosts.runner import Command

pytestmark = pytest.mark.needs_namespace


@pytest.fixture
def host() -> Iterator[NamespaceHost]:
    """An empty namespace of this test's own."""
    name = f"stithy-test-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        yield NamespaceHost(name)
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)


@pytest.mark.needs_unprivileged
def test_a_command_runs_in_the_namespace_whoever_it_runs_as(host: NamespaceHost) -> None:
    """It sees the namespace's interfaces alone, and the mounts of this machine."""
    words = ["sh", "-c", "id -u; tail -n +3 /proc/net/dev; readlink /proc/self/ns/mnt"]
    done = host.runner.run(Command(words, user="nobody", cpus=(min(host.cpus),)))
    uid, interface, mounts = done.stdout.splitlines()
    assert (done.code, uid, mounts) == (0, "65534", os.readlink("/proc/self/ns/mnt"))
    assert interface.split()[0] == "lo:"


def test_a_process_of_the_namespace_is_ended_by_its_id(host: NamespaceHost) -> None:
    """`nsenter` becomes the program, so that the id is the program's."""
    running = host.runner.start(Command(["sh", "-c", "echo in; exec cat"]))
    assert running.stdin is not None
    assert running.stdout is not None
    try:
        assert running.stdout.readline() == "in\n"
        inside = os.stat(f"/proc/{running.pid}/ns/net").st_ino
        assert inside == os.stat(NAMESPACES / host.name).st_ino
        assert inside != os.stat("/proc/self/ns/net").st_ino
    finally:
        end([running.pid], signal.SIGTERM)
        running.stdin.close()
        running.stdout.close()
    assert running.wait(10) == -signal.SIGTERM
