"""Options that the commands of `stithy hammer` share, and what is made of them."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from stithy.cli.talk.render import say
from stithy.errors import PreconditionError, UserError

if TYPE_CHECKING:
    from stithy.database.engine import Endpoint
    from stithy.workload.hammer import Hammer
    from stithy.workload.workloads.order_entry import Choice

Url = Annotated[str, Parameter(help="Database, as engine://user:password@host:port/database.")]
Warehouses = Annotated[int | None, Parameter(help="Warehouses; default: as loaded.")]


def hammer(url: str) -> "Hammer":
    """The hammer against a database; a password may come from the password file."""
    from stithy.hosts.runner import LocalRunner
    from stithy.workload.hammer import Hammer

    return Hammer(LocalRunner(), endpoint(url).url)


def endpoint(url: str) -> "Endpoint":
    """The database of a URL, by the engine whose URLs begin so. Raises UserError for no URL."""
    from stithy.engines import engine_of
    from stithy.registry import part
    from stithy.secrets import Secret

    made: Endpoint = part("engine", engine_of(Secret(url)), "endpoint").endpoint(Secret(url))
    return made


def choice(warehouses: int) -> "Choice":
    """The workload at a size. Raises UserError for one out of bounds."""
    from stithy.workload.workloads.order_entry import Choice

    within_bounds(warehouses=warehouses)
    return Choice(warehouses=warehouses)


def loaded(url: str) -> int:
    """How many warehouses the database holds. Raises PreconditionError where it holds none."""
    say("looking for what was loaded")
    database = endpoint(url)
    if (found := database.loaded_warehouses()) is None:
        raise PreconditionError(
            "nothing was loaded into this database",
            where=database.place,
            remedy="load it with `stithy hammer prepare URL --warehouses N`",
        )
    return found


BOUNDS = {
    "warehouses": (1, 100_000),
    "users": (1, 100_000),
    "loaders": (1, 1_000),
    "connections": (1, 10_000),
    "users_per_warehouse": (1, 100_000),
    "seed": (0, 2**64 - 1),
    "error_limit": (0, 2**32 - 1),
}
"""Least and greatest value of each numeric option."""


def within_bounds(**numbers: int) -> None:
    """Raise UserError for an option outside its bounds."""
    for name, value in numbers.items():
        least, greatest = BOUNDS[name]
        if not least <= value <= greatest:
            raise UserError(
                f"{value} is too {'small' if value < least else 'large'}",
                where=f"--{name.replace('_', '-')}",
                remedy=f"give {least} to {greatest}",
            )
