"""Options that the commands of `stithy hammer` share, and what is made of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from stithy.cli.talk.options import require_plugin, until_interrupted, within
from stithy.cli.talk.render import say
from stithy.errors import PreconditionError, UserError

if TYPE_CHECKING:
    from pydantic import ValidationError

    from stithy.engines.instance import Endpoint
    from stithy.wire.hammer import Hammer, Watch
    from stithy.wire.messages import AnyMessage, Warning
    from stithy.workloads.workload import Workload, WorkloadKeys

Url = Annotated[str, Parameter(help="Database, as engine://user:password@host:port/database.")]
PasswordEnv = Annotated[
    str | None,
    Parameter(help="Environment variable that holds the password, for a URL without one."),
]
Size = Annotated[
    int | None,
    Parameter(
        name="--size", help="Size of the database, as its workload counts it; default: as loaded."
    ),
]
Named = Annotated[
    str | None, Parameter(name="--workload", help="Name of the workload; default: as loaded.")
]


def hammer(database: "Endpoint") -> "Hammer":
    """The hammer against a database."""
    from stithy.hosts.runner import LocalRunner
    from stithy.wire.hammer import Hammer

    return Hammer(LocalRunner(), database.url)


@contextmanager
def watching(lines: Mapping[str, Callable[[Any], str | None]]) -> Iterator["Watch"]:
    """Who listens to a job, until it is interrupted: a person, by a line of each message.

    `lines`: by the kind of a message how it is said; None: not at all.
    """
    from stithy.wire.hammer import Watch

    def tell(message: "AnyMessage") -> None:
        line = lines.get(message.message)
        if line is not None and (text := line(message)) is not None:
            say(text)

    with until_interrupted() as stop:
        yield Watch(on_message=tell, stop=stop)


def warning_line(warning: "Warning") -> str:
    """Something a reader should know."""
    return f"warning: {warning.text}"


def open_database(url: str, password_env: str | None) -> "Endpoint":
    """The database of a URL, by the engine whose URLs begin so. Raises UserError for no URL."""
    from stithy.engines.engine import find_engine_of
    from stithy.secrets import Secret, given_secret

    named, password = Secret(url), given_secret(password_env, None)
    return find_engine_of(named).connect(named, password)


def section(workload: str | None, units: int, keys: Sequence[str] = ()) -> "WorkloadKeys":
    """A workload as a study's section says it; None is the first that there is.

    `keys`: more of its keys, each as `key=value`. Raises UserError for what it cannot be.
    """
    from pydantic import ValidationError

    from stithy.registry import plugins
    from stithy.workloads.workload import Workload

    require_plugin(Workload, workload, f"{workload!r} is not a workload", "--workload")
    known = plugins(Workload)
    name = workload or next(iter(known))
    plugin = known[name]
    given = {"name": name, plugin.units: units}
    for key in keys:
        given |= _key(key)
    try:
        return plugin.keys.model_validate(given)
    except ValidationError as error:
        raise _wrong_key(error, plugin, list(plugin.keys.model_fields)) from error


def _key(text: str) -> dict[str, object]:
    """A key and its value, which is written as in a study."""
    from stithy.study.document import read_document

    key, equals, value = text.partition("=")
    if not equals:
        remedy = "give a key of the workload and its value, as KEY=VALUE"
        raise UserError(f"{text!r} has no value", where="--set", remedy=remedy)
    document = read_document("--set", f"{key}: {value}")
    if document.problems or not isinstance(document.data, dict):
        raise UserError(f"{text!r} is not a key and its value", where="--set", remedy="quote it")
    return document.data


def _wrong_key(error: "ValidationError", workload: "Workload", known: list[str]) -> UserError:
    """The first thing that is wrong with a section, at the option that says it."""
    from stithy.names import instead
    from stithy.study.load import said

    first = error.errors(include_url=False)[0]
    key, value = str(first["loc"][0]), first["input"]
    if first["type"] == "extra_forbidden":
        known = [each for each in known if each not in ("name", workload.units, "data")]
        what, right = f"{workload.name} has no such key", instead(key, known, quote="")
    else:
        what, right = said(first, ("workload", *first["loc"]))
        what = f"{what}: {value}"
    where = "--size" if key == workload.units else f"--set {key}"
    return UserError(what, where=where, remedy=right)


def loaded(
    database: "Endpoint", workload: str | None, units: int | None, keys: Sequence[str] = ()
) -> "WorkloadKeys":
    """The same as the options say, or else as the database does.

    Raises PreconditionError where that holds nothing.
    """
    if units is not None:
        return section(workload, units, keys)
    say("looking for what was loaded")
    if (found := database.loaded()) is None:
        raise PreconditionError(
            "nothing was loaded into this database",
            where=database.place,
            remedy="load it with `stithy hammer prepare URL --size N`",
        )
    return section(workload or found.workload, found.units, keys)


BOUNDS = {
    "users": (1, 100_000),
    "loaders": (1, 1_000),
    "connections": (1, 10_000),
    "seed": (0, 2**64 - 1),
    "error_limit": (0, 2**32 - 1),
}
"""Least and greatest value of each numeric option."""


def within_bounds(**numbers: int | None) -> None:
    """Raise UserError for an option outside its bounds."""
    for name, value in numbers.items():
        within(f"--{name.replace('_', '-')}", value, *BOUNDS[name])
