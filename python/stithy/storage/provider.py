"""The interface of a storage provider: from a candidate's few lines to volumes and back to nothing.

A provider is one module in `providers/`, with an instance of `Provider` in `PLUGINS`.

What file systems leave of a block device for files is estimated here, on the safe side.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, get_args

from pydantic import BaseModel

from stithy.hosts.runner import Runner
from stithy.registry import Family, Plugin
from stithy.secrets import Secret

if TYPE_CHECKING:
    from stithy.storage.space import Space

Role = Literal["data", "log", "undo", "temp", "backup", "target"]
"""What of a database lies on a volume: its tables, its write-ahead log, older versions of rows,
what it sorts and hashes on storage, its backups, and all of it once it has moved."""

ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True)
class EmulatedDrive:
    """A drive under a volume that a program answers for, as it came up.

    Its name is its role, or `data-1` and on where the role has several. `control` is the program's
    socket. `profile` is the drive profile's text, `assumed` names its
    keys that nobody measured or published; rates and capacity are divided by `scale`. `transport_s`
    is the transport latency, by which answers are made earlier. `log_stem`: stem of its latency
    logs. `traced`: each request of a measurement is recorded.
    """

    name: str
    role: Role
    control: Path
    device: str
    profile_name: str
    title: str
    profile: str
    assumed: tuple[str, ...]
    scale: float
    size_bytes: int
    sector_bytes: int
    backing: str
    seed: int
    transport: str
    transport_s: float
    spin_s: float
    log_stem: Path
    traced: bool = False


@dataclass(frozen=True)
class Array:
    """A layer as it was built: its name, its keys, and the devices under it by kernel name.

    `redundancy`: bytes on the devices for a byte on the layer.
    """

    layer: str
    facts: Mapping[str, str]
    members: tuple[str, ...]
    redundancy: float = 1.0


NOWHERE = Path("/nonexistent")
"""Where nothing is. Source: passwd(5) of Debian, the home of who has none."""


@dataclass(frozen=True)
class Volume:
    """A directory on a candidate's storage that belongs to this run alone.

    It serves every role that `others` does not name. `memory_backed`: its pages are memory (tmpfs),
    so that a memory limit must grow by its size. `devices`: block devices under it, by kernel name,
    as in /proc/diskstats; empty if none. `emulated` are the emulated drives that it lies on,
    `array` is the layer that makes one of several devices. `raw`: a block device without a file
    system, whose node `path` is. `cluster` is the folder of the cluster that serves it, or of the
    way to a cluster that was there, `system` what that is made of. `database` is the URL, password
    included, of one that is there instead of any volume: then `path` is `NOWHERE`, and there are no
    parts.
    """

    path: Path
    filesystem: str
    mount_point: Path
    mount_options: str
    devices: tuple[str, ...]
    memory_backed: bool
    emulated: tuple[EmulatedDrive, ...] = ()
    array: Array | None = None
    raw: bool = False
    cluster: Path | None = None
    system: Array | None = None
    database: Secret | None = None
    others: Mapping[Role, "Volume"] = field(default_factory=dict)

    def get_part(self, role: Role) -> "Volume":
        """The volume of a role: one of `others`, or this one."""
        return self.others.get(role, self)

    @property
    def by_role(self) -> Mapping[Role, "Volume"]:
        """All volumes of the candidate by the first role that each serves, in the usual order."""
        own: dict[Role, Volume] = {} if self.database else {"data": self}
        every = {**own, **self.others}
        return {role: every[role] for role in ROLES if role in every}

    @property
    def parts(self) -> tuple["Volume", ...]:
        """This volume and all others of the candidate."""
        return tuple(self.by_role.values())

    @property
    def clusters(self) -> tuple[Path, ...]:
        """The folders of the clusters under all parts."""
        return tuple(part.cluster for part in self.parts if part.cluster is not None)

    @property
    def drives(self) -> tuple[EmulatedDrive, ...]:
        """The emulated drives under all parts."""
        return tuple(drive for part in self.parts for drive in part.emulated)


@dataclass(frozen=True)
class Room:
    """Room on the file system of a volume to be; volumes with equal `filesystem_id` share it.

    `takes_bytes` is what the volume takes of it however little is written; None: what is written.
    `free_bytes` None: only the machine's memory limits it. `exclusive`: no two can have it.
    """

    filesystem_id: str
    free_bytes: int | None
    memory_backed: bool
    mount_point: Path
    takes_bytes: int | None = None
    exclusive: bool = False


@dataclass(frozen=True)
class Site:
    """What a run offers its providers.

    `needed_bytes`: what each role may come to hold. `logs`: the directory among the results for
    what storage writes about itself. `seeds`: of what the volume of a role draws. `cpus`: the only
    ones that what emulates storage may use, None for any. `role`: the one that the volume is for,
    which a provider need not know but to name what it makes. `less_room`: with what the study would
    need less, as a remedy names it; empty if nothing is known. `keeps_inside`: servers keep copies
    of the database within themselves. `sessions`: the most that users have with a database at once.
    `as_found`: a device that gets no file system keeps what it holds. `settings`: what the study
    asks of the candidate's database. `backs_up`: it is backed up in windows.
    """

    runner: Runner
    needed_bytes: Mapping[Role, int]
    logs: Path
    seeds: Mapping[Role, int]
    cpus: tuple[int, ...] | None = None
    role: Role = "data"
    less_room: str = ""
    keeps_inside: bool = False
    sessions: int = 0
    as_found: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    backs_up: bool = False


Record = Callable[[str, dict[str, str]], object]
"""Writes to the journal, durably, what is about to be made: a kind and its facts."""


class Storage(Protocol):
    """One candidate's storage. What it does not define is of storage that is made anew."""

    def check(self) -> None:
        """Raise PreconditionError if this cannot work; changes nothing."""

    def place(self) -> Path | None:
        """Give the directory that the volume will be, links resolved; None where there is none."""
        return None

    def list_rooms(self) -> Sequence[Room]:
        """Say how much can be written, one a file system; the caller sums up what shares one."""
        return ()

    def list_cautions(self) -> Sequence[str]:
        """List what a person must know before a run, a sentence each, such as what will be lost."""
        return ()

    def describe_identity(self) -> str | None:
        """Say what of the storage must not change while a run goes on, and no boot changes.

        None where the study's lines say all of it.
        """
        return None

    def list_profile_times_s(self) -> Mapping[tuple[str, str], float]:
        """Give the times that emulated drives are asked for, by profile and operation, seconds."""
        return {}

    def find_dead_run(self) -> str | None:
        """Find the id of the dead run that left something here, to be cleaned first."""
        return None

    def find_surviving_volume(self, run_id: str) -> Path | None:
        """Find the volume of a session of this run that ends or did, where it outlives that.

        What lies there is as the session left it. `provision` takes it over, with what it holds.
        """
        return None

    def provision(self, run_id: str, record: Record) -> Volume:
        """Make the volume; everything made is told to `record` before it is made."""
        raise NotImplementedError

    def measure_space(self, volume: Volume) -> "Space":
        """Measure what a part of the volume takes now, one with a file system."""
        raise NotImplementedError

    def keep(self) -> None:
        """Leave the volume in use at the run's end, until `stithy clean`."""
        return

    def release(self) -> None:
        """Give up what this process holds to keep others out. Idempotent."""
        return


@dataclass(frozen=True)
class SetAside:
    """What a study sets aside for a role: bytes on all drives, and of them for a byte of files.

    None where the storage is there already.
    """

    provisioned_bytes: int | None = None
    redundancy: float | None = None


class Provider(Plugin):
    """A kind of storage, as a candidate of a study names it.

    All methods but those that create judge by the study's lines alone: no machine is asked.
    """

    family: ClassVar = Family("storage.providers")

    spec: type[BaseModel]
    """The candidate's mapping in the study file, frozen, without unknown keys. Its module imports
    nothing that touches the machine."""

    handlers: ClassVar[Mapping[str, Callable[[Mapping[str, str]], None]]] = {}
    """How what it makes of a kind of its own is removed, by recorded facts; idempotent."""

    is_by_url: bool = False
    """Whether its candidates are databases that run already, and have no volume."""

    def create(self, spec: Any, candidate: str, site: Site) -> Storage:
        """Create the storage of one role of a candidate; nothing is asked of the machine yet."""
        raise NotImplementedError

    def create_together(
        self, specs: Mapping[Role, Any], candidate: str, site: Site
    ) -> Storage | None:
        """Create the storage of several roles at once; None: each role has its own."""
        return None

    def is_likely_memory(self, spec: Any) -> bool:
        """Whether the pages of its volume are likely memory."""
        return False

    def find_directory(self, spec: Any) -> Path | None:
        """Find the directory of the user's in which its volume lies; None where Stithy makes it."""
        del spec
        return None

    def has_block_device(self, spec: Any) -> bool:
        """Whether the volume is a block device without a file system."""
        return False

    def has_emulated_drives(self, spec: Any) -> bool:
        """Whether CPUs of this machine stand in for its drives."""
        return False

    def name_drives(self, spec: Any) -> tuple[str, ...]:
        """Name its emulated drives, as results know them."""
        return ()

    def count_image_bytes(self, spec: Any, needed_bytes: Mapping[Role, int]) -> int:
        """Count the memory that it takes besides the server's, bytes."""
        return 0

    def count_daemons_bytes(self, spec: Any) -> int:
        """Count the memory of its processes, bytes."""
        return 0

    def set_aside(self, spec: Any, needed_bytes: Mapping[Role, int]) -> SetAside:
        """Give the bytes on all its drives, and how many of them a byte of files takes."""
        return SetAside()

    def is_overlapping(self, spec: Any, other: Any) -> bool:
        """Whether two candidates, or roles of one, stand in the same place."""
        keys = set(self.spec.model_fields)  # neither its cost nor its server makes it another place
        return bool(spec.model_dump(include=keys) == other.model_dump(include=keys))

    def make_like(self, spec: Any, ending: str) -> Any:
        """Make another place like this one, for null studies. Raises UserError if none can be."""
        return spec

    def give_url(self, spec: Any) -> str | None:
        """Give the URL of its database; None for a volume."""
        return None


MIB = 2**20
DEVICE_BYTES_MIN = 64 * MIB
USABLE_SHARE = 0.9
"""What a file system leaves of a device for files; ext4 and XFS take 2 % to 6 % of a small one.
"""

OVERHEAD_BYTES: Mapping[str, int] = {"ext4": 192 * MIB, "xfs": 192 * MIB, "btrfs": 512 * MIB}
"""Journals, and for btrfs chunks of metadata that it keeps twice. What other layers are, as file
systems, take is in their `capacity_bytes`."""

FileSystem = Literal["ext4", "xfs", "btrfs", "none"]
"""`none` stands in a study for a block device that is used as it is."""

NO_FILE_SYSTEM = "none"


def count_usable_bytes(filesystem: str, device_bytes: int) -> int:
    """How much of a device files may take, bytes."""
    if filesystem == NO_FILE_SYSTEM:
        return device_bytes
    return max(0, round(device_bytes * USABLE_SHARE) - OVERHEAD_BYTES.get(filesystem, 0))


def count_device_bytes(filesystem: str, needed_bytes: int) -> int:
    """How large a device is on which files of `needed_bytes` have room, bytes; whole MiB."""
    overhead = OVERHEAD_BYTES.get(filesystem, 0)
    share = 1.0 if filesystem == NO_FILE_SYSTEM else USABLE_SHARE
    wanted = round((needed_bytes + overhead) / share)
    return max(DEVICE_BYTES_MIN, -(-wanted // MIB) * MIB)
