"""Options of `stithy hammer run` that say when users act, what they share and what they reach.

They have the names, the meanings and the rules of a study's `load` section.
"""

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from stithy.cli.hammer import options
from stithy.cli.talk.options import read_measured, read_percent
from stithy.errors import UserError

if TYPE_CHECKING:
    from stithy.study.wrong import Wrong
    from stithy.wire.jobs import Pace
    from stithy.workload.program import RunRequest


@Parameter(name="*")
@dataclass(frozen=True)
class Driving:
    """When users act, what they share, how much of the data they reach."""

    connections: Annotated[
        int | None,
        Parameter(help="Connections that all users share; default: one for each user."),
    ] = None
    pace: Annotated[
        str | None,
        Parameter(
            help="When users act: none (back to back), keyed (keying and think times as "
            "specified, deliveries deferred), or think:2s; default: none."
        ),
    ] = None
    rate: Annotated[
        str | None,
        Parameter(help="Open loop: so many transactions are due, such as 500/s, answered or not."),
    ] = None
    arrivals: Annotated[
        Literal["poisson", "constant"] | None,
        Parameter(help="How those of a rate follow each other; default: poisson."),
    ] = None
    delivery: Annotated[
        Literal["awaited", "deferred"] | None,
        Parameter(
            help="Whether users wait for deliveries; default: deferred with keyed pace, else "
            "awaited."
        ),
    ] = None
    users_per_warehouse: Annotated[
        int | None,
        Parameter(help="Users at home in each warehouse; default: 10 with keyed pace, else none."),
    ] = None
    touch: Annotated[
        str, Parameter(help="Share of the warehouses that users reach, such as 30%.")
    ] = "100%"
    profile: Annotated[
        Literal["specification", "hammerdb"],
        Parameter(help="Mix and keys: hammerdb draws them as HammerDB does."),
    ] = "specification"


def driven_so(request: "RunRequest", driving: Driving, warehouses: int) -> "RunRequest":
    """The request with these options. Raises UserError for what is wrong or contradicts itself."""
    from stithy.study.users_rules import HOME_USERS, Asked, conflicts, warehouses_touched
    from stithy.wire.jobs import Keyed, Profile, Rate

    for name in ("connections", "users_per_warehouse"):
        if (number := getattr(driving, name)) is not None:
            options.within_bounds(**{name: number})
    pace, touch = _pace(driving), _touch(driving.touch)
    keyed = isinstance(pace, Keyed)
    asked = Asked(
        users=(request.users,),
        given=frozenset(name for name in _MAY_CLASH if getattr(driving, name) is not None),
        connections=driving.connections,
        keyed=keyed,
        rate_per_s=pace.per_s if isinstance(pace, Rate) else None,
        users_per_warehouse=driving.users_per_warehouse or (HOME_USERS if keyed else None),
        touch_percent=touch,
        profile=driving.profile,
        warehouses=warehouses,
        delivery=driving.delivery,
    )
    for wrong in conflicts(asked):
        raise _refusal(wrong)
    reached = warehouses_touched(touch, warehouses)
    return replace(
        request,
        connections=driving.connections,
        pace=pace,
        deferred_delivery=keyed or driving.delivery == "deferred",
        profile=Profile(driving.profile),
        users_per_warehouse=asked.users_per_warehouse,
        warehouses_touched=None if reached == warehouses else reached,
    )


_MAY_CLASH = ("pace", "arrivals", "users_per_warehouse")


def _pace(driving: Driving) -> "Pace":
    from stithy.wire.jobs import Arrivals, BackToBack, Keyed, Rate, Think

    if driving.rate is not None:
        return Rate(per_s=_rate(driving.rate), arrivals=Arrivals(driving.arrivals or "poisson"))
    word, colon, time = (driving.pace or "none").partition(":")
    if word == "think" and colon:
        return Think(mean_s=read_measured(time, "--pace"))
    if word not in ("none", "keyed") or colon:
        raise UserError(
            f"{driving.pace!r} is not a pace",
            where="--pace",
            remedy="give none, keyed, or think: with a time, such as think:2s",
        )
    return Keyed() if word == "keyed" else BackToBack()


def _rate(text: str) -> float:
    from stithy.study.users import RATE_PER_S_MAX, RATE_PER_S_MIN
    from stithy.units import parse_rate

    try:
        per_s = parse_rate(text)
    except ValueError as error:
        raise UserError(f"{text!r} is not a rate", where="--rate", remedy=str(error)) from error
    if not RATE_PER_S_MIN <= per_s <= RATE_PER_S_MAX:
        raise UserError(
            f"{text!r} is too {'small' if per_s < 1 else 'large'}",
            where="--rate",
            remedy=f"give {RATE_PER_S_MIN:g}/s to {RATE_PER_S_MAX:,.0f}/s",
        )
    return per_s


def _touch(text: str) -> int:
    share = read_percent(text, "--touch")
    if share < 1:
        raise UserError("nothing would be reached", where="--touch", remedy="give at least 1%")
    return share


def _refusal(wrong: "Wrong") -> UserError:
    """A broken rule of the study's keys, in words of options."""
    where = "--" + str(wrong.loc[0]).replace("_", "-")
    return UserError(_as_options(wrong.what), where=where, remedy=_as_options(wrong.right))


def _as_options(text: str) -> str:
    """Study keys in backticks as options.

    >>> _as_options("or `users_per_warehouse: 5`")
    'or `--users-per-warehouse 5`'
    """

    def option(match: re.Match[str]) -> str:
        name, value = match[1].replace("_", "-"), match[2]
        return f"`--{name}{' ' + value if value else ''}`"

    return re.sub(r"`(\w+)(?:: ([^`]*))?`", option, text)
