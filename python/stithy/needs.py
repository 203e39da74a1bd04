"""What Stithy's parts need of a machine, as judgements over what a machine answers.

A provider, scenario, collector or command names its needs in a constant `NEEDS`; `stithy doctor`
judges each of them on this machine. A judgement is pure: all it knows it asks of a `Machine`, so
that tests can make machines up.
"""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from stithy.hosts.activity import MachineActivity
    from stithy.results.manifest import Fact
    from stithy.storage.volume import OpenPlace

State = Literal["there", "missing", "absent", "disturbing", "unknown"]
"""`missing`: something asks for it. `absent`: nothing does. `disturbing`: it may change results.
`unknown`: the machine does not tell."""


class Machine(Protocol):
    """A seam: what may be asked of a machine. Asking changes nothing on it."""

    @property
    def is_root(self) -> bool:
        """Whether this user is root."""

    @property
    def installer(self) -> Literal["apt-get", "dnf"] | None:
        """What installs packages of the distribution; None for any other."""

    @property
    def facts(self) -> "Mapping[str, Fact]":
        """The facts of the fingerprint, by their names in `hosts.facts`."""

    def text(self, path: str) -> str | None:
        """The content of a file of the kernel, stripped; None where it cannot be read."""

    def names(self, path: str) -> tuple[str, ...]:
        """What lies in a directory, sorted; nothing where it cannot be read."""

    def closed(self, path: str) -> str | None:
        """Why a device cannot be opened for reading and writing; None where it can."""

    def program(self, name: str) -> str | None:
        """The full path of a program; None where it is not there."""

    def package(self, name: str) -> str | None:
        """The version of a Python package; None where it is not there."""

    def says(self, program: str, *words: str) -> str:
        """What a program writes when it is started with these words."""

    def find_memory_limit_problem(self) -> str | None:
        """Why no memory limit can be set; None where one can."""

    def find_io_limit_problem(self) -> str | None:
        """Why no limit of reads and writes can be set; None where one can."""

    def find_cpu_share_problem(self) -> str | None:
        """Why no share of CPU time can be set; None where one can."""

    def find_io_uring_problem(self) -> str | None:
        """Why io_uring cannot be used; None where it can."""

    def find_network_problem(self, program: str, *words: str) -> str | None:
        """Why a program fails in a network of its own, which is gone when it ends; None: it works.

        Only root may ask.
        """

    def is_clock_synchronised(self) -> bool | None:
        """Whether the kernel takes its clock for synchronised; None where it does not tell."""

    def activity(self, pids: "Collection[int]" = ()) -> "MachineActivity":
        """What other programs do in the next second; processes with these ids are none of them."""

    def places(self) -> "tuple[OpenPlace, ...]":
        """Directories on which a candidate could stand, one a file system."""


@dataclass(frozen=True)
class Judgement:
    """What a machine has of one thing.

    `found` is what was seen, or why nothing was; `remedy` mends what is not well.
    """

    what: str
    state: State
    found: str
    remedy: str | None = None


@dataclass(frozen=True)
class Package:
    """What brings a program, as the distributions call it; `found_in` says what else to turn on."""

    apt: str
    dnf: str
    found_in: str = ""

    def install(self, machine: Machine | None = None) -> str:
        """The command that installs it; all that there are where the machine's is not known."""
        by_tool = {"apt-get": f"apt-get install {self.apt}", "dnf": f"dnf install {self.dnf}"}
        more = f" ({self.found_in})" if self.found_in else ""
        if machine is None or machine.installer is None:
            return " or ".join(by_tool.values()) + more
        return f"{'' if machine.is_root else 'sudo '}{by_tool[machine.installer]}{more}"


@dataclass(frozen=True, kw_only=True)
class Need(ABC):
    """One thing that a part needs; `why` says for what. `optional`: the part works without."""

    why: str
    optional: bool = False

    @abstractmethod
    def judge(self, machine: Machine) -> Judgement:
        """Whether the machine has it."""


@dataclass(frozen=True, kw_only=True)
class Root(Need):
    """The rights of root."""

    def judge(self, machine: Machine) -> Judgement:
        if machine.is_root and _may_mount(machine):
            return Judgement("root", "there", "this user is root")
        if machine.is_root:
            found = "this root may not mount (no CAP_SYS_ADMIN)"
            return Judgement("root", "missing", found, "start the container with --privileged")
        return Judgement("root", "missing", "this user is not root", "start it with sudo")


def _may_mount(machine: Machine) -> bool:
    """Whether CAP_SYS_ADMIN, bit 21, is effective; also where the kernel does not tell."""
    lines = (machine.text("/proc/self/status") or "").splitlines()
    rights = [int(line.split()[1], 16) for line in lines if line.startswith("CapEff:")]
    return all(right >> 21 & 1 for right in rights)


@dataclass(frozen=True, kw_only=True)
class DeviceNeed(Need):
    """A device of the kernel that can be opened, and the module that brings it."""

    path: str
    module: str

    def judge(self, machine: Machine) -> Judgement:
        """Whether it opens; a kernel may load its module when it is asked."""
        closed = machine.closed(self.path)
        if closed is None:
            return Judgement(self.path, "there", "it opens")
        if not machine.is_root and has_device(machine, self):
            # Whoever lacks the rights of root is told so once, and not once a device.
            return Judgement(self.path, "there", "as far as one sees without root's rights")
        return Judgement(self.path, "missing", closed, suggest_device_remedy(machine, self))


def has_device(machine: Machine, device: DeviceNeed) -> bool:
    """Whether it has a name in /dev, whoever may open it."""
    folder, _, name = device.path.rpartition("/")
    return name in machine.names(folder)


def suggest_device_remedy(machine: Machine, device: DeviceNeed) -> str:
    """How a device that does not open is got."""
    if has_device(machine, device):
        return f"allow it to this container, such as with `--device {device.path}`"
    if has_module(machine, device.module):
        return f"{'' if machine.is_root else 'sudo '}modprobe {device.module}"
    return (
        f"use a kernel with the module {device.module}; in a container, load it on the host and "
        f"give `--device {device.path}`"
    )


def has_module(machine: Machine, module: str) -> bool:
    """Whether this kernel has it on disk or built in, though it need not be loaded."""
    kernel = machine.text("/proc/sys/kernel/osrelease") or ""
    folder = f"/lib/modules/{kernel}"
    lists = (machine.text(f"{folder}/{name}") for name in ("modules.dep", "modules.builtin"))
    listed = "\n".join(filter(None, lists))
    return re.search(rf"/{re.escape(module)}\.ko", listed) is not None


@dataclass(frozen=True, kw_only=True)
class KernelModule(Need):
    """A part of the kernel that one of several modules brings; `remedy`: what to do without one."""

    names: tuple[str, ...]
    remedy: str

    def judge(self, machine: Machine) -> Judgement:
        """Whether one is loaded, built in, or on disk."""
        loaded = {*machine.names("/sys/module")} & {*self.names}
        what = f"{self.names[0]} in the kernel"
        if loaded:
            return Judgement(what, "there", f"the kernel has {', '.join(sorted(loaded))}")
        for name in self.names:
            if any(has_module(machine, each) for each in (name, name.replace("_", "-"))):
                return Judgement(what, "there", "the kernel loads it when it is asked for")
        return Judgement(what, "missing", "the kernel does not have it", self.remedy)


@dataclass(frozen=True, kw_only=True)
class ProgramNeed(Need):
    """A program of another project, new enough where `oldest` says how new it must be.

    `asked` are the words with which it tells its version, empty where it tells none.
    """

    name: str
    package: Package
    asked: tuple[str, ...] = ()
    oldest: tuple[int, ...] = ()

    def judge(self, machine: Machine) -> Judgement:
        path = machine.program(self.name)
        install = self.package.install(machine)
        if path is None:
            return Judgement(self.name, "missing", "not found", install)
        version = find_version(machine.says(path, *self.asked)) if self.asked else ""
        numbers = parse_numbers(version)
        if self.oldest and numbers[: len(self.oldest)] < self.oldest:
            wanted = ".".join(map(str, self.oldest))
            problem = f"it is {version or 'of no known version'}, at least {wanted} is needed"
            return Judgement(self.name, "missing", problem, install)
        return Judgement(self.name, "there", version or path)


def parse_numbers(version: str) -> tuple[int, ...]:
    """Read the numbers of a version.

    >>> parse_numbers("16.0.4135.4")
    (16, 0, 4135, 4)
    """
    return tuple(map(int, re.findall(r"\d+", version)))


def find_version(text: str) -> str:
    """The first number with a dot in what a program says of itself; empty without one."""
    found = re.search(r"\d+(\.\d+)+", text)
    return found[0] if found else ""


@dataclass(frozen=True, kw_only=True)
class Driver(Need):
    """A part of a program that a package of its own may bring.

    `asked`: words that use it in vain. `lacking`: what the program writes where the part is not
    there.
    """

    name: str
    program: str
    asked: tuple[str, ...]
    lacking: tuple[str, ...]
    package: Package

    def judge(self, machine: Machine) -> Judgement:
        """Whether the program knows it; without the program that is said with the program."""
        path = machine.program(self.program)
        if path is None:
            return Judgement(self.name, "unknown", f"without {self.program} nobody knows")
        said = machine.says(path, *self.asked)
        if any(each in said for each in self.lacking):
            found = f"{self.program} does not know it"
            return Judgement(self.name, "missing", found, self.package.install(machine))
        return Judgement(self.name, "there", f"{self.program} knows it")


@dataclass(frozen=True, kw_only=True)
class Networking(Need):
    """What the kernel's network can do, tried in a network namespace that is gone at once.

    `tried`: commands, each with its program first. `options`: what a kernel is built with for it.
    """

    what: str
    tried: tuple[tuple[str, ...], ...]
    options: str

    def judge(self, machine: Machine) -> Judgement:
        """Whether every command works; without root's rights none is tried."""
        if "net" not in machine.names("/proc/self/ns"):
            remedy = "use a kernel with CONFIG_NET_NS"
            return Judgement(self.what, "missing", "the kernel has no network namespaces", remedy)
        if not machine.is_root:
            return Judgement(self.what, "there", "as far as one sees without root's rights")
        for words in self.tried:
            if machine.program(words[0]) is None:
                return Judgement(self.what, "unknown", f"without {words[0]} nobody knows")
            if problem := machine.find_network_problem(*words):
                remedy = f"use a kernel with {self.options}; a container needs --privileged"
                return Judgement(self.what, "missing", problem, remedy)
        return Judgement(self.what, "there", "tried in a network namespace")


@dataclass(frozen=True, kw_only=True)
class OwnProgram(Need):
    """A native program of Stithy's own."""

    name: str

    def judge(self, machine: Machine) -> Judgement:
        path = machine.program(self.name)
        if path is None:
            remedy = "install Stithy (`pip install .`), or build it: `cargo build --release`"
            return Judgement(self.name, "missing", "it was not found", remedy)
        if version := find_version(machine.says(path, "--version")):
            return Judgement(self.name, "there", version)
        remedy = "install Stithy for this machine, or build it: `cargo build --release`"
        return Judgement(self.name, "missing", f"{path} does not start here", remedy)


@dataclass(frozen=True, kw_only=True)
class PythonPackage(Need):
    """A Python package that is an extra of Stithy's."""

    name: str
    extra: str

    def judge(self, machine: Machine) -> Judgement:
        if found := machine.package(self.name):
            return Judgement(self.name, "there", found)
        remedy = f"pip install 'stithy[{self.extra}]'"
        return Judgement(self.name, "missing", "it is not installed", remedy)


@dataclass(frozen=True, kw_only=True)
class KernelFileSystem(Need):
    """A kind of file system that the kernel can mount."""

    name: str

    def judge(self, machine: Machine) -> Judgement:
        """Whether it knows the kind, or has a module on disk that does."""
        what = f"{self.name} in the kernel"
        known = (machine.text("/proc/filesystems") or "").split()
        if self.name in known:
            return Judgement(what, "there", "the kernel knows it")
        if has_module(machine, self.name):
            return Judgement(what, "there", "the kernel loads it when it is mounted")
        remedy = f"use a kernel with {self.name}, or another file system"
        return Judgement(what, "missing", "the kernel does not know it", remedy)


@dataclass(frozen=True, kw_only=True)
class Readable(Need):
    """A file in which the kernel tells something, and what makes a kernel tell it."""

    path: str
    remedy: str

    def judge(self, machine: Machine) -> Judgement:
        if machine.text(self.path) is not None:
            return Judgement(self.path, "there", "it is readable")
        return Judgement(self.path, "missing", "the kernel does not report it here", self.remedy)


@dataclass(frozen=True, kw_only=True)
class MemoryLimitNeed(Need):
    """A memory control group that can be made."""

    def judge(self, machine: Machine) -> Judgement:
        problem = machine.find_memory_limit_problem()
        if problem is None:
            version = machine.facts["cgroup_version"].value
            return Judgement("memory limit", "there", f"control groups of version {version}")
        remedy = (
            "give this container writable control groups"
            if machine.is_root
            else "start it with sudo, or in a group of your own: systemd-run --user --scope"
        )
        return Judgement("memory limit", "missing", problem, remedy)


@dataclass(frozen=True, kw_only=True)
class CpuShare(Need):
    """A control group that limits the CPU time of its processes."""

    def judge(self, machine: Machine) -> Judgement:
        return _limit("share of CPU time", machine.find_cpu_share_problem(), "`cpu`", machine)


@dataclass(frozen=True, kw_only=True)
class IoLimit(Need):
    """A control group that limits what its processes read and write."""

    def judge(self, machine: Machine) -> Judgement:
        problem = machine.find_io_limit_problem()
        return _limit("limit of reads and writes", problem, "`io` or `blkio`", machine)


def _limit(what: str, problem: str | None, controller: str, machine: Machine) -> Judgement:
    if problem is None:
        return Judgement(what, "there", "a control group")
    groups = f"give this container writable control groups with the controller {controller}"
    return Judgement(what, "missing", problem, groups if machine.is_root else "start it with sudo")
