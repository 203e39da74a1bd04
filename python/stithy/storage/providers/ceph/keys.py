"""What a study says about a cluster of Ceph, raised or there; it does not touch the machine."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from stithy.cluster.layout import CODES, GRACE_S, RedundancyPolicy
from stithy.storage import provider
from stithy.storage.providers.drive import MEMORY, Backing, DriveBytes, DriveProfile
from stithy.units import (
    FrozenModel,
    Scale,
    ShownSeconds,
    format_duration,
    limit_quantity,
    make_rule_error,
)

HOSTS_MAX = 12
CACHE_ENDING = "-cache"
"""After the name of the drive that a faster one is beside of."""

NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
THERE = {"conf", "pool", "user", "data_pool", "allow_faults"}
"""Keys of a cluster that is there."""

BOTH = {"size_bytes", "filesystem"}
"""Keys of either kind."""


def read_conf(value: Any) -> Path | None:
    """For pydantic: an absolute path of a file, whether or not it is there."""
    if value is None or isinstance(value, Path):
        return value
    if not isinstance(value, str) or not value.startswith("/") or set(value) & set(", \t\n"):
        raise make_rule_error("not the path of a ceph.conf", "such as /etc/ceph/ceph.conf")
    return Path(value)


def read_name(value: Any) -> str | None:
    """For pydantic: the name of a pool or user, which becomes part of options of programs."""
    if value is None or (isinstance(value, str) and NAME.fullmatch(value)):
        return value
    raise make_rule_error("not such a name", "letters, digits, dots, hyphens, underlines")


Name = Annotated[str | None, BeforeValidator(read_name), WithJsonSchema({"type": "string"})]


class PolicyKeys(FrozenModel):
    """The storage policy of the volume."""

    ftt: int | None = Field(
        default=None,
        ge=0,
        le=2,
        json_schema_extra={"default": "1, without `erasure_coding`"},
        description="Host failures to tolerate by copies: 0, 1 or 2 need 1, 2 or 3 hosts.",
        examples=[1],
    )
    erasure_coding: Literal["2+1", "3+1", "4+2"] | None = Field(
        default=None,
        json_schema_extra={"default": "none"},
        description="Shards of data and of parity in place of copies, each on a host of its own.",
    )
    checksum: Literal["crc32c", "xxhash64", "none"] = Field(
        default="crc32c", description="The checksum that the OSDs keep of data."
    )
    compression: Literal["none", "lz4", "snappy", "zlib", "zstd"] = Field(
        default="none", description="Compression of all data by the OSDs."
    )
    space: Literal["thin", "thick"] = Field(
        default="thin",
        description=(
            "`thick`: the whole image is written when it is made, and nothing of it is given back."
        ),
    )
    iops_limit: int | None = Field(
        default=None,
        ge=1,
        json_schema_extra={"default": "none"},
        description="Limit of the image, requests a second.",
        examples=[2000],
    )

    @model_validator(mode="before")
    @classmethod
    def _refuse_width(cls, value: Any) -> Any:
        """A word of other storage, which Ceph has no choice of."""
        if isinstance(value, dict) and "stripe_width" in value:
            what = "`stripe_width`: Ceph stripes every image over all its drives, 4 MiB on each"
            raise make_rule_error(what, "leave it out")
        return value

    @model_validator(mode="after")
    def _require_one_policy(self) -> Self:
        if self.ftt is not None and self.erasure_coding is not None:
            raise make_rule_error("both copies and shards", "`ftt` or `erasure_coding`")
        if self.space == "thick" and self.compression != "none":
            what = (
                "`space: thick` with `compression` sets nothing aside, as zeros compress to nothing"
            )
            raise make_rule_error(what, "leave one of them out")
        return self

    @property
    def policy(self) -> RedundancyPolicy:
        """What it means for Ceph."""
        if self.erasure_coding is not None:
            shards, failures = CODES[self.erasure_coding]
        else:
            shards, failures = 1, 1 if self.ftt is None else self.ftt
        thick = self.space == "thick"
        return RedundancyPolicy(
            shards, failures, self.checksum, self.compression, thick, self.iops_limit
        )


CACHE_BYTES = 2**30


class CacheKeys(FrozenModel):
    """A faster drive for each OSD: its database, its log, and small writes before they move on."""

    drive: DriveProfile = Field(examples=["generic-nvme"])
    size_bytes: DriveBytes = Field(
        alias="size",
        default=None,
        json_schema_extra={"default": "1 GiB"},
        description="Size of each of these drives, at least 64 MiB.",
        examples=["2 GiB"],
    )


class CephKeys(FrozenModel):
    """The hosts, their drives, and the policy; or a cluster that is there, by its `conf`."""

    conf: Annotated[Path | None, BeforeValidator(read_conf), WithJsonSchema({"type": "string"})] = (
        Field(
            default=None,
            json_schema_extra={"default": "none, a laboratory cluster is raised"},
            description=(
                "The ceph.conf of a cluster that is there. An image is made in `pool`, and "
                "removed after the run. Of the other keys only `user`, `data_pool`, "
                "`allow_faults`, `size` and `filesystem` go with it."
            ),
        )
    )
    pool: Name = Field(
        default=None,
        json_schema_extra={"default": "required with conf"},
        description="The pool of the image, on the cluster of `conf`.",
    )
    user: Name = Field(
        default=None,
        json_schema_extra={"default": "admin"},
        description="The user of that cluster, without `client.`; the keyring is as `conf` says.",
    )
    data_pool: Name = Field(
        default=None,
        json_schema_extra={"default": "that pool itself"},
        description="The pool of the image's data, where that one is erasure-coded.",
    )
    allow_faults: bool = Field(
        default=False,
        description=(
            "Whether the scenario `failure` may mark OSDs of that cluster down or out, and back."
        ),
    )
    hosts: int = Field(
        default=3,
        ge=1,
        le=HOSTS_MAX,
        description="Hosts, each a network namespace of this machine.",
    )
    drives_per_host: int = Field(default=1, ge=1, le=8, description="Drives, and OSDs, of a host.")
    drive: DriveProfile = Field(default="generic-nvme")
    cache: CacheKeys | None = Field(
        default=None,
        json_schema_extra={"default": "none"},
        description=(
            "A faster drive beside each drive, as in a disk group: the OSD's database and log lie "
            "on it, and writes of up to 64 KiB are acknowledged by it before they move on."
        ),
    )
    policy: PolicyKeys = Field(
        default=PolicyKeys(),
        json_schema_extra={"default": "{ftt: 1}"},
        description="The storage policy of the volume.",
    )
    network_gbit: float | None = Field(
        default=None,
        gt=0,
        le=1000,
        json_schema_extra={"default": "no limit"},
        description="Bandwidth of each host's link, Gbit/s in each direction, before `scale`.",
        examples=[10],
    )
    heartbeat_grace_s: Annotated[ShownSeconds, limit_quantity(2, 3600, format_duration)] = Field(
        alias="heartbeat_grace",
        default=GRACE_S,
        json_schema_extra={"default": "20 s"},
        description=(
            "How long an OSD may be silent before others report it as failed; about as long, and "
            "some seconds more, users wait where a host falls silent."
        ),
        examples=["5 s"],
    )
    size_bytes: DriveBytes = Field(
        alias="size",
        default=None,
        json_schema_extra={"default": "the space that the plan needs"},
        description="Size of the volume, at least 64 MiB. Its drives are as large as it needs.",
        examples=["8 GiB"],
    )
    filesystem: Literal["ext4", "xfs", "btrfs", "none"] = Field(
        default="ext4", description="The file system that Stithy makes on it; `none` for none."
    )
    scale: Scale = Field(
        default=1.0,
        json_schema_extra={"default": "1"},
        description=(
            "Scale model: IOPS and bandwidth of the drives and bandwidth of links are multiplied "
            "by this."
        ),
        examples=["1/8"],
    )
    backing: Backing = Field(
        default=None,
        json_schema_extra={"default": MEMORY},
        description="Where the drives keep their data: `memory`, or a directory.",
        examples=["/var/tmp"],
    )

    @model_validator(mode="after")
    def _require_one_cluster(self) -> Self:
        """Either a cluster that is there, or what one is raised of."""
        given = self.model_fields_set
        wrong = given - THERE - BOTH if self.conf is not None else given & THERE
        if wrong:
            with_or_without = "with" if self.conf is not None else "without"
            right = "keys of a cluster that is there, or of one to be raised"
            raise make_rule_error(f"`{min(wrong)}` {with_or_without} `conf`", right)
        if self.conf is not None and self.pool is None:
            raise make_rule_error("`conf` without `pool`", "name the pool of the image")
        return self

    @model_validator(mode="after")
    def _require_enough_hosts(self) -> Self:
        policy = self.policy.policy
        if self.hosts < policy.hosts:
            hosts = "1 host" if self.hosts == 1 else f"{self.hosts} hosts"
            raise make_rule_error(
                f"{policy} cannot be kept on {hosts}", f"at least {policy.hosts} hosts"
            )
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """What all its drives are called, those of the cache after the others."""
        if self.conf is not None:
            return ()
        return (
            *self.osd_names,
            *(f"{osd_name}{CACHE_ENDING}" for osd_name in self.osd_names if self.cache),
        )

    @property
    def osd_names(self) -> tuple[str, ...]:
        """Of the data: `data-host1`, or `data-host1-2` where a host has several."""
        several = self.drives_per_host > 1
        return tuple(
            f"data-host{host}-{number}" if several else f"data-host{host}"
            for host in range(1, self.hosts + 1)
            for number in range(1, self.drives_per_host + 1)
        )

    @property
    def link_gbit(self) -> float | None:
        """The bandwidth of each host's link in the scale model; None for no limit."""
        return None if self.network_gbit is None else self.network_gbit / self.scale

    def count_volume_bytes(self, needed_bytes: int) -> int:
        """How large the image is, bytes."""
        return self.size_bytes or provider.count_device_bytes(self.filesystem, needed_bytes)

    def count_drive_bytes(self, needed_bytes: int) -> int:
        """How large each drive is, bytes."""
        image_bytes, count = self.count_volume_bytes(needed_bytes), len(self.osd_names)
        return self.policy.policy.count_drive_bytes(image_bytes, count)

    def count_bytes_by_drive(self, needed_bytes: int) -> dict[str, int]:
        """How large every drive is, by its name."""
        found = dict.fromkeys(self.osd_names, self.count_drive_bytes(needed_bytes))
        beside = [name for name in self.names if name not in found]
        each_bytes = (self.cache.size_bytes or CACHE_BYTES) if self.cache else 0
        return found | dict.fromkeys(beside, each_bytes)

    def name_profile(self, name: str) -> str:
        """The drive profile of a drive, by its name."""
        return self.cache.drive if self.cache and name.endswith(CACHE_ENDING) else self.drive


class CephSpec(FrozenModel):
    """A candidate on a cluster of Ceph."""

    ceph: CephKeys = Field(
        description="A laboratory cluster on this machine, or a cluster that is there."
    )
