"""The image of a volume: its pool by the policy, and its way to a block device.

The kernel's own client is used where it is there. Elsewhere the image goes through QEMU's NBD
export, nbdfuse and a loop device. QEMU's own FUSE export mixes up concurrent writes, and rbd-fuse
drops errors: neither is ever used.

On that way the kernel asks for zeros by a discard, so a discard of any size must give zeros. librbd
skips parts of 64 KiB unless it is told not to, and QEMU must not ignore discards. A thick image
therefore stays allocated because its file system sends none (`VolumeSpec.whole`).

Ways from an image to a block device by the kernel's own clients: krbd, or nbd with librbd.
Each is used only where the kernel has it by now: no module is loaded. A mapped device is found
again by the name of its image, which no other image has.

Whether a block device gives back what was written to it while many write at once.
Bridges from user space to the kernel have mixed up the buffers of concurrent writes. Eight writers
write blocks that no other block equals, and every block is read back. Then the kernel is asked for
zeros in the middle of them, as file systems do: a bridge that makes a discard of this, and drops
discards or skips small ones, leaves old data where a file system counts on zeros.
"""

import ctypes
import json
import mmap
import os
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stithy.clock import SystemClock
from stithy.cluster.daemons import start
from stithy.cluster.layout import METADATA_POOL, POOL, Entry, Policy
from stithy.cluster.tools import IMAGE_CONF, Access, call, ceph, rbd, tool, write_told
from stithy.errors import InfrastructureError, PreconditionError
from stithy.hosts.runner import Command, LocalRunner

PGS = 32
OWN = Access()
"""To a laboratory cluster, in its folder."""

SOCKET = "nbd.sock"
CONNECTIONS = 4
PATIENCE_S = 30.0
FEATURES = "layering,exclusive-lock"
WHOLE_DISCARDS = ("rbd_skip_partial_discard", "false")
THICK_TIMEOUT_S = 3600.0
"""Every byte of the image is written, as often as the policy says."""


def make(folder: Path, entry: Entry, policy: Policy, size_bytes: int) -> None:
    """Make the pool or pools of the policy, and the image."""
    pgs = str(PGS)
    if policy.coded:
        _create_coded_pool(folder, policy, pgs)
        _copies(folder, METADATA_POOL, "8", policy.failures + 1)
    else:
        _copies(folder, POOL, pgs, policy.hosts)
    _qualities(folder, policy)
    image = f"{entry.pool}/{entry.image}"
    words = ["create", "--size", f"{size_bytes // 2**20}M", "--image-feature", FEATURES]
    words += ["--data-pool", POOL] if policy.coded else []
    words += ["--thick-provision", "--no-progress"] if policy.thick else []
    rbd(folder, *words, image, timeout_s=THICK_TIMEOUT_S)
    rbd(folder, "config", "image", "set", image, *WHOLE_DISCARDS)


def limit(folder: Path, entry: Entry, iops: int) -> None:
    """Limit the requests of the image, a second; clients that have it open take that over."""
    image = f"{entry.pool}/{entry.image}"
    rbd(folder, "config", "image", "set", image, "rbd_qos_iops_limit", str(iops))


def _create_coded_pool(folder: Path, policy: Policy, pgs: str) -> None:
    shards = [f"k={policy.data_shards}", f"m={policy.failures}", "crush-failure-domain=host"]
    ceph(folder, "osd", "erasure-code-profile", "set", "policy", *shards)
    ceph(folder, "osd", "pool", "create", POOL, pgs, pgs, "erasure", "policy")
    ceph(folder, "osd", "pool", "set", POOL, "allow_ec_overwrites", "true")
    ceph(folder, "osd", "pool", "set", POOL, "min_size", str(policy.min_size))
    ceph(folder, "osd", "pool", "application", "enable", POOL, "rbd")


def _copies(folder: Path, pool: str, pgs: str, count: int) -> None:
    ceph(folder, "osd", "pool", "create", pool, pgs, pgs, "replicated")
    sure = ["--yes-i-really-mean-it"] if count == 1 else []
    ceph(folder, "osd", "pool", "set", pool, "size", str(count), *sure)
    ceph(folder, "osd", "pool", "set", pool, "min_size", "1")
    ceph(folder, "osd", "pool", "application", "enable", pool, "rbd")


def _qualities(folder: Path, policy: Policy) -> None:
    wanted = {"csum_type": policy.checksum} if policy.checksum != "crc32c" else {}
    if policy.compression != "none":
        wanted |= {"compression_algorithm": policy.compression, "compression_mode": "force"}
    for key, value in wanted.items():
        ceph(folder, "osd", "pool", "set", POOL, key, value)


def attach(folder: Path, entry: Entry, access: Access = OWN, *, limited: bool = False) -> str:
    """Make a block device of the image, by the kernel's client where there is one.

    `limited`: limits of the image must hold.
    """
    by_kernel = mapped(entry.pool, entry.image, access, folder, limited=limited)
    return by_kernel or _bridged(folder, entry, access)


def _bridged(folder: Path, entry: Entry, access: Access) -> str:
    """Through programs, with a client of the cluster in QEMU."""
    node = f"driver=rbd,node-name=image,pool={entry.pool},image={entry.image}"
    own = access == OWN
    conf = IMAGE_CONF if own else write_told(folder, Path(access.conf), access.user)
    return bridge(folder, f"{node},conf={conf},user={access.user},discard=unmap,cache.direct=on")


def bridge(folder: Path, options: str) -> str:
    """The block device of QEMU's node `image`, by its options; all of it is found by `folder`."""
    server = f"addr.type=unix,addr.path={SOCKET},max-connections={4 * CONNECTIONS}"
    export = "type=nbd,id=export,node-name=image,name=image,writable=on"
    words = ["--blockdev", options, "--nbd-server", server, "--export", export]
    start(folder, [tool("qemu-storage-daemon"), *words])
    _wait_for(folder / SOCKET, folder, lambda: (folder / SOCKET).exists())
    file = folder / "device"
    file.touch(mode=0o600)
    address = f"nbd+unix:///image?socket={SOCKET}"
    start(folder, [tool("nbdfuse"), "-C", str(CONNECTIONS), "device", address])
    _wait_for(file, folder, lambda: file.stat().st_size > 0)
    return call(
        [tool("losetup"), "--direct-io=on", "--sector-size", "4096", "-f", "--show", str(file)]
    ).strip()


def _wait_for(what: Path, folder: Path, there: Callable[[], bool]) -> None:
    clock = SystemClock()
    until_s = clock.monotonic_s() + PATIENCE_S
    while not there():
        if clock.monotonic_s() > until_s:
            said = (folder / "errors.txt").read_text(errors="replace").strip().splitlines()[-2:]
            raise InfrastructureError(
                f"{what.name} did not appear" + "".join(f": {each}" for each in said),
                where=str(folder),
                remedy="install what `stithy doctor` says is missing, and try again",
            )
        clock.sleep_s(0.05)


ANSWER_S = 30.0


@dataclass(frozen=True)
class Kernel:
    """A client of the kernel, by the name that `rbd device` has for it.

    `sign` is there where the kernel has it; `limits`: whether limits of the image hold on this way.
    """

    kind: str
    sign: Path
    programs: tuple[str, ...]
    limits: bool

    def why_not(self) -> str | None:
        """Why it cannot be used here; None where it can."""
        if not self.sign.exists():
            return f"the kernel has no {self.kind} now: {self.sign} is not there"
        for name in self.programs:
            try:
                tool(name)
            except PreconditionError as error:
                return error.text
        return None


KERNELS = (
    Kernel("krbd", Path("/sys/bus/rbd"), ("rbd",), limits=False),
    Kernel("nbd", Path("/sys/module/nbd"), ("rbd", "rbd-nbd"), limits=True),
)
"""In the order in which they are tried."""


def mapped(pool: str, image: str, access: Access, folder: Path, *, limited: bool) -> str | None:
    """The block device of an image by the first client that maps it; None where none does."""
    for each in KERNELS:
        if each.why_not() is not None or (limited and not each.limits):
            continue
        words = access.rbd("device", "map", "--device-type", each.kind, f"{pool}/{image}")
        if (device := _said(words, folder)) and os.path.exists(device):
            return device
    return None


def unmap(image: str) -> None:
    """Take every device of this image away, without waiting for its cluster. Idempotent."""
    for kind, device in devices(image):
        words = [tool("rbd"), "device", "unmap", "--device-type", kind, "-o", "force", device]
        _said(words if kind == "krbd" else [*words[:5], device], None)


def devices(image: str) -> Iterator[tuple[str, str]]:
    """The devices of an image, with the client of each."""
    for each in KERNELS:
        if each.why_not() is not None:
            continue
        words = [tool("rbd"), "device", "list", "--device-type", each.kind, "--format", "json"]
        for row in _list_rows(_said(words, None)):
            # The two clients call it otherwise.
            if image in (row.get("name"), row.get("image")):
                yield each.kind, str(row["device"])


def _list_rows(text: str | None) -> list[dict[str, Any]]:
    with suppress(ValueError):
        found = json.loads(text or "[]")
        return list(found.values()) if isinstance(found, dict) else list(found)
    return []


def _said(words: list[str], folder: Path | None) -> str | None:
    """What a program wrote, stripped; None where it failed or did not end."""
    try:
        finished = LocalRunner().run(Command(argv=words, directory=folder), timeout_s=ANSWER_S)
    except InfrastructureError:
        return None
    return finished.stdout.strip() if finished.code == 0 else None


BLOCK_BYTES = 4096
WRITERS = 8
BLOCKS = 64
"""Of each writer."""

ZEROED = range(9, 13)
"""Blocks of which zeros are asked for: fewer than what discards are rounded to, and not aligned."""

PUNCH_HOLE_KEEP_SIZE = 3
"""Which of a block device asks for zeros. Source: fallocate(2), and blkdev_fallocate of Linux."""

_LIBC = ctypes.CDLL(None, use_errno=True)


def check(device: Path) -> None:
    """Raise InfrastructureError where a block comes back as another; what lay there is lost."""
    seed = secrets.token_bytes(16)
    descriptor = os.open(device, os.O_RDWR | os.O_DIRECT)
    try:
        with ThreadPoolExecutor(max_workers=WRITERS) as pool:
            list(pool.map(lambda writer: _write(descriptor, writer, seed), range(WRITERS)))
        os.fsync(descriptor)
        _refuse(_wrong(descriptor, seed), "came back as others than were written", device)
        if _zeros_made(descriptor):
            wrong = _wrong(descriptor, seed, ZEROED)
            _refuse(wrong, "are wrong after zeros were asked for", device)
    finally:
        os.close(descriptor)


def _refuse(wrong: int, how: str, device: Path) -> None:
    if wrong:
        raise InfrastructureError(
            f"{wrong} of {WRITERS * BLOCKS} blocks {how}",
            where=str(device),
            remedy="do not use this way to the image: upgrade QEMU and libnbd, or use a kernel "
            "with rbd",
        )


def _zeros_made(descriptor: int) -> bool:
    """Ask for zeros; False where the device has no such request, and the kernel writes them."""
    begin, size = (ctypes.c_int64(n * BLOCK_BYTES) for n in (ZEROED.start, len(ZEROED)))
    return bool(_LIBC.fallocate(descriptor, PUNCH_HOLE_KEEP_SIZE, begin, size) == 0)


def _pattern(block: int, seed: bytes) -> bytes:
    return (seed + block.to_bytes(16, "big")) * (BLOCK_BYTES // 32)


def _write(descriptor: int, writer: int, seed: bytes) -> None:
    """Every eighth block, so that neighbours are written by others at the same time."""
    with mmap.mmap(-1, BLOCK_BYTES) as buffer:
        for block in range(writer, WRITERS * BLOCKS, WRITERS):
            buffer[:] = _pattern(block, seed)
            os.pwrite(descriptor, buffer, block * BLOCK_BYTES)


def _wrong(descriptor: int, seed: bytes, zeroed: range = range(0)) -> int:
    """How many blocks hold neither what was written nor, those of `zeroed`, zeros."""
    wrong = 0
    with mmap.mmap(-1, BLOCK_BYTES) as buffer:
        for block in range(WRITERS * BLOCKS):
            os.preadv(descriptor, [buffer], block * BLOCK_BYTES)
            right = bytes(BLOCK_BYTES) if block in zeroed else _pattern(block, seed)
            wrong += buffer[:] != right
    return wrong
