"""Power cuts of a machine with a database on an emulated drive: what one is, and what is seen.

The hammer's ledger lies on another disk than the database. After each cut the file system is
replayed and checked, the server recovers, the engine checks itself, and the ledger and all
consistency conditions are compared with the database. A database that runs in the hammer dies with
it. `benches/prove.py` and the tests of real machines use it.
"""

import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from power_engines import BASE, SUBJECTS, Subject
from stithy.drives import filesystems, program
from stithy.drives.control import DriveSpec
from stithy.drives.power_cut import (
    CutRule,
    DriveCut,
    MountedDrive,
    check_file_system,
    cut_power,
    restore_power,
)
from stithy.drives.program import DriveProgram
from stithy.engines.instance import Configuration, ConfiguredEngine, Instance, Request, Start
from stithy.engines.postgresql.server import PROGRAM as POSTGRES
from stithy.engines.postgresql.server import read_segment_facts, remove_segment
from stithy.errors import StithyError
from stithy.hosts.host import LocalHost
from stithy.hosts.processes import end, find_pids_inside, find_pids_within
from stithy.hosts.runner import Command, LocalRunner, find_server_user
from stithy.scenarios.durability.trial import LEDGER_S, UsersAtWork, run_users
from stithy.secrets import generate_password
from stithy.storage.copy import copy_tree, sync_filesystem
from stithy.wire.drive import jobs
from stithy.wire.drive.jobs import VolatileBytes
from stithy.wire.hammer import Hammer
from stithy.wire.jobs import RunRequest
from stithy.wire.messages import LedgerCounts
from stithy.workloads.order_entry import Choice

SIZE = Choice(warehouses=1)
MIB = 2**20
DRIVE, LOG_DRIVE = "data", "log"
DRIVE_BYTES = 1536 * MIB
CACHE_BYTES = 64 * MIB
USERS = 4

UNSTEADY = jobs.Slow(factor=1.0, added_s=0.0005, share=0.3)
"""Requests that overtake each other and are under way when the power is cut."""

START_PATIENCE_S = 60.0
COMMITTED_MIN = 50
"""A machine with other work to do may be slow to begin; a cut of nothing would prove nothing."""

PARENT = Path("/var/tmp")
PREFIX = "stithy-"
MASTER = "master"


@dataclass(frozen=True)
class Master:
    """A loaded database whose server was stopped, and the engine that made it."""

    subject: Subject
    engine: ConfiguredEngine
    data: Path


@contextmanager
def loaded_master(place: Path, subject: Subject = SUBJECTS["postgresql"]) -> Iterator[Master]:
    """Load one warehouse below `place`, a directory that the server's user may enter."""
    engine = subject.engine.configure(
        Request(
            host=LocalHost(),
            configuration=Configuration(subject.settings, 256 * MIB),
            connections_max=USERS,
            password=generate_password(),
        )
    )
    engine.check()
    with _private_folder(place) as sockets:
        data = place / f"{MASTER}-{subject.name}"
        data.mkdir(mode=0o700)
        _give(data)
        engine.initialise(data, sockets)
        server = engine.start(Start(data, sockets, sockets / "server.log", loading=True))
        try:
            Hammer(LocalRunner(), server.url).prepare(SIZE, seed=1, loaders=2)
        finally:
            server.stop()
        yield Master(subject, engine, data)


@contextmanager
def _private_folder(parent: Path) -> Iterator[Path]:
    """A directory of the server's user with a short name, for sockets and logs."""
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=parent) as name:
        folder = Path(name)
        _give(folder)
        yield folder


def _give(folder: Path) -> None:
    if user := find_server_user():
        os.chown(folder, user.uid, user.gid)


@dataclass(frozen=True)
class Seen:
    """What one cut did and what was there afterwards.

    `broken` are the consistency conditions that do not hold; `clean` is the file system's check.
    `damage`: what the engine's own check found, or why the database could not be opened or
    compared; then there are no counts. `repairs`: what had to be done to file systems that the
    kernel did not mount.
    """

    kind: str
    settings: Mapping[str, str]
    seed: int
    load_s: float
    cuts: tuple[DriveCut, ...]
    clean: bool
    said: str
    damage: str
    repairs: tuple[str, ...] = ()
    orders: LedgerCounts | None = None
    payments: LedgerCounts | None = None
    holds: bool = False
    broken: tuple[int, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong with it, and it proves something."""
        whole = self.clean and not self.damage and self.holds and not self.broken
        return whole and self.orders is not None and self.orders.acknowledged > 0

    @property
    def is_caught(self) -> bool:
        """Whether something is gone or damaged, and was noticed."""
        lost = not self.holds and _count_lost(self.orders, self.payments) > 0
        return bool(self.damage or self.broken) or lost


def _count_lost(*counts: LedgerCounts | None) -> int:
    return sum(one.lost for one in counts if one is not None)


@dataclass(frozen=True)
class Plan:
    """What a machine is like; `own_log`: the server's log lies on a drive of its own.

    `variant` names the settings of its engine. `parent` is where its folders are made.
    """

    kind: str
    seed: int
    cache_bytes: int = CACHE_BYTES
    own_log: bool = False
    variant: str = BASE
    parent: Path = PARENT


class Machine:
    """Drives with file systems, and a database on them."""

    def __init__(
        self, master: Master, plan: Plan, drives: DriveProgram, mounted: Sequence[MountedDrive]
    ) -> None:
        """The database lies below the first mount already; no server runs."""
        self._master = master
        self._drives = drives
        self.mounted = tuple(mounted)
        self.data = mounted[0].folder / "data"
        self._settings = master.subject.configure(plan.variant)
        self._place = drives.folder.parent
        self._starts = 0
        self.server: Instance | None = None

    @property
    def drives(self) -> DriveProgram:
        """The program that serves the drive."""
        return self._drives

    @property
    def log(self) -> Path:
        """What the last server wrote."""
        return self._place / f"server-{self._starts}.log"

    def start(self) -> Instance:
        """Start a server, which recovers where the last one was cut off."""
        self._starts += 1
        start = Start(self.data, self._place, self.log, more=self._settings)
        self.server = self._master.engine.start(start)
        return self.server

    @contextmanager
    def load(self, seed: int) -> Iterator[UsersAtWork]:
        """Users at work until the end of the block; their ledger is `ledger_of` the seed."""
        server = self.server or self.start()
        hammer = Hammer(LocalRunner(), server.url)
        if self._is_embedded:  # by its directory it is found, as servers are
            start = Start(self.data, self._place, self.log)
            environment = self._master.subject.engine.set_driver(start)
            hammer.limit_process(Command([], environment=environment, directory=self.data))
        request = RunRequest(
            seed=seed, users=USERS, ramp_up_s=0.0, duration_s=600.0, ledger=self.ledger_of(seed)
        )
        with run_users(lambda watch: hammer.run(SIZE, request, watch=watch)) as users:
            users.wait_for_commits(COMMITTED_MIN, START_PATIENCE_S)
            yield users
        if users.failure is not None and not self._is_embedded:
            raise users.failure

    def ledger_of(self, seed: int) -> Path:
        """On another disk than the database."""
        return self._place / f"{seed}.ledger"

    def cut_under_load(self, seed: int, rule: CutRule, *, is_lying: bool = False) -> Seen:
        """Load, cut, bring everything back in order, and compare."""
        server = self.server or self.start()
        for each in self.mounted if is_lying else ():
            each.control.set_fault(each.name, jobs.LyingFlush())
        # Not a moment that some timer of the server or the file system shares.
        load_s = random.Random(seed).uniform(0.2, 2.0)
        linger_s = LEDGER_S if self._is_embedded and self._is_flushed else 0.0
        with self.load(seed) as working:
            time.sleep(load_s)
            working.check()
            memory = server.shared_memory()
            cuts = cut_power(self.mounted, rule, self._list_pids, linger_s=linger_s)
        server.stop(at_once=True)
        self.server = None
        self._master.subject.engine.forget(memory)
        return self._compare(Cut(seed, load_s, cuts))

    @property
    def _is_embedded(self) -> bool:
        """Whether the database runs in the driver's process, and dies with it."""
        return self._master.subject.engine.declaration.is_embedded

    @property
    def _is_flushed(self) -> bool:
        """Whether commits wait for the drive, so that none is acknowledged after its end."""
        return self._settings.get("synchronous") != "off"

    def _list_pids(self) -> list[int]:
        """Processes of the database; a thread of one may end after the one that names it."""
        pids = find_pids_inside(self.data, self._master.engine.program)
        server = self.server
        if server is None or server.pid is None or server.ended_by() is not None:
            return pids
        return pids or [server.pid]

    def _compare(self, cut: "Cut") -> Seen:
        repairs = restore_power(self.mounted)
        checked = [check_file_system(each) for each in self.mounted]
        seen = Seen(
            kind=self.mounted[0].kind,
            settings=self._settings,
            seed=cut.seed,
            load_s=cut.load_s,
            cuts=cut.drives,
            clean=all(each.clean for each in checked),
            said="\n".join(each.text for each in checked if not each.clean),
            damage="",
            repairs=repairs,
        )
        try:
            return self._ask_database(seen)
        except StithyError as error:
            return replace(seen, damage=str(error))
        finally:
            self.ledger_of(cut.seed).unlink()

    def _ask_database(self, seen: Seen) -> Seen:
        server = self.start()
        hammer = Hammer(LocalRunner(), server.url)
        if damage := self._master.subject.engine.find_damage(server):
            return replace(seen, damage=damage)
        verified = hammer.verify_ledger(SIZE, self.ledger_of(seen.seed)).summary
        return replace(
            seen,
            orders=verified.entries["order"],
            payments=verified.entries["payment"],
            holds=verified.holds,
            broken=hammer.check(SIZE, quick=False, after_load=False).broken,
        )

    def stop(self) -> None:
        """End the server at once, if one runs."""
        if self.server is not None:
            self.server.stop(at_once=True)


@dataclass(frozen=True)
class Cut:
    """A cut as it was done."""

    seed: int
    load_s: float
    drives: tuple[DriveCut, ...]


@contextmanager
def machine(master: Master, plan: Plan) -> Iterator[Machine]:
    """A machine with a copy of the master on fresh file systems, until the end of the block."""
    names = (DRIVE, LOG_DRIVE) if plan.own_log else (DRIVE,)
    volatile = VolatileBytes(limit_bytes=plan.cache_bytes)
    specs = [
        DriveSpec(name, None, DRIVE_BYTES, seed=plan.seed, volatile=volatile) for name in names
    ]
    with ExitStack() as stack:
        place = stack.enter_context(_private_folder(plan.parent))
        drives = program.start(specs, place / "drives", hold_off_idle=False)
        stack.callback(drives.stop)
        mounted = []
        for name in names:
            mounted.append(_mounted(drives, name, place / name, plan.kind))
            stack.callback(filesystems.unmount, place / name)
        _copy(master, mounted)
        for name in names:
            drives.control.set_fault(name, UNSTEADY)
        made = Machine(master, plan, drives, mounted)
        stack.callback(made.stop)
        yield made


def _mounted(drives: DriveProgram, name: str, folder: Path, kind: str) -> MountedDrive:
    device = drives.devices[name]
    filesystems.make(device, kind)
    folder.mkdir()
    filesystems.mount(device, folder, kind)
    return MountedDrive(drives.control, name, device, folder, kind)


def _copy(master: Master, mounted: Sequence[MountedDrive]) -> None:
    """Put a copy of the database on the first drive, and its log on the second, if there is one."""
    data = mounted[0].folder / "data"
    data.mkdir(mode=0o700)
    copy_tree(master.data, data)
    for each in mounted[1:]:
        assert master.engine.log_folder is not None  # where it is None no plan has a drive for it
        log, name = each.folder / "log", data / master.engine.log_folder
        log.mkdir(mode=0o700)
        copy_tree(name, log)
        shutil.rmtree(name)
        name.symlink_to(log)
    for each in mounted:
        sync_filesystem(each.folder)


def sweep(parent: Path) -> None:
    """Remove what killed proofs left below `parent`: servers, mounts, drives and their files."""
    for master in parent.glob(f"{MASTER}-*"):
        end(find_pids_within(master), signal.SIGKILL)
    for place in parent.glob(f"{PREFIX}*"):
        data, drives = place / DRIVE / "data", place / "drives"
        memory = _memory_of(data)
        end(find_pids_within(data), signal.SIGKILL)
        remove_segment(memory)
        program.repair(drives)
        for name in (DRIVE, LOG_DRIVE):
            filesystems.unmount(place / name)
        program.remove(drives)
    for each in parent.iterdir():
        shutil.rmtree(each) if each.is_dir() else each.unlink()


def _memory_of(data: Path) -> Mapping[str, str]:
    """What a PostgreSQL that still runs there holds of the machine's memory."""
    pids = find_pids_inside(data, POSTGRES)
    return read_segment_facts(min(pids), data / "postmaster.pid") if pids else {}
