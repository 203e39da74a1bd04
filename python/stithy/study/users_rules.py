"""What of the load goes together, and what contradicts itself: the rules over several keys.

They hold for a study's `load` section and for the options of `stithy hammer run` alike, which have
the same names.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Literal

from stithy.study.wrong import Wrong

HOME_USERS = 10
"""Users at home in each warehouse with keyed pace. Source: TPC-C 5.11, one in each district."""

ProfileName = Literal["specification", "hammerdb"]


@dataclass(frozen=True)
class Asked:
    """What was asked for; `given` names the keys that were written and not left to defaults.

    `users_per_warehouse` None binds nobody, `connections` None gives each user its own. `find_most`
    is where a search ends, None where nothing is searched for.
    """

    users: tuple[int, ...]
    given: frozenset[str]
    connections: int | None
    keyed: bool
    rate_per_s: float | None
    users_per_warehouse: int | None
    touch_percent: int
    profile: ProfileName
    warehouses: int
    find_most: int | None = None
    delivery: Literal["awaited", "deferred"] | None = None

    @property
    def users_max(self) -> int:
        """The most users that there may be."""
        return max((*self.users, self.find_most or 0))

    @property
    def place_of_most(self) -> tuple[str, int]:
        """The key that asks for so many."""
        if self.users_max in self.users:
            return "users", self.users.index(self.users_max)
        return "find_within", 1


def warehouses_touched(touch_percent: int, warehouses: int) -> int:
    """Warehouses in reach: the share rounded up, at least one."""
    return max(1, ceil(warehouses * touch_percent / 100))


def conflicts(asked: Asked) -> Iterator[Wrong]:
    """All that contradicts itself, each at the key to change."""
    yield from _open_loop(asked) if asked.rate_per_s is not None else _closed_loop(asked)
    if asked.profile == "hammerdb" and asked.keyed:
        yield Wrong(
            "HammerDB's mix with the specified waits",
            "its published numbers are of runs without waits: `pace: none`, or leave out `profile`",
            asked.profile,
            ("profile",),
        )


def _open_loop(asked: Asked) -> Iterator[Wrong]:
    if asked.find_most is not None:
        yield Wrong(
            "a search for users at a rate",
            "leave out one of them: at a rate, users are only connections",
            asked.rate_per_s,
            ("rate",),
        )
    if "pace" in asked.given:
        yield Wrong(
            "a rate together with a pace",
            "keep one: at a rate nobody waits for an answer, a pace is that of users who do",
            asked.rate_per_s,
            ("rate",),
        )
    if asked.delivery == "deferred":
        yield Wrong(
            "deferred deliveries in an open loop",
            "leave it out: at a rate nobody waits for an answer",
            asked.delivery,
            ("delivery",),
        )
    if asked.users_per_warehouse is not None and "users_per_warehouse" in asked.given:
        yield Wrong(
            "homes in an open loop",
            "leave it out: at a rate transactions belong to nobody, and draw their warehouses",
            asked.users_per_warehouse,
            ("users_per_warehouse",),
        )
    if asked.connections is not None and len(asked.users) > 1:
        yield Wrong(
            "levels that would all be the same",
            "keep one, or leave out `connections`: at a rate, users are only connections",
            list(asked.users),
            ("users",),
        )


def _closed_loop(asked: Asked) -> Iterator[Wrong]:
    if "arrivals" in asked.given:
        yield Wrong(
            "arrivals without a rate",
            "add `rate`, such as 500/s, or leave it out",
            None,
            ("arrivals",),
        )
    if asked.keyed and asked.delivery == "awaited":
        yield Wrong(
            "users with keyed pace who wait for deliveries",
            "leave it out: the specified waits go with deferred deliveries",
            asked.delivery,
            ("delivery",),
        )
    most, deferred = asked.users_max, asked.keyed or asked.delivery == "deferred"
    # Deferred deliveries need connections beside the users' own.
    if asked.connections is not None and asked.connections > most and not deferred:
        yield Wrong(
            "more connections than users",
            f"at most {most}, because a user has one transaction at a time; or leave it out",
            asked.connections,
            ("connections",),
        )
    if asked.users_per_warehouse is not None:
        yield from _homes(asked, asked.users_per_warehouse)


def _homes(asked: Asked, users_per_warehouse: int) -> Iterator[Wrong]:
    """Every user has a home within reach."""
    reach = warehouses_touched(asked.touch_percent, asked.warehouses)
    most = asked.users_max
    if most <= reach * users_per_warehouse:
        return
    needed = ceil(most / reach)
    if most <= asked.warehouses * users_per_warehouse:
        share = ceil(100 * ceil(most / users_per_warehouse) / asked.warehouses)
        yield Wrong(
            f"too few homes in reach for {most} users",
            f"at least {share}%, or `users_per_warehouse: {needed}`",
            f"{asked.touch_percent}%",
            ("touch",),
        )
        return
    yield Wrong(
        "more users than homes",
        f"at most {reach * users_per_warehouse} with {reach} warehouses and {users_per_warehouse} "
        f"users at home in each; or `users_per_warehouse: {needed}`, or "
        f"{ceil(most / users_per_warehouse)} warehouses in reach",
        most,
        asked.place_of_most,
    )
