"""Power cuts of a machine with PostgreSQL on an emulated drive: what one is, and what is seen.

The hammer's ledger lies on another disk than the database. After each cut the file system is
replayed and checked, the server recovers, and the ledger and the consistency conditions are
compared with the database. `benches/prove.py` and the tests of real machines use it.
"""

import os
import random
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from power_cut import (
    CutRule,
    DriveCut,
    MountedDrive,
    check_file_system,
    cut_power,
    restore_power,
)
from stithy.drives import filesystems, program
from stithy.drives.control import DriveSpec
from stithy.drives.program import DriveProgram
from stithy.engines.instance import Configuration, Request, Start
from stithy.engines.postgresql.engine import PostgreSQL
from stithy.engines.postgresql.server import (
    PROGRAM,
    Server,
    read_segment_facts,
    remove_segment,
)
from stithy.errors import StithyError
from stithy.hosts.host import LocalHost
from stithy.hosts.processes import end, find_pids_inside
from stithy.hosts.runner import LocalRunner, find_server_user
from stithy.secrets import generate_password
from stithy.storage.copy import copy_tree, sync_filesystem
from stithy.wire.drive import jobs
from stithy.wire.drive.jobs import VolatileBytes
from stithy.wire.hammer import Hammer, ProgressWatch
from stithy.wire.jobs import RunRequest
from stithy.wire.messages import AnyMessage, LedgerCounts, SecondMessage
from stithy.workloads.order_entry import Choice

KINDS = ("ext4", "xfs", "btrfs")
SIZE = Choice(warehouses=1)
MIB = 2**20
DRIVE, LOG_DRIVE = "data", "log"
DRIVE_BYTES = 1536 * MIB
CACHE_BYTES = 64 * MIB
USERS = 4

SETTINGS = {
    # Small, so that dirty pages are on their way at every moment, and the log is not only written.
    "shared_buffers": "16MB",
    "max_wal_size": "64MB",
    "min_wal_size": "32MB",
    "bgwriter_delay": "20ms",
    "autovacuum": "on",
}
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

    engine: PostgreSQL
    data: Path


@contextmanager
def loaded_master(place: Path) -> Iterator[Master]:
    """Load one warehouse below `place`, a directory that the server's user may enter."""
    engine = PostgreSQL(
        Request(
            host=LocalHost(),
            configuration=Configuration(SETTINGS, 256 * MIB),
            connections_max=USERS,
            password=generate_password(),
        )
    )
    with _private_folder(place) as sockets:
        data = place / MASTER
        data.mkdir(mode=0o700)
        _give(data)
        engine.initialise(data, sockets)
        server = engine.start(Start(data, sockets, sockets / "server.log", loading=True))
        try:
            Hammer(LocalRunner(), server.url).prepare(SIZE, seed=1, loaders=2)
        finally:
            server.stop()
        yield Master(engine, data)


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
    """

    kind: str
    seed: int
    load_s: float
    cuts: tuple[DriveCut, ...]
    clean: bool
    said: str
    orders: LedgerCounts
    payments: LedgerCounts
    holds: bool
    broken: tuple[int, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong with it, and it proves something."""
        return self.clean and self.holds and not self.broken and self.orders.acknowledged > 0


@dataclass(frozen=True)
class Plan:
    """What a machine is like; `own_log`: the server's log lies on a drive of its own.

    `parent` is where the folders of the machine are made.
    """

    kind: str
    seed: int
    cache_bytes: int = CACHE_BYTES
    own_log: bool = False
    parent: Path = PARENT


class Machine:
    """Drives with file systems, and PostgreSQL on them."""

    def __init__(
        self, master: Master, drives: DriveProgram, mounted: Sequence[MountedDrive]
    ) -> None:
        """The database lies below the first mount already; no server runs."""
        self._engine = master.engine
        self._drives = drives
        self.mounted = tuple(mounted)
        self._data = mounted[0].folder / "data"
        self._place = drives.folder.parent
        self._starts = 0
        self.server: Server | None = None

    @property
    def drives(self) -> DriveProgram:
        """The program that serves the drive."""
        return self._drives

    def start(self) -> Server:
        """Start a server, which recovers where the last one was cut off."""
        self._starts += 1
        log = self._place / f"server-{self._starts}.log"
        self.server = self._engine.start(Start(self._data, self._place, log))
        return self.server

    def cut_under_load(self, seed: int, rule: CutRule, *, is_lying: bool = False) -> Seen:
        """Load, cut, bring everything back in order, and compare."""
        server = self.server or self.start()
        for each in self.mounted if is_lying else ():
            each.control.set_fault(each.name, jobs.LyingFlush())
        ledger = self._place / f"{seed}.ledger"
        # Not a moment that some timer of the server or the file system shares.
        load_s = random.Random(seed).uniform(0.2, 2.0)
        with load(server, ledger, seed) as working:
            working.wait(load_s)
            memory = server.shared_memory()
            cuts = cut_power(self.mounted, rule, lambda: find_pids_inside(self._data, PROGRAM))
        server.stop()
        self.server = None
        remove_segment(memory)
        return self._compared(Cut(seed, load_s, cuts), ledger)

    def _compared(self, cut: "Cut", ledger: Path) -> Seen:
        restore_power(self.mounted)
        checked = [check_file_system(each) for each in self.mounted]
        hammer = Hammer(LocalRunner(), self.start().url)
        verified = hammer.verify_ledger(SIZE, ledger).summary
        broken = hammer.check(SIZE, quick=True, after_load=False).broken
        ledger.unlink()
        return Seen(
            kind=self.mounted[0].kind,
            seed=cut.seed,
            load_s=cut.load_s,
            cuts=cut.drives,
            clean=all(each.clean for each in checked),
            said="\n".join(each.text for each in checked if not each.clean),
            orders=verified.entries["order"],
            payments=verified.entries["payment"],
            holds=verified.holds,
            broken=broken,
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
        _copy(master.data, mounted)
        for name in names:
            drives.control.set_fault(name, UNSTEADY)
        made = Machine(master, drives, mounted)
        stack.callback(made.stop)
        yield made


def _mounted(drives: DriveProgram, name: str, folder: Path, kind: str) -> MountedDrive:
    device = drives.devices[name]
    filesystems.make(device, kind)
    folder.mkdir()
    filesystems.mount(device, folder, kind)
    return MountedDrive(drives.control, name, device, folder, kind)


def _copy(master: Path, mounted: Sequence[MountedDrive]) -> None:
    """Put a copy of the database on the first drive, and its log on the second, if there is one."""
    data = mounted[0].folder / "data"
    data.mkdir(mode=0o700)
    copy_tree(master, data)
    for each in mounted[1:]:
        log = each.folder / "log"
        log.mkdir(mode=0o700)
        copy_tree(data / "pg_wal", log)
        shutil.rmtree(data / "pg_wal")
        (data / "pg_wal").symlink_to(log)
    for each in mounted:
        sync_filesystem(each.folder)


class Load:
    """A hammer that works in a thread of its own."""

    def __init__(self, server: Server, ledger: Path, seed: int) -> None:
        """It begins at once."""
        self._works = threading.Event()
        self._stop = threading.Event()
        self._committed = 0
        self._failure: StithyError | None = None
        request = RunRequest(seed=seed, users=USERS, ramp_up_s=0.0, duration_s=600.0, ledger=ledger)
        watch = ProgressWatch(on_message=self._heard, stop=self._stop)
        hammer = Hammer(LocalRunner(), server.url)
        self._thread = threading.Thread(target=self._run, args=(hammer, request, watch))
        self._thread.start()

    def _run(self, hammer: Hammer, request: RunRequest, watch: ProgressWatch) -> None:
        try:
            hammer.run(SIZE, request, watch=watch)
        except StithyError as error:
            self._failure = error
        self._works.set()

    def _heard(self, message: AnyMessage) -> None:
        if isinstance(message, SecondMessage):
            self._committed += sum(each.committed for each in message.transactions)
        if self._committed >= COMMITTED_MIN:
            self._works.set()

    def wait(self, more_s: float) -> None:
        """Wait until something is acknowledged that could be lost, and `more_s`."""
        self._works.wait(START_PATIENCE_S)
        threading.Event().wait(more_s)

    def end(self) -> None:
        """End it; raises what it failed with, which the loss of its server is not."""
        self._stop.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure


@contextmanager
def load(server: Server, ledger: Path, seed: int) -> Iterator[Load]:
    """A hammer at work until the end of the block."""
    working = Load(server, ledger, seed)
    try:
        yield working
    finally:
        working.end()


def rule_of(seed: int) -> CutRule:
    """The cut of a seed: torn at 512 bytes or 4 KiB in turns; now and then all is lost."""
    rule = CutRule(seed, unit_bytes=512 if seed % 2 == 0 else 4096)
    return replace(rule, lost_share=1.0, torn_share=0.0) if seed % 5 == 4 else rule


def sweep(parent: Path) -> None:
    """Remove what killed proofs left below `parent`: servers, mounts, drives and their files."""
    end(find_pids_inside(parent / MASTER, PROGRAM), signal.SIGKILL)
    for place in parent.glob(f"{PREFIX}*"):
        data, drives = place / DRIVE / "data", place / "drives"
        memory = _memory_of(data)
        end(find_pids_inside(data, PROGRAM), signal.SIGKILL)
        remove_segment(memory)
        program.repair(drives)
        for name in (DRIVE, LOG_DRIVE):
            filesystems.unmount(place / name)
        program.remove(drives)
    for each in parent.iterdir():
        shutil.rmtree(each) if each.is_dir() else each.unlink()


def _memory_of(data: Path) -> Mapping[str, str]:
    """What a server that still runs there holds of the machine's memory."""
    pids = find_pids_inside(data, PROGRAM)
    return read_segment_facts(min(pids), data / "postmaster.pid") if pids else {}
