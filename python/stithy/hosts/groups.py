"""Control groups that hold processes back in what one controller counts.

In version 1 such a group is one of its own. In version 2 a process is in one group only, so that
the memory group of the processes has the limit, too.
Source: kernel documentation, cgroup-v1/cgroups.rst and cgroup-v2.rst.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from stithy.errors import PreconditionError, reason_of
from stithy.hosts.devices import mounts
from stithy.hosts.files import text_of
from stithy.hosts.processes import descendants
from stithy.hosts.resources import inside, own_groups, parents


@dataclass(frozen=True)
class Controller:
    """What limits `what` of processes.

    `old` and `new` are its names in version 1 and 2. `file` is that of the limit in version 2,
    `sign` one that groups of version 1 have only where it limits.
    """

    what: str
    remedy: str
    old: str
    new: str
    file: str
    sign: str = ""

    def group(
        self, name: str, memory_cgroup: Path | None, record: Callable[[Path], None], proc: Path
    ) -> tuple[Path, bool]:
        """The group that is to have the limit, and whether it is a new one of version 1.

        `record` gets the path of a new one before it is made. Raises PreconditionError where none
        can be had.
        """
        if (parent := self._parent(proc)) is not None:
            path = parent / name
            record(path)
            self._make(path)
            return path, True
        if memory_cgroup is None or not (memory_cgroup / self.file).exists():
            why = self.problem(proc) or "the server has no control group"
            raise self.refused(why, "control groups")
        return memory_cgroup, False

    def problem(self, proc: Path = Path("/proc")) -> str | None:
        """Why there can be no limit; None where there can. No group is made to find out."""
        own = self._parent(proc)
        folders = [own] if own else [each for each, _ in parents(proc) if self._is_handed_on(each)]
        if not folders:
            names = " or ".join(f"`{each}`" for each in dict.fromkeys((self.new, self.old)))
            return f"no control group here delegates the controller {names}"
        if any(os.access(each, os.W_OK | os.X_OK) for each in folders):
            return None
        return f"no control group can be created in {folders[0]}"

    def _parent(self, proc: Path) -> Path | None:
        """Where a group of version 1 may be made; None where the kernel has none that limits."""
        for controllers, own in own_groups(proc):
            for mount in mounts(proc):
                if mount.kind == "cgroup" and self.old in controllers:
                    path = inside(mount, own)
                    if self.old in mount.options.split(",") and os.path.exists(path / self.sign):
                        return path
        return None

    def _is_handed_on(self, folder: Path) -> bool:
        return self.new in text_of(folder / "cgroup.subtree_control").split()

    def _make(self, path: Path) -> None:
        try:
            path.mkdir()
        except OSError as error:
            raise self.refused(f"it cannot be created ({reason_of(error)})", str(path)) from error

    def write(self, path: Path, text: str) -> None:
        """Write to a file of a group. Raises PreconditionError where the kernel refuses.

        ProcessLookupError stays: a process may end before it is in the group.
        """
        try:
            path.write_text(text)
        except ProcessLookupError:
            raise
        except OSError as error:
            why = f"the kernel refuses {text!r} ({reason_of(error)})"
            raise self.refused(why, str(path)) from error

    def refused(self, problem: str, where: str) -> PreconditionError:
        """Why it cannot be limited, as an error."""
        return PreconditionError(
            f"{self.what} cannot be limited: {problem}", where=where, remedy=self.remedy
        )


@dataclass(frozen=True)
class Throttle:
    """A group whose processes are slowed down."""

    controller: Controller
    path: Path

    def hold(self, pid: int) -> None:
        """Bring a process into it with all that it has started; children to come follow it.

        Raises PreconditionError where the kernel refuses.
        """
        for each in (pid, *descendants(pid)):
            with suppress(ProcessLookupError):  # it has ended meanwhile
                self.controller.write(self.path / "cgroup.procs", str(each))
