"""An image of a cluster that is there as storage: made for a run, and removed after it.

The cluster itself is never changed otherwise. Nothing is known of its drives and daemons.

What a cluster that is there says of a pool: what it stores, whether it compresses, copies.
Its books are of whole pools: they tell the space of an image where the pool holds no other.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from stithy.clock import Clock, SystemClock
from stithy.cluster import image, layout
from stithy.cluster.faults import readmit_osds
from stithy.cluster.layout import Access, ClusterEntry, call, find_program
from stithy.drives import bridge
from stithy.errors import InfrastructureError, PreconditionError, give_reason
from stithy.storage.formatted import MadeAnew, VolumeSpec, build_volume, need_rights
from stithy.storage.provider import Record, Room, Site, Volume
from stithy.storage.providers.ceph import laboratory
from stithy.storage.providers.ceph.keys import CephKeys
from stithy.storage.space import Space, drop_figures, give_back, measure_space

PREFIX = "stithy-"
ANSWER_S = 20.0
"""How long a cluster may take to answer."""

WATCHED_S = 40.0
"""A client that was killed counts as one that watches its image for 30 s. Source:
osd_client_watch_timeout of Ceph."""

UNSEEN = "the cluster's books are of all images of the pool: give it an empty pool of its own"
UNTOLD = "the cluster does not tell this user about its pool"
SILENT = "no manager of the cluster says what its pools take, or that goes on changing"

ON_DRIVES = ("physical_bytes", "allocated_bytes")
UNANSWERED = (InfrastructureError, PreconditionError, KeyError, ValueError, StopIteration)


class ExistingStorage(MadeAnew):
    """The image of one candidate."""

    def __init__(self, keys: CephKeys, candidate: str, site: Site) -> None:
        super().__init__(candidate, site)
        assert keys.conf is not None
        assert keys.pool is not None
        self._keys = keys
        self._access = Access(str(keys.conf), keys.user or "admin")
        self._pool = keys.pool
        self._others: str | None = UNTOLD

    def check(self) -> None:
        needed = (
            *laboratory.RIGHTS,
            *laboratory.list_programs("rbd"),
            *laboratory.make_unless_kernel(laboratory.BRIDGE),
        )
        need_rights(needed, "images of Ceph", self._where, laboratory.INSTEAD)
        VolumeSpec((), self._keys.filesystem).check(self._where)
        for pool in filter(None, (self._pool, self._keys.data_pool)):
            self._check_pool(pool)
        laboratory.need_room(self._keys, self._site.needed_bytes["data"], self._where)

    def _check_pool(self, pool: str) -> None:
        try:
            call(self._access.list_rbd_words("ls", pool), timeout_s=ANSWER_S)
        except (InfrastructureError, TimeoutError) as error:
            raise PreconditionError(
                f"the pool {pool} of {self._keys.conf} does not answer: {give_reason(error)}",
                where=self._where,
                remedy=f"try `rbd -c {self._keys.conf} --id {self._access.user} ls {pool}`",
            ) from error

    def list_rooms(self) -> tuple[Room, ...]:
        """The cluster has its own room, which is not asked for."""
        return ()

    def list_cautions(self) -> tuple[str, ...]:
        return (
            f"{self._candidate}: an image is made in the pool {self._pool} of {self._keys.conf}, "
            "and removed after the run; whatever else uses the cluster is in the numbers",
            f"{self._candidate}: its image goes by {laboratory.describe_access(limited=False)}",
        )

    def describe_identity(self) -> str | None:
        with suppress(InfrastructureError, PreconditionError, TimeoutError):
            return f"Ceph {self._ask('fsid')['fsid']}, pool {self._pool}"
        return None

    def provision(self, run_id: str, record: Record) -> Volume:
        """Make the image, attach it, check the way to it, and mount a file system on it."""
        name = f"{PREFIX}{run_id}-{self._candidate}-{self._site.role}"
        self.look_at_pool()
        record("rbd-image", {**asdict(self._access), "pool": self._pool, "image": name})
        words = ["create", "--size", f"{-(-self._volume_bytes // 2**20)}M"]
        words += ["--image-feature", image.FEATURES]
        words += ["--data-pool", self._keys.data_pool] if self._keys.data_pool else []
        call(self._access.list_rbd_words(*words, f"{self._pool}/{name}"))
        whole = ("config", "image", "set", f"{self._pool}/{name}", *image.WHOLE_DISCARDS)
        call(self._access.list_rbd_words(*whole))
        folder = layout.get_folder(f"{self._candidate}.ceph-{self._site.role}", run_id)
        record("cluster", {"folder": str(folder)})
        entry = layout.make_entry(self._candidate, run_id, 0, 0)
        entry = replace(entry, pool=self._pool, image=name, access=asdict(self._access))
        layout.make(folder, entry)
        device = image.attach(folder, entry, self._access)
        bridge.check(Path(device))
        self._make_place(run_id, record)
        asked = VolumeSpec((device,), self._keys.filesystem)
        volume = build_volume(asked, self._place / "data", run_id, record, self._site.runner)
        return replace(volume, cluster=folder)

    def measure_space(self, volume: Volume) -> Space:
        """What the file system says, and the books of the pool, where it has no other image.

        Neither `rbd du` nor `rbd diff` tells what an image takes: both count whole objects of which
        4 KiB were written. What files have left is given back before.
        """
        give_back(volume.mount_point, self._site.runner)
        own = measure_space(volume, self._site.runner, devices_bytes=[self._volume_bytes])
        own = replace(own, physical_bytes=None, redundancy=None, allocated_bytes=None,
                      provisioned_bytes=None)  # fmt: skip
        try:
            redundancy = read_redundancy(self._ask, self._data_pool)
            own = replace(own, below=is_compressing(self._ask, self._data_pool))
            taken, why = self._measure_taken_bytes()
        except (*UNANSWERED, TimeoutError):
            names = ("stored_bytes", "redundancy", "provisioned_bytes", *ON_DRIVES)
            return drop_figures(own, UNTOLD, *names)
        promised = round(self._volume_bytes * redundancy)
        own = replace(own, redundancy=redundancy, provisioned_bytes=promised)
        if taken is not None:
            return replace(own, stored_bytes=round(taken / redundancy), physical_bytes=taken,
                           allocated_bytes=taken)  # fmt: skip
        own = drop_figures(own, why, *ON_DRIVES)
        return drop_figures(own, why, "stored_bytes") if own.below else own

    def _measure_taken_bytes(self) -> tuple[int | None, str]:
        """What the pool takes of all drives, or why that says nothing of the image."""
        names = call(self._access.list_rbd_words("ls", self._pool), timeout_s=ANSWER_S).split()
        if self._others is not None or len(names) != 1:
            return None, self._others or UNSEEN
        return wait_for_used_bytes(self._ask, self._data_pool, SystemClock()), SILENT

    @property
    def _data_pool(self) -> str:
        return self._keys.data_pool or self._pool

    def look_at_pool(self) -> None:
        """Remember why the pools do not speak of this image alone; None where they are empty."""
        self._others = UNTOLD
        with suppress(*UNANSWERED):
            held = [read_used_bytes(self._ask, each) for each in {self._pool, self._data_pool}]
            full = any(file is not None and file >= EMPTY_BYTES for file in held)
            self._others = SILENT if None in held else UNSEEN if full else None

    def _ask(self, *words: str) -> Any:
        access = ["-c", self._access.conf, "--id", self._access.user]
        return json.loads(
            call([find_program("ceph"), *access, *words, "--format", "json"], timeout_s=ANSWER_S)
        )

    @property
    def _volume_bytes(self) -> int:
        return self._keys.count_volume_bytes(self._site.needed_bytes["data"])


def remove_image(facts: Mapping[str, str]) -> None:
    """Remove an image that Stithy made. Idempotent; a client that was killed is waited for.

    Raises PreconditionError where the cluster cannot be asked, since its configuration has gone. A
    cluster of `stithy cluster up` goes with the folder of its configuration, and the image with it.
    """
    access, name = Access(facts["conf"], facts["user"]), facts["image"]
    conf = Path(access.conf)
    if not name.startswith(PREFIX) or not conf.parent.exists():
        return
    if not conf.exists():
        raise PreconditionError(
            f"the image {name} is left: {access.conf} is not there",
            where=f"pool {facts['pool']}",
            remedy="put the file back, and run `stithy clean`",
        )
    clock = SystemClock()
    until_s = clock.monotonic_s() + WATCHED_S
    while name in call(access.list_rbd_words("ls", facts["pool"]), timeout_s=ANSWER_S).split():
        try:
            call(access.list_rbd_words("rm", "--no-progress", f"{facts['pool']}/{name}"))
        except InfrastructureError:
            if clock.monotonic_s() > until_s:
                raise
            clock.sleep_s(1.0)


FAULT = "ceph-fault"
"""How the register calls an OSD that is marked down or out on purpose."""


def list_fault_facts(entry: ClusterEntry, osd: int) -> dict[str, str]:
    """What the register keeps of a fault of an OSD."""
    return {**entry.access, "osd": str(osd)}


def explain_unfit(dump: Mapping[str, Any], osd: int) -> str | None:
    """Say why an OSD cannot have a fault, by what `ceph osd dump` says; None where it can.

    What ends a fault marks it up and in, with the weight 1: one that its administrator wanted
    otherwise would not be as it was.
    """
    known = {each["osd"]: each for each in dump["osds"]}
    if osd not in known:
        return f"the cluster has no osd.{osd}, only {', '.join(map(str, sorted(known)))}"
    state = known[osd]
    if not state["up"] or not state["in"] or "noup" in state["state"]:
        return f"osd.{osd} is down, out or not allowed up already, and not by Stithy"
    if state["weight"] != 1:
        return f"osd.{osd} has the weight {state['weight']:g}, which would be 1 afterwards"
    return None


def end_fault(facts: Mapping[str, str]) -> None:
    """Let the cluster use the OSD again. Idempotent."""
    words = [find_program("ceph"), "-c", facts["conf"], "--id", facts["user"]]
    readmit_osds(lambda *more: call([*words, *more], timeout_s=ANSWER_S), [facts["osd"]])


def is_clean(status: Mapping[str, Any]) -> bool | None:
    """Whether all OSDs that are in serve and all placement groups are clean, as `ceph status` says.

    Others may have been out before. None where the cluster has no manager, which alone knows it.
    """
    if not status["mgrmap"]["available"]:
        return None
    osds, groups = status["osdmap"], status["pgmap"]
    clean = sum(state["count"] for state in groups["pgs_by_state"]
                if state["state_name"].startswith("active+clean"))  # fmt: skip
    everywhere = osds["num_up_osds"] >= osds["num_in_osds"]
    return bool(everywhere and clean == groups["num_pgs"])


Ask = Callable[..., Any]
"""Gives what a command of `ceph`, by its words, answers in JSON. Raises InfrastructureError."""

EMPTY_BYTES = 2**20
"""A pool without images has the names of those that it had."""

REPORTED_S = 6.0
"""OSDs report to the manager every 5 s. Source: mgr_stats_period of Ceph."""

SETTLED_S = 60.0
COMPRESSION = "compression_mode"


def read_redundancy(ask: Ask, pool: str) -> float:
    """Bytes on drives for a byte in a pool: its copies, or the shards of its erasure code."""
    known = next(each for each in ask("osd", "pool", "ls", "detail") if each["pool_name"] == pool)
    if not known["erasure_code_profile"]:
        return float(known["size"])
    code = ask("osd", "erasure-code-profile", "get", known["erasure_code_profile"])
    return (int(code["k"]) + int(code["m"])) / int(code["k"])


def is_compressing(ask: Ask, pool: str) -> bool:
    """Whether a pool compresses, by its own options or those of all OSDs."""
    known = next(each for each in ask("osd", "pool", "ls", "detail") if each["pool_name"] == pool)
    mode = known.get("options", {}).get(COMPRESSION) or ask(
        "config", "get", "osd", f"bluestore_{COMPRESSION}"
    )
    return str(mode) != "none"


def read_used_bytes(ask: Ask, pool: str) -> int | None:
    """What a pool takes of all drives, copies and all; None where no manager says it."""
    if not ask("mgr", "stat").get("available"):
        return None
    pools = {each["name"]: each["stats"] for each in ask("df", "detail")["pools"]}
    return int(pools[pool]["bytes_used"]) if pool in pools else None


def wait_for_used_bytes(ask: Ask, pool: str, clock: Clock) -> int | None:
    """The same once OSDs have reported what was written; None where it goes on changing."""
    until_s, before = clock.monotonic_s() + SETTLED_S, read_used_bytes(ask, pool)
    while before is not None and clock.monotonic_s() < until_s:
        clock.sleep_s(REPORTED_S)
        now = read_used_bytes(ask, pool)
        if now == before:
            return now
        before = now
    return None
