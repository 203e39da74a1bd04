"""A pool of ZFS that Stithy made: asked what it holds, and removed whatever became of it."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from stithy.drives import filesystems
from stithy.errors import InfrastructureError, PreconditionError
from stithy.hosts.devices import mount_of
from stithy.hosts.runner import Command, Runner
from stithy.needs import Package
from stithy.storage.formatted import erase_ends
from stithy.storage.space import Usage

PACKAGE = Package(
    "zfs-dkms zfsutils-linux",
    "zfs",
    found_in="Debian: of the component contrib; Fedora: from OpenZFS's own repository",
)
TIMEOUT_S = 600.0
CLASS = Path("/sys/class/block")
CONTROL = Path("/dev/zfs")
MIRROR, PARITY = re.compile(r"mirror-\d+"), re.compile(r"raidz\d-\d+")
PROPERTIES = ("used", "logicalused", "compressratio")


def done(program: str, words: Sequence[str], name: str, runner: Runner) -> str:
    """What a program wrote about a pool. Raises InfrastructureError where it failed."""
    code, out, errors = _run(program, words, runner)
    if code == 0:
        return out
    said = [line.strip() for line in errors.splitlines() if line.strip()]
    raise InfrastructureError(
        f"`{program} {words[0]}` failed: {'; '.join(said) or 'no reason given'}",
        where=name,
        remedy="check the kernel log (dmesg), `zpool status`, and that its devices are empty",
    )


def _run(program: str, words: Sequence[str], runner: Runner) -> tuple[int, str, str]:
    argv = [filesystems.program_path(program, PACKAGE), *words]
    ended = runner.run(Command(argv=argv, environment={"LC_ALL": "C"}), timeout_s=TIMEOUT_S)
    return ended.code, ended.stdout, ended.stderr


def usage(mount_point: Path, runner: Runner) -> Usage:
    """What all files of a pool take, by its own books, once all of it is written."""
    name = mount_of(mount_point).source.partition("/")[0]
    done("zpool", ["sync", name], name, runner)
    asked = ["get", "-Hp", "-o", "property,value", ",".join(PROPERTIES), name]
    properties = done("zfs", asked, name, runner)
    return parse_usage(done("zpool", ["list", "-Hpv", name], name, runner), properties)


def parse_usage(listed: str, properties: str) -> Usage:
    r"""The books of `zpool list -Hpv` and `zfs get -Hp`: a line each, its words set apart by tabs.

    The pool is the first line, such as `tank 960 96 …`, with `dedupratio` as its ninth word. Those
    below begin with a tab: `mirror-0 480 48 …` counts one copy, `raidz1-0 …` parity, too, and
    devices without such a group what they hold.
    """
    head, *below = listed.splitlines()
    deduplicated = float(head.split("\t")[8].removesuffix("x"))
    told = dict(line.split("\t") for line in properties.splitlines())
    written, ratio = int(told["logicalused"]), float(told["compressratio"].removesuffix("x"))
    physical, one_copy, parity = 0, 0, False
    for group, allocated, count in _list_groups(below):
        parity = parity or bool(PARITY.fullmatch(group))
        physical += allocated * (count if MIRROR.fullmatch(group) else 1)
        one_copy += allocated
    # What `used` says of parity is a guess from large records.
    stored = round((written / ratio if parity else int(told["used"])) / deduplicated)
    redundancy = physical / (stored if parity else one_copy) if physical else 1.0
    return Usage(stored, physical, redundancy, written)


def _list_groups(lines: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Each group of devices: its name, what is allocated of it, and how many devices it has."""
    rows = [line.strip("\t").split("\t") for line in lines]
    heads = [at for at, row in enumerate(rows) if row[2] != "-"]
    for at, end in zip(heads, [*heads[1:], len(rows)], strict=True):
        yield rows[at][0], int(rows[at][2]), end - at - 1


def remove(name: str, devices: Sequence[str], runner: Runner, blocks: Path = CLASS) -> None:
    """Destroy the pool if the kernel has it, and erase its labels wherever they lie.

    Only what carries its name is touched, which no other pool has.
    """
    health = _read_health(runner)
    if health.get(name) == "SUSPENDED":
        raise InfrastructureError(
            "too many of its drives have failed, and ZFS does not let go of it",
            where=name,
            remedy="restart this machine, and clean up again",
        )
    if name in health:
        done("zpool", ["destroy", "-f", name], name, runner)
    for device in map(Path, devices):
        if device.is_block_device():
            erase(name, device.resolve(), runner, blocks)


def _read_health(runner: Runner) -> dict[str, str]:
    """The pools that the kernel has; none where it has no ZFS, nor any program to ask."""
    try:
        code, known, _ = _run("zpool", ["list", "-H", "-o", "name,health"], runner)
    except PreconditionError:
        if CONTROL.exists():
            raise
        return {}
    return dict(line.split("\t") for line in known.splitlines()) if code == 0 else {}


def erase(name: str, device: Path, runner: Runner, blocks: Path) -> None:
    """Erase the labels of a pool on a device; `zpool` makes partitions of a whole disk."""
    if filesystems.tag_on(str(device), "LABEL", runner=runner) == name:
        erase_ends(device)
    for part in sorted((blocks / device.name).glob("*/partition")):
        node = device.parent / part.parent.name
        if filesystems.tag_on(str(node), "LABEL", runner=runner) == name:
            for each in (node, device):
                erase_ends(each)
            done("blockdev", ["--rereadpt", str(device)], name, runner)
