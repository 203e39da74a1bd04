"""What the storage of a candidate takes of this machine, by the lines of its study alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stithy.storage.provider import Role
from stithy.study.sections import Candidate, asked


def image_bytes(candidate: Candidate, needed_bytes: Mapping[Any, int]) -> int:
    """The memory that a candidate's storage takes besides the server's, by its lines alone, bytes.

    `needed_bytes`: what each role may come to hold.
    """
    return sum(
        int(asked(source, "image_bytes", 0, _needed(needed_bytes, role)))
        for role, source in candidate.sources.items()
    )


def daemons_bytes(candidate: Candidate) -> int:
    """The memory that a candidate's storage takes for its own processes, bytes."""
    return sum(int(asked(each, "daemons_bytes", 0)) for each in candidate.sources.values())


def _needed(needed_bytes: Mapping[Any, int], role: Role) -> dict[Any, int]:
    """What roles come to hold for a source that holds one of them as if it were the data."""
    return {**needed_bytes, "data": needed_bytes[role]}


@dataclass(frozen=True)
class SetAside:
    """What a study sets aside for a role: bytes on all drives, and of them for a byte of files.

    None where the storage is there already.
    """

    provisioned_bytes: int | None = None
    redundancy: float | None = None


def set_aside(candidate: Candidate, needed_bytes: Mapping[Any, int]) -> Mapping[str, SetAside]:
    """What a candidate sets aside, by the role of each volume, by its lines alone.

    Its provider says it by `set_aside(spec, needed_bytes)`, as a pair; else the storage is there.
    """
    return {
        role: SetAside(*asked(source, "set_aside", (), _needed(needed_bytes, role)))
        for role, source in candidate.sources.items()
    }
