"""`stithy cluster up`: raise a laboratory cluster, and mount its volume."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from stithy.cli.cluster.status import make_cluster_json, make_cluster_text
from stithy.cli.talk.options import Json
from stithy.cli.talk.render import say, show, show_json
from stithy.errors import UserError

if TYPE_CHECKING:
    from stithy.storage.provider import Role
    from stithy.storage.providers.ceph.keys import CephKeys

USUAL_SIZE = "1 GiB"


@Parameter(name="*")
@dataclass(frozen=True)
class ClusterOptions:
    """What the cluster is made of; None: as a study's keys have it by default."""

    hosts: int | None = None
    """Hosts; default: 3, or as many as the policy needs if more."""
    drives_per_host: int | None = None
    """Drives, and OSDs, of each host; default: 1."""
    drive: str | None = None
    """Drive profile, by name or file; default: generic-nvme."""
    cache: str | None = None
    """Profile of a faster drive beside each drive, for its log; default: none."""
    ftt: int | None = None
    """Host failures to tolerate by copies: 0, 1 or 2; default: 1."""
    erasure_coding: Literal["2+1", "3+1", "4+2"] | None = None
    """Shards instead of copies."""
    checksum: Literal["crc32c", "xxhash64", "none"] | None = None
    """The checksum of data; default: crc32c."""
    compression: Literal["none", "lz4", "snappy", "zlib", "zstd"] | None = None
    """Compression by the OSDs; default: none."""
    space: Literal["thin", "thick"] | None = None
    """thick writes the whole image first; default: thin."""
    iops_limit: int | None = None
    """Limit of the volume, requests a second; default: none."""
    network_gbit: float | None = None
    """Bandwidth of each host's link, Gbit/s; default: no limit."""
    heartbeat_grace: str | None = None
    """How long an OSD may be silent until it counts as failed; default: 20 s."""
    size: Annotated[str | None, Parameter(help=f"Size of the volume; default: {USUAL_SIZE}.")] = (
        None
    )
    filesystem: Literal["ext4", "xfs", "btrfs", "none"] | None = None
    """File system of the volume; none leaves the device; default: ext4."""
    scale: str | None = None
    """Scale of IOPS and bandwidth of the drives, such as 1/8."""
    backing: str | None = None
    """Directory for the data of the drives; default: memory."""


POLICY = ("ftt", "erasure_coding", "checksum", "compression", "space", "iops_limit")


def bring_cluster_up(
    candidate: str | None = None,
    /,
    *,
    name: str = "lab",
    how: ClusterOptions = ClusterOptions(),
    json: Json = False,
) -> None:
    """Raise a laboratory cluster of Ceph on this machine, and print the path of its volume.

    Hosts are network namespaces, monitor and OSDs are Ceph's own, drives are emulated. Eight
    writers check the way to the volume before anyone uses it. The cluster runs until `stithy
    cluster down` or a reboot. Its data are lost then. Prints hosts, OSDs, policy and min_size, too.

    Give options, or a candidate of a study, whose data the volume then has room for.

    Examples:

        stithy cluster up
        stithy cluster up --name lab --hosts 4 --erasure-coding 3+1 --size 4GiB
        stithy cluster up studies/ceph-policies.yaml:ec21 --name ec21

    Parameters
    ----------
    candidate
        A candidate of a study with a source `ceph`, as FILE:NAME; default: what the options say.
    name
        Name of the cluster.
    """
    from stithy.drives.program import need_root
    from stithy.run.by_hand import raise_by_hand

    need_root()
    keys, needed = (make_keys(how), {}) if candidate is None else _read_candidate(candidate, how)
    raised = raise_by_hand(name, keys, needed)
    if json:
        show_json(make_cluster_json(raised))
        return
    show(str(raised.path))
    say(make_cluster_text(raised))
    say(f"to remove it: stithy cluster down {raised.name}")


COMMAND = bring_cluster_up


def make_keys(how: ClusterOptions) -> "CephKeys":
    """The options as keys of a study. Raises UserError for what does not go together."""
    from pydantic import ValidationError

    from stithy.storage.providers.ceph.keys import CephKeys, PolicyKeys

    given = {key: value for key, value in vars(how).items() if value is not None}
    policy = {key: given.pop(key) for key in POLICY if key in given}
    if (cache := given.pop("cache", None)) is not None:
        given["cache"] = {"drive": cache}
    try:
        needs = PolicyKeys.model_validate(policy).policy.hosts
        words: dict[str, Any] = {"hosts": max(3, needs), "size": USUAL_SIZE, **given}
        return CephKeys.model_validate({**words, "policy": policy})
    except ValidationError as error:
        first = error.errors()[0]
        options = [f"--{key}".replace("_", "-") for key in first["loc"][-1:]]
        raise UserError(
            first["msg"].rstrip("."),
            where=options[0] if options else "these options",
            remedy="see `stithy cluster up --help`",
        ) from error


def _read_candidate(asked: str, how: ClusterOptions) -> "tuple[CephKeys, dict[Role, int]]":
    from stithy.names import suggest_instead
    from stithy.plan.expand import sum_needed_bytes
    from stithy.storage.providers.ceph.keys import CephKeys
    from stithy.study.load import read_study

    if any(value is not None for value in vars(how).values()):
        raise UserError(
            "a candidate of a study has keys of its own",
            where=asked,
            remedy="leave out the other options, or the candidate",
        )
    file, _, name = asked.rpartition(":")
    if not file:
        remedy = f"write it as FILE:NAME; to name the cluster: --name {asked}"
        raise UserError("this is no candidate of a study", where=asked, remedy=remedy)
    study = read_study(Path(file)).study
    clusters = {
        name: keys
        for name, found in study.candidates.items()
        if isinstance(keys := dict(found.spec).get("ceph"), CephKeys)
    }
    if name not in clusters:
        usual = "name a study with `ceph: …`"
        remedy = suggest_instead(name, list(clusters)) if clusters else usual
        raise UserError("this is no laboratory cluster of the study", where=asked, remedy=remedy)
    return clusters[name], sum_needed_bytes(study)
