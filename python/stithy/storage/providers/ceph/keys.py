"""What a study says about a laboratory cluster of Ceph; it does not touch the machine."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    field_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from stithy.cluster import cluster
from stithy.cluster.policy import CODES, Policy
from stithy.storage import sizes
from stithy.storage.providers.drive.keys import MEMORY, read_backing, read_profile, read_size
from stithy.units import BytesOrNone, Scale, format_scale, format_size

HOSTS_MAX = 12


class PolicyKeys(BaseModel):
    """The storage policy of the volume."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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
        default="thin", description="Whether the whole image is written when it is made."
    )
    iops_limit: int | None = Field(
        default=None,
        ge=1,
        json_schema_extra={"default": "none"},
        description="Limit of the image, requests a second.",
        examples=[2000],
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.ftt is not None and self.erasure_coding is not None:
            context = {"what": "both copies and shards", "right": "`ftt` or `erasure_coding`"}
            raise PydanticCustomError("rule", "{what}: {right}", context)
        return self

    @property
    def policy(self) -> Policy:
        """What it means for Ceph."""
        if self.erasure_coding is not None:
            shards, failures = CODES[self.erasure_coding]
        else:
            shards, failures = 1, 1 if self.ftt is None else self.ftt
        thick = self.space == "thick"
        return Policy(shards, failures, self.checksum, self.compression, thick, self.iops_limit)


class CephKeys(BaseModel):
    """The hosts, their drives, and the policy."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hosts: int = Field(
        default=3,
        ge=1,
        le=HOSTS_MAX,
        description="Hosts, each a network namespace of this machine.",
    )
    drives_per_host: int = Field(default=1, ge=1, le=8, description="Drives, and OSDs, of a host.")
    drive: Annotated[str, BeforeValidator(read_profile)] = Field(
        default="generic-nvme",
        description="The drive profile: the name of a shipped one, or the path of a file.",
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
        description="Bandwidth of each host's link, Gbit/s in each direction.",
        examples=[10],
    )
    size_bytes: Annotated[BytesOrNone, AfterValidator(read_size)] = Field(
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
        description="Scale model: IOPS and bandwidth of the drives are multiplied by this.",
        examples=["1/8"],
    )
    backing: Annotated[
        Path | None, BeforeValidator(read_backing), WithJsonSchema({"type": "string"})
    ] = Field(
        default=None,
        json_schema_extra={"default": MEMORY},
        description="Where the drives keep their data: `memory`, or a directory.",
        examples=["/var/tmp"],
    )

    @field_serializer("size_bytes")
    def _size_as_written(self, value: int | None) -> str | None:
        return None if value is None else format_size(value)

    @field_serializer("scale")
    def _scale_as_written(self, value: float) -> str:
        return format_scale(value)

    @model_validator(mode="after")
    def _enough_hosts(self) -> Self:
        policy = self.policy.policy
        if self.hosts < policy.hosts:
            context = {
                "what": f"{policy} cannot be kept on {self.hosts} "
                f"host{'' if self.hosts == 1 else 's'}",
                "right": f"at least {policy.hosts} hosts",
            }
            raise PydanticCustomError("rule", "{what}: {right}", context)
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """What its drives are called: `data-host1`, or `data-host1-2` where a host has several."""
        several = self.drives_per_host > 1
        return tuple(
            f"data-host{host}-{number}" if several else f"data-host{host}"
            for host in range(1, self.hosts + 1)
            for number in range(1, self.drives_per_host + 1)
        )

    def volume_bytes(self, needed_bytes: int) -> int:
        """How large the image is, bytes."""
        return self.size_bytes or sizes.device_bytes(self.filesystem, needed_bytes)

    def drive_bytes(self, needed_bytes: int) -> int:
        """How large each drive is, bytes."""
        policy, count = self.policy.policy, len(self.names)
        return cluster.drive_bytes(policy, self.volume_bytes(needed_bytes), count)


class Spec(BaseModel):
    """A candidate on a cluster of Ceph."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ceph: CephKeys = Field(description="A laboratory cluster on this machine.")
