"""Hosts: a machine on which servers, hammers or storage run, and all that a run takes from it.

`Host` is a seam. `LocalHost` is the machine that this process runs on, `NamespaceHost` a network of
its own on it. Whatever is done on a host is a command for its runner, and what is known of it is
asked of the host itself, so that it may be another machine, too.

To ask a host changes nothing. A device is opened and closed again, for only then is it known
whether a container may have it; the kernel may load the device's module at that.
"""

import ctypes
import errno
import os
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, Protocol

from stithy.clock import Clock, SystemClock
from stithy.collectors.collector import Collector
from stithy.environment import search_path
from stithy.errors import StithyError, give_reason
from stithy.hosts import resources
from stithy.hosts.activity import ActivityCounters, MachineActivity, read, watch
from stithy.hosts.runner import (
    Command,
    Finished,
    LocalRunner,
    Runner,
    Running,
    ServerUser,
    find_server_user,
    wrap_command,
)
from stithy.needs import Machine
from stithy.registry import plugins

if TYPE_CHECKING:
    from stithy.results.manifest import Fact
    from stithy.storage.volume import OpenPlace

SYSTEM_FOLDERS = (Path("/usr/sbin"), Path("/sbin"))
"""Where administrators' programs are, also where a user's PATH does not name it."""

OWN_PREFIX = "stithy-"
PATIENCE_S = 20.0

IO_URING_SETUP = 425
"""The same on every architecture. Source: include/uapi/asm-generic/unistd.h of Linux."""

IO_URING_PARAMS_BYTES = 120
TIMEX_BYTES = 208
STA_UNSYNC = 0x40
"""Source: include/uapi/linux/timex.h of Linux."""

STATUS_AT = 40
"""Where `status` is in `struct timex` of 64-bit machines: after modes and four longs."""


NAMESPACES = Path("/run/netns")
"""Where network namespaces have names. Source: ip-netns(8)."""


class Host(Machine, Protocol):
    """A seam: a machine that can be used, besides being asked."""

    @property
    def name(self) -> str:
        """What it is called where a person must be told."""

    @property
    def runner(self) -> Runner:
        """What starts processes on it."""

    @property
    def user(self) -> ServerUser | None:
        """As whom servers run on it, None for the caller's own user.

        Raises PreconditionError where the caller is root, and there is nobody else.
        """

    @property
    def cpus(self) -> frozenset[int]:
        """Numbers of the CPUs that processes may use."""

    @property
    def collectors(self) -> Mapping[str, Collector]:
        """What can sample it, by name; see `stithy.collectors.collector`."""

    def read_counters(self, clock: Clock, pids: Collection[int]) -> ActivityCounters:
        """What others than `pids` and their children have done so far."""

    def join_io_group(self, name: str, record: Callable[[Path], object]) -> None:
        """Join a group for I/O where the root group would delay reads of loop devices."""


class LocalHost:
    """The machine that this process runs on."""

    def __init__(self, runner: Runner | None = None, name: str = "this machine") -> None:
        """`runner`: one that gives processes the mark of a run."""
        self.name = name
        self.runner: Runner = runner or LocalRunner()

    @cached_property
    def user(self) -> ServerUser | None:
        """As whom servers run."""
        return find_server_user()

    @property
    def cpus(self) -> frozenset[int]:
        """Those that this process may use."""
        return frozenset(os.sched_getaffinity(0))

    @property
    def collectors(self) -> Mapping[str, Collector]:
        return plugins(Collector)

    def join_io_group(self, name: str, record: Callable[[Path], object]) -> None:
        """Join one that is made for this process and what it starts."""
        resources.join_io_group(name, record)

    @property
    def is_root(self) -> bool:
        return os.geteuid() == 0

    @property
    def installer(self) -> Literal["apt-get", "dnf"] | None:
        """What installs packages here."""
        if self.program("apt-get"):
            return "apt-get"
        return "dnf" if self.program("dnf") else None

    @cached_property
    def facts(self) -> "Mapping[str, Fact]":
        """The fingerprint, read once."""
        from stithy.hosts.facts import read_machine_facts

        return read_machine_facts()

    def text(self, path: str) -> str | None:
        """The content of a file of the kernel."""
        try:
            return Path(path).read_text(errors="replace").strip()
        except OSError:
            return None

    def names(self, path: str) -> tuple[str, ...]:
        """What lies in a directory."""
        try:
            return tuple(sorted(os.listdir(path)))
        except OSError:
            return ()

    def closed(self, path: str) -> str | None:
        """Why a device cannot be opened."""
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))
        except FileNotFoundError:
            return "not found"
        except OSError as error:
            return f"it cannot be opened ({give_reason(error)})"
        return None

    def package(self, name: str) -> str | None:
        """The version of a Python package, as its installer notes it."""
        from importlib import metadata

        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            return None

    def program(self, name: str) -> str | None:
        """The full path of a program: Stithy's own where Stithy looks for them."""
        from stithy.wire.program import list_default_places

        own = name.startswith(OWN_PREFIX)
        for folder in list_default_places() if own else (*search_path(), *SYSTEM_FOLDERS):
            # A folder of the PATH may be closed to this user, at which Path.is_file would fail.
            if os.path.isfile(path := folder / name) and os.access(path, os.X_OK):
                return str(path)
        return None

    def says(self, program: str, *words: str) -> str:
        """What a program writes; nothing where it does not start or does not end."""
        try:
            command = Command([program, *words], environment={"LC_ALL": "C"})
            finished = self.runner.run(command, timeout_s=PATIENCE_S)
        except StithyError:
            return ""
        return finished.stdout + finished.stderr

    def find_memory_limit_problem(self) -> str | None:
        """Why no memory limit can be set; no group is made to find out."""
        parents = [folder for folder, _ in resources.list_parents(Path("/proc"))]
        return resources.explain_no_group(parents, "the memory controller")

    def find_io_limit_problem(self) -> str | None:
        """Why no limit of reads and writes can be set; no group is made to find out."""
        return resources.IO.find_problem()

    def find_cpu_share_problem(self) -> str | None:
        """Why no share of CPU time can be set; no group is made to find out."""
        return resources.CPU.find_problem()

    def find_io_uring_problem(self) -> str | None:
        """Why no ring can be made; one with a single entry is, and closed again."""
        libc = ctypes.CDLL(None, use_errno=True)
        ring = libc.syscall(IO_URING_SETUP, 1, ctypes.create_string_buffer(IO_URING_PARAMS_BYTES))
        if ring >= 0:
            os.close(ring)
            return None
        if (number := ctypes.get_errno()) == errno.ENOSYS:
            return "the kernel does not have it"
        return f"the kernel refuses it ({os.strerror(number).lower()})"

    def find_network_problem(self, program: str, *words: str) -> str | None:
        """Why a program fails in a network of its own, which ends with it."""
        unshare, path = self.program("unshare"), self.program(program)
        if unshare is None or path is None:
            return "unshare was not found" if unshare is None else f"{program} was not found"
        command = Command([unshare, "--net", path, *words], environment={"LC_ALL": "C"})
        try:
            finished = self.runner.run(command, timeout_s=PATIENCE_S)
        except StithyError as error:
            return str(error)
        said = finished.stderr.strip().splitlines() or [f"it ended with code {finished.code}"]
        return (
            None if finished.code == 0 else f"`{program} {' '.join(words)}`: {said[-1].rstrip('.')}"
        )

    def is_clock_synchronised(self) -> bool | None:
        """What adjtimex says when nothing is to be adjusted. Source: adjtimex(2)."""
        if ctypes.sizeof(ctypes.c_long) != 8:
            return None
        answer = ctypes.create_string_buffer(TIMEX_BYTES)
        if ctypes.CDLL(None).adjtimex(answer) < 0:
            return None
        status = int.from_bytes(answer.raw[STATUS_AT : STATUS_AT + 4], sys.byteorder)
        return not status & STA_UNSYNC

    def activity(self, pids: Collection[int] = ()) -> MachineActivity:
        """What others do in the next second."""
        return watch(SystemClock(), pids)

    def read_counters(self, clock: Clock, pids: Collection[int]) -> ActivityCounters:
        """By the kernel's counters of processes and devices."""
        return read(clock, pids)

    def places(self) -> "tuple[OpenPlace, ...]":
        """Where a candidate could stand."""
        from stithy.storage.volume import open_places

        try:
            home = Path.home()
        except RuntimeError:  # a user without an entry, as containers may have
            home = None
        return open_places(home=home)


class NamespaceHost(LocalHost):
    """A network namespace of this machine, with which it shares all but the network."""

    def __init__(self, name: str, runner: Runner | None = None) -> None:
        """`name` is the namespace's; `runner` starts processes on this machine."""
        super().__init__(NamespaceRunner(name, runner or LocalRunner()), name)

    @property
    def collectors(self) -> Mapping[str, Collector]:
        """Without those that would sample the network of this process."""
        every = super().collectors
        return {name: each for name, each in every.items() if not each.is_of_network}


class NamespaceRunner:
    """Starts processes in a network namespace.

    `ip netns exec` would also copy all mounts, which then could not be unmounted.
    """

    def __init__(self, namespace: str, runner: Runner) -> None:
        """`runner` starts processes outside of it."""
        self._inside = ("nsenter", f"--net={NAMESPACES / namespace}", "--")
        self._runner = runner

    def run(self, command: Command, *, timeout_s: float = 600.0, stdin: str = "") -> Finished:
        """Run to the end."""
        return self._runner.run(self._enter_namespace(command), timeout_s=timeout_s, stdin=stdin)

    def start(self, command: Command, *, stderr: Path | IO[bytes] | None = None) -> Running:
        """Start and return at once."""
        return self._runner.start(self._enter_namespace(command), stderr=stderr)

    def _enter_namespace(self, command: Command) -> Command:
        """First into the namespace, for only root may enter, and whoever starts may not be root."""
        words = (*self._inside, *wrap_command(command))
        return replace(command, argv=words, user=None, memory_cgroup=None, cpus=None)
