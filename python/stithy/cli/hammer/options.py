"""Options that the commands of `stithy hammer` share, and what is made of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from stithy.cli.talk.options import require_plugin, require_within, stop_when_interrupted
from stithy.cli.talk.render import say
from stithy.errors import PreconditionError, UserError

if TYPE_CHECKING:
    from pydantic import ValidationError

    from stithy.engines.instance import Endpoint
    from stithy.wire.hammer import Hammer, ProgressWatch
    from stithy.wire.messages import AnyMessage, Warning
    from stithy.workloads.workload import Workload, WorkloadKeys

Url = Annotated[str, Parameter(help="Database, as engine://user:password@host:port/database.")]
PasswordEnv = Annotated[
    str | None,
    Parameter(help="Environment variable that holds the password, for a URL without one."),
]
Size = Annotated[
    str | None,
    Parameter(help="Size of the database, as its workload counts it; default: as loaded."),
]
Named = Annotated[
    str | None, Parameter(name="--workload", help="Name of the workload; default: as loaded.")
]


def make_hammer(database: "Endpoint") -> "Hammer":
    """The hammer against a database."""
    from stithy.hosts.runner import LocalRunner
    from stithy.wire.hammer import Hammer

    return Hammer(LocalRunner(), database.url)


@contextmanager
def watch_job(lines: Mapping[str, Callable[[Any], str | None]]) -> Iterator["ProgressWatch"]:
    """Who listens to a job, until it is interrupted: a person, by a line of each message.

    `lines`: by the kind of a message how it is said; None: not at all.
    """
    from stithy.wire.hammer import ProgressWatch

    def tell(message: "AnyMessage") -> None:
        line = lines.get(message.message)
        if line is not None and (text := line(message)) is not None:
            say(text)

    with stop_when_interrupted() as stop:
        yield ProgressWatch(on_message=tell, stop=stop)


def describe_warning(warning: "Warning") -> str:
    """Something a reader should know."""
    return f"warning: {warning.text}"


def open_database(url: str, password_env: str | None) -> "Endpoint":
    """The database of a URL, by the engine whose URLs begin so. Raises UserError for no URL."""
    from stithy.engines.engine import find_engine_of
    from stithy.secrets import Secret, read_given_secret

    named, password = Secret(url), read_given_secret(password_env, None)
    return find_engine_of(named).connect(named, password)


def read_section(workload: str | None, size: str, keys: Sequence[str] = ()) -> "WorkloadKeys":
    """A workload as a study's section says it; None is the default one.

    `keys`: more of its keys, each as `key=value`. Raises UserError for what it cannot be.
    """
    from pydantic import ValidationError

    from stithy.registry import plugins
    from stithy.workloads.workload import Workload, get_default_workload

    require_plugin(Workload, workload, f"{workload!r} is not a workload", "--workload")
    name = workload or get_default_workload().name
    plugin = plugins(Workload)[name]
    given = {"name": name, **plugin.parse_size(size)}
    for key in keys:
        given |= _read_key(key)
    try:
        return plugin.keys.model_validate(given)
    except ValidationError as error:
        raise _make_key_error(error, plugin, list(plugin.keys.model_fields)) from error


def refuse_unable(workload: str, lack: str) -> UserError:
    """The error for a workload that cannot do what a command is for."""
    remedy = "see what each workload has in docs/reference/study.md"
    return UserError(f"the workload {workload} {lack}", where="--workload", remedy=remedy)


def _read_key(text: str) -> dict[str, object]:
    from stithy.study.document import read_document

    key, equals, value = text.partition("=")
    if not equals:
        remedy = "give a key of the workload and its value, as KEY=VALUE"
        raise UserError(f"{text!r} has no value", where="--set", remedy=remedy)
    document = read_document("--set", f"{key}: {value}")
    if document.problems or not isinstance(document.data, dict):
        raise UserError(f"{text!r} is not a key and its value", where="--set", remedy="quote it")
    return document.data


def _make_key_error(error: "ValidationError", workload: "Workload", known: list[str]) -> UserError:
    """The first thing that is wrong with a section, at the option that says it."""
    from stithy.names import suggest_instead
    from stithy.study.load import describe_error

    first = error.errors(include_url=False)[0]
    key, value = str(first["loc"][0]), first["input"]
    if first["type"] == "extra_forbidden":
        known = [name for name in known if name not in {"name", "data", *dict(workload.size)}]
        what, right = f"{workload.name} has no such key", suggest_instead(key, known, quote="")
    else:
        what, right = describe_error(first, ("workload", *first["loc"]))
        what = f"{what}: {value}"
    where = "--size" if key in dict(workload.size) else f"--set {key}"
    return UserError(what, where=where, remedy=right)


def find_loaded(
    database: "Endpoint", workload: str | None, size: str | None, keys: Sequence[str] = ()
) -> "WorkloadKeys":
    """The same as the options say, or else as the database does.

    Raises PreconditionError where that holds nothing.
    """
    if size is not None:
        return read_section(workload, size, keys)
    say("looking for what was loaded")
    if (found := database.loaded()) is None:
        raise PreconditionError(
            "nothing was loaded into this database",
            where=database.place,
            remedy="load it with `stithy hammer prepare URL --size N`",
        )
    return read_section(workload or found.workload, found.size, keys)


BOUNDS = {
    "users": (1, 100_000),
    "loaders": (1, 1_000),
    "connections": (1, 10_000),
    "seed": (0, 2**64 - 1),
    "error_limit": (0, 2**32 - 1),
}
"""Least and greatest value of each numeric option."""


def require_bounds(**numbers: int | None) -> None:
    """Raise UserError for an option outside its bounds."""
    for name, value in numbers.items():
        require_within(f"--{name.replace('_', '-')}", value, *BOUNDS[name])
