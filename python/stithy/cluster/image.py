"""The image of a volume: its pool by the policy, and its way to a block device.

The kernel's own client is used where it is there. Elsewhere the image goes through a bridge from
QEMU (`drives.bridge`). rbd-fuse drops errors: it is never used.

On that way the kernel asks for zeros by a discard, so a discard of any size must give zeros. librbd
skips parts of 64 KiB unless it is told not to, and QEMU must not ignore discards. A thick image
therefore stays allocated because its file system sends none (`VolumeSpec.whole`).

Ways from an image to a block device by the kernel's own clients: krbd, or nbd with librbd.
Each is used only where the kernel has it by now: no module is loaded. A mapped device is found
again by the name of its image, which no other image has.
"""

import json
import os
import shutil
import signal
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from stithy.cluster import daemons
from stithy.cluster.layout import (
    ENTRY,
    IMAGE,
    IMAGE_CONF,
    METADATA_PGS,
    METADATA_POOL,
    PACKAGES,
    PGS,
    POOL,
    Access,
    ClusterEntry,
    RedundancyPolicy,
    ask_ceph,
    find_program,
    list_folders,
    read_entry,
    run_rbd,
    write_told,
)
from stithy.drives import bridge
from stithy.drives.control import reap_programs
from stithy.errors import InfrastructureError, PreconditionError
from stithy.hosts.devices import read_text
from stithy.hosts.processes import (
    DELETED,
    end,
    find_pids_inside,
    find_pids_within,
    list_program_names,
    resume_processes,
)
from stithy.hosts.runner import Command, LocalRunner

OWN = Access()
"""To a laboratory cluster, in its folder."""

FENCE_S = 600.0
"""Own: the image answers when the cluster has found out which hosts are dead."""

FEATURES = "layering,exclusive-lock"
WHOLE_DISCARDS = ("rbd_skip_partial_discard", "false")
THICK_TIMEOUT_S = 3600.0
"""Every byte of the image is written, as often as the policy says."""


def make(folder: Path, entry: ClusterEntry, policy: RedundancyPolicy, size_bytes: int) -> None:
    """Make the pool or pools of the policy, and the image."""
    pgs = str(PGS)
    if policy.is_coded:
        _create_coded_pool(folder, policy, pgs)
        _make_replicated_pool(folder, METADATA_POOL, str(METADATA_PGS), policy.failures + 1)
    else:
        _make_replicated_pool(folder, POOL, pgs, policy.hosts)
    wanted = {"csum_type": policy.checksum} if policy.checksum != "crc32c" else {}
    if policy.compression != "none":
        wanted |= {"compression_algorithm": policy.compression, "compression_mode": "force"}
    for key, value in wanted.items():
        ask_ceph(folder, "osd", "pool", "set", POOL, key, value)
    image = f"{entry.pool}/{entry.image}"
    words = ["create", "--size", f"{size_bytes // 2**20}M", "--image-feature", FEATURES]
    words += ["--data-pool", POOL] if policy.is_coded else []
    words += ["--thick-provision", "--no-progress"] if policy.thick else []
    run_rbd(folder, *words, image, timeout_s=THICK_TIMEOUT_S)
    run_rbd(folder, "config", "image", "set", image, *WHOLE_DISCARDS)


def limit(folder: Path, entry: ClusterEntry, iops: int) -> None:
    """Limit the requests of the image, a second; clients that have it open take that over."""
    image = f"{entry.pool}/{entry.image}"
    run_rbd(folder, "config", "image", "set", image, "rbd_qos_iops_limit", str(iops))


def _create_coded_pool(folder: Path, policy: RedundancyPolicy, pgs: str) -> None:
    shards = [f"k={policy.data_shards}", f"m={policy.failures}", "crush-failure-domain=host"]
    ask_ceph(folder, "osd", "erasure-code-profile", "set", "policy", *shards)
    ask_ceph(folder, "osd", "pool", "create", POOL, pgs, pgs, "erasure", "policy")
    ask_ceph(folder, "osd", "pool", "set", POOL, "allow_ec_overwrites", "true")
    ask_ceph(folder, "osd", "pool", "set", POOL, "min_size", str(policy.min_size))
    ask_ceph(folder, "osd", "pool", "application", "enable", POOL, "rbd")


def _make_replicated_pool(folder: Path, pool: str, pgs: str, count: int) -> None:
    words = ["create", pool, pgs, pgs, "replicated", "--size", str(count)]
    ask_ceph(folder, "osd", "pool", *words)
    ask_ceph(folder, "osd", "pool", "application", "enable", pool, "rbd")


def attach(folder: Path, entry: ClusterEntry, access: Access = OWN) -> str:
    """Make a block device of the image, by the kernel's client where there is one."""
    by_kernel = map_image(entry.pool, entry.image, access, folder, limited=entry.limited)
    if by_kernel:
        return by_kernel
    conf = IMAGE_CONF if access == OWN else write_told(folder, Path(access.conf), access.user)
    node = f"driver=rbd,node-name={bridge.NODE},pool={entry.pool},image={entry.image}"
    options = f"conf={conf},user={access.user},discard=unmap,cache.direct=on"
    return bridge.attach(folder, f"{node},{options}")


def attach_again(folder: Path, entry: ClusterEntry) -> str:
    """Make a block device of a laboratory's image whose client has died with its machine.

    The dead client is fenced, as whoever starts a database elsewhere does: it might only be silent,
    and the cluster would wait for it for 30 s. Raises InfrastructureError.
    """
    cut_image_off(folder, entry)
    detach(folder, [entry.image])
    for name in (bridge.SOCKET, bridge.DEVICE):
        (folder / name).unlink(missing_ok=True)
    shown = run_rbd(folder, "lock", "list", "--format", "json", f"{entry.pool}/{entry.image}",
                    timeout_s=FENCE_S)  # fmt: skip
    for lock in json.loads(shown):
        ask_ceph(folder, "osd", "blocklist", "add", lock["address"])
    return attach(folder, entry)


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

    def explain_unusable(self) -> str | None:
        """Why it cannot be used here; None where it can."""
        if not self.sign.exists():
            return f"the kernel has no {self.kind} now: {self.sign} is not there"
        for name in self.programs:
            try:
                find_program(name)
            except PreconditionError as error:
                return error.text
        return None


KERNELS = (
    Kernel("krbd", Path("/sys/bus/rbd"), ("rbd",), limits=False),
    Kernel("nbd", Path("/sys/module/nbd"), ("rbd", "rbd-nbd"), limits=True),
)
"""In the order in which they are tried."""


def map_image(pool: str, image: str, access: Access, folder: Path, *, limited: bool) -> str | None:
    """The block device of an image by the first client that maps it; None where none does."""
    for kernel in KERNELS:
        if kernel.explain_unusable() is not None or (limited and not kernel.limits):
            continue
        words = access.list_rbd_words(
            "device", "map", "--device-type", kernel.kind, f"{pool}/{image}"
        )
        if (device := _read_output(words, folder)) and os.path.exists(device):
            return device
    return None


def unmap_image(image: str) -> None:
    """Take every device of this image away, without waiting for its cluster. Idempotent."""
    for kind, device in list_devices(image):
        forced = ["-o", "force"] if kind == "krbd" else []
        words = ["device", "unmap", "--device-type", kind, *forced, device]
        _read_output([find_program("rbd"), *words], None)


def list_devices(image: str) -> Iterator[tuple[str, str]]:
    """The devices of an image, with the client of each."""
    for kernel in KERNELS:
        if kernel.explain_unusable() is not None:
            continue
        words = ["device", "list", "--device-type", kernel.kind, "--format", "json"]
        try:
            rows = json.loads(_read_output([find_program("rbd"), *words], None) or "[]")
        except ValueError:
            continue
        for row in rows.values() if isinstance(rows, dict) else rows:
            # The two clients call it otherwise.
            if image in (row.get("name"), row.get("image")):
                yield kernel.kind, str(row["device"])


def _read_output(words: list[str], folder: Path | None) -> str | None:
    """What a program wrote, stripped; None where it failed or did not end."""
    try:
        finished = LocalRunner().run(Command(argv=words, directory=folder), timeout_s=ANSWER_S)
    except InfrastructureError:
        return None
    return finished.stdout.strip() if finished.code == 0 else None


IMAGE_ANSWER_S = 10.0


def remove(folder: Path) -> None:
    """End and remove all that belongs to the cluster in `folder`. Idempotent.

    It may have no entry, or be gone already. Its data are lost: nothing is shut down in order, but
    what the kernel holds is let go first.
    """
    entry, folder = read_entry(folder), folder.resolve()
    tags = {tag for tag, of in daemons.list_tags().items() if of == folder}
    if entry is not None:
        tags.add(entry.tag)
    resume_processes(find_pids(folder))  # one that a fault holds could not answer the last requests
    images = {f"{IMAGE}-{tag}" for tag in tags} | ({entry.image} if entry else set())
    detach(folder, images)
    if entry is not None and entry.access:  # it says goodbye to a cluster that goes on
        end(find_pids_inside(folder, bridge.PROGRAMS[0]), signal.SIGTERM)
    end(find_pids(folder), signal.SIGKILL)
    reap_programs()
    for tag in tags:
        daemons.remove(tag)
    # Its entry last: whoever is killed meanwhile leaves what can be found.
    with suppress(FileNotFoundError):
        for path in folder.iterdir():
            if path.name != ENTRY:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        shutil.rmtree(folder)


def is_alive(folder: Path) -> bool:
    """Whether the cluster's monitor, or what serves its image, is there."""
    return any(find_pids_inside(folder, each) for each in ("ceph-mon", *bridge.PROGRAMS))


def find_pids(folder: Path) -> list[int]:
    """All processes of the cluster, also where its folder was deleted under them.

    A person's shell may work there, too: whatever is no program of a cluster is left alone.
    """
    within = [*find_pids_within(folder), *find_pids_within(Path(f"{folder}{DELETED}"))]
    return [pid for pid in within if not PACKAGES.keys().isdisjoint(list_program_names(pid))]


def find_serving_folder(device: str) -> Path | None:
    """The folder of the cluster whose image is this block device."""
    name = Path(device).name
    if backing := read_text(bridge.BLOCK / name / "loop/backing_file"):
        folder = Path(backing).parent
        return folder if read_entry(folder) is not None else None
    for folder in list_folders():
        if (entry := read_entry(folder)) and device in dict(list_devices(entry.image)).values():
            return folder
    return None


def release_requests(folder: Path) -> None:
    """End what would hold requests of the image back for ever; to be called before unmounting.

    Where an OSD does not serve, the image is cut off: its requests then fail at once.
    """
    resume_processes(find_pids(folder))
    entry = read_entry(folder)
    if entry is None or not _is_answering(folder, entry):
        cut_image_off(folder, entry)


def cut_image_off(folder: Path, entry: ClusterEntry | None) -> None:
    """Let all requests of the image fail at once, whatever becomes of its cluster. Idempotent."""
    for program in bridge.PROGRAMS:
        end(find_pids_inside(folder, program), signal.SIGKILL)
    if entry is not None:
        unmap_image(entry.image)


def _is_answering(folder: Path, entry: ClusterEntry) -> bool:
    if entry.access:
        words = Access(**entry.access).list_rbd_words("ls", entry.pool)
        with suppress(InfrastructureError):
            return LocalRunner().run(Command(argv=words), timeout_s=IMAGE_ANSWER_S).code == 0
        return False
    plugged = (daemons.is_plugged(entry, host) for host in range(1, entry.hosts + 1))
    return all(plugged) and all(daemons.is_serving(folder, osd) for osd, _ in entry.osds)


def detach(folder: Path, images: Iterable[str]) -> None:
    """Take the block devices of these images of the folder away. Idempotent."""
    for image in images:
        for _, device in list_devices(image):
            bridge.unmount_all(device)
        unmap_image(image)
    bridge.detach(folder)
