"""What the storage of a candidate takes of this machine, by the lines of its study alone."""

from collections.abc import Mapping
from typing import Any

from stithy.storage.provider import Role, SetAside
from stithy.study.sections import Candidate


def image_bytes(candidate: Candidate, needed_bytes: Mapping[Any, int]) -> int:
    """The memory that a candidate's storage takes besides the server's, by its lines alone, bytes.

    `needed_bytes`: what each role may come to hold.
    """
    return sum(
        source.kind.count_image_bytes(source.spec, _shift_needed(needed_bytes, role))
        for role, source in candidate.sources.items()
    )


def daemons_bytes(candidate: Candidate) -> int:
    """The memory that a candidate's storage takes for its own processes, bytes."""
    return sum(each.kind.count_daemons_bytes(each.spec) for each in candidate.sources.values())


def _shift_needed(needed_bytes: Mapping[Any, int], role: Role) -> dict[Any, int]:
    """What roles come to hold for a source that holds one of them as if it were the data."""
    return {**needed_bytes, "data": needed_bytes[role]}


def set_aside(candidate: Candidate, needed_bytes: Mapping[Any, int]) -> Mapping[str, SetAside]:
    """Give what a candidate sets aside, by the role of each volume, by its lines alone."""
    return {
        role: source.kind.set_aside(source.spec, _shift_needed(needed_bytes, role))
        for role, source in candidate.sources.items()
    }
