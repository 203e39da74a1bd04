"""The volumes of a candidate that block I/O uses at once, as a study writes them, and their files.

A number stands for so many files on the candidate's main volume, as a hypervisor has virtual disks.
Roles stand for the volumes that serve them; a role named twice has two files there.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from stithy.storage.provider import ROLES, Role
from stithy.study.problems import make_rule_error

VOLUMES_MOST = 64
VOLUMES_RIGHT = f"a number from 1 to {VOLUMES_MOST}, or roles such as [data, log]"

File = tuple[Role, int]
"""What is read and written of a role: its number, from 1."""


def read_volumes(value: Any) -> tuple[Role, ...]:
    """The role of each volume, in the study's order. Raises what a study file's reader understands.

    A text joins roles, as `vary` has them: `data+log`.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        named: Sequence[Any] = ["data"] * min(value, VOLUMES_MOST + 1)
    elif isinstance(value, str):
        named = [each.strip() for each in value.split("+")]
    else:
        named = value if isinstance(value, list | tuple) else []
    if not 0 < len(named) <= VOLUMES_MOST or any(each not in get_args(Role) for each in named):
        raise make_rule_error("not volumes", VOLUMES_RIGHT)
    return tuple(named)


def write_volumes(roles: Sequence[Role]) -> int | list[Role]:
    """As short as a study can say it."""
    return len(roles) if set(roles) == {"data"} else list(roles)


def list_files(roles: Iterable[Role]) -> tuple[File, ...]:
    """A file for each volume, those of a role numbered."""
    seen: dict[Role, int] = {}
    found: list[File] = []
    for role in roles:
        seen[role] = seen.get(role, 0) + 1
        found.append((role, seen[role]))
    return tuple(found)


def name_files(roles: Iterable[Role]) -> tuple[str, ...]:
    """What each volume is called in results: `data`, `data-2`, `log`."""
    return tuple(role if number == 1 else f"{role}-{number}" for role, number in list_files(roles))


def merge_volumes(every: Sequence[Sequence[Role]]) -> tuple[Role, ...]:
    """Each role as often as any of several lists has it."""
    most = {role: max(each.count(role) for each in every) for role in ROLES}
    return tuple(role for role in ROLES for _ in range(most[role]))


def count_on_volumes(roles: Iterable[Role], own: Iterable[Role]) -> Mapping[Role, int]:
    """How many files lie on the volume of each role, where only `own` have volumes of their own.

    The volume of the data serves all other roles.
    """
    held = list(own)
    found: dict[Role, int] = {}
    for role in roles:
        place: Role = role if role in held else "data"
        found[place] = found.get(place, 0) + 1
    return found
