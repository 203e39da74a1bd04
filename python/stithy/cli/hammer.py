"""`stithy hammer`: the load driver by itself, against any PostgreSQL by URL."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import cyclopts
from cyclopts import Parameter

from stithy.cli import hammer_view
from stithy.cli.render import say, show, show_json
from stithy.cli.until_interrupted import until_interrupted
from stithy.errors import PreconditionError, UserError
from stithy.exits import Exit

if TYPE_CHECKING:
    from stithy.wire.jobs import WorkloadSize
    from stithy.workload.hammer import Hammer

COMMAND = cyclopts.App(help="The load driver by itself, against any PostgreSQL server by URL.")

Url = Annotated[str, Parameter(help="Database, as postgresql://user:password@host:5432/database.")]
Warehouses = Annotated[int | None, Parameter(help="Warehouses; default: as loaded.")]
Json = Annotated[bool, Parameter(name="--json", negative="", help="Print one JSON document.")]
On = Parameter(negative="")


@COMMAND.command
def prepare(
    url: Url,
    *,
    warehouses: int,
    seed: int = 1,
    loaders: int = 2,
    compressible: str | None = None,
    duplicate: str = "0%",
    json: Json = False,
) -> Exit:
    """Create the tables of the order-entry workload in an empty database and load them.

    Refuses a database that holds tables of these names already. It does not create the database.

    Example:

    ```
    stithy hammer prepare postgresql://me:secret@localhost/test --warehouses 10
    ```

    Parameters
    ----------
    warehouses
        Warehouses to load; each takes about 100 MB on disk.
    seed
        Seed of every generated value: the same seed loads the same rows.
    loaders
        Connections that load in parallel.
    compressible
        Share of the text's bytes that compression saves, such as 50%, at least 26%. By default the
        text is random letters and digits, of which it saves a quarter.
    duplicate
        Share of the text's values that have copies elsewhere in the table, such as 10%.
    """
    from stithy.wire.jobs import DataShape
    from stithy.workload.hammer import Watch

    within_bounds(loaders=loaders, seed=seed)
    data = DataShape(
        compressible_percent=None if compressible is None else _percent(compressible),
        duplicate_percent=_percent(duplicate),
    )
    size = _size(warehouses)
    with until_interrupted() as stop:
        watch = Watch(on_message=hammer_view.progress_line(), stop=stop)
        summary = _hammer(url).prepare(size, seed=seed, loaders=loaders, data=data, watch=watch)
    if json:
        show_json(summary.model_dump(mode="json"))
    else:
        show(hammer_view.prepared(summary))
    return Exit.OK


@COMMAND.command
def run(
    url: Url,
    *,
    users: int = 8,
    warehouses: Warehouses = None,
    seed: int = 1,
    ramp_up: str = "5s",
    duration: str = "20s",
    plain_sql: Annotated[bool, On] = False,
    isolation: Literal["read-committed", "repeatable-read"] = "read-committed",
    error_limit: int = 100,
    hlog: Path | None = None,
    ledger: Path | None = None,
    json: Json = False,
) -> Exit:
    """Drive a loaded database with virtual users, and tell how it did.

    Users act back to back. A line a second goes to standard error, a table at the end to standard
    output. This command only measures and judges nothing: the numbers are as good as the machine
    is quiet.

    Example:

    ```
    stithy hammer run postgresql://me:secret@localhost/test --users 16
    ```

    Parameters
    ----------
    users
        Virtual users, each with a connection of its own.
    seed
        Seed of every draw of the users.
    ramp_up
        Time under load before the measurement, such as 5s.
    duration
        Time measured, such as 20s or 2min.
    plain_sql
        Send plain prepared SQL instead of calling the server-side procedures.
    isolation
        Transaction isolation.
    error_limit
        Unexpected errors of the database after which the run is given up.
    hlog
        Keep the latencies as HdrHistogram logs: HLOG.response.hlog, HLOG.service.hlog and
        HLOG.late.hlog.
    ledger
        Keep in this file, which must not exist yet, what was meant and what was acknowledged, for
        `stithy hammer verify-ledger`. It proves the more, the further it lies from the database.
    """
    from stithy.wire.jobs import Isolation
    from stithy.workload.hammer import RunRequest, Watch

    within_bounds(users=users, seed=seed, error_limit=error_limit)
    size = _size(warehouses or _loaded(url))
    with tempfile.TemporaryDirectory() as scratch, until_interrupted() as stop:
        stem = hlog or Path(scratch) / "hammer"
        request = RunRequest(
            seed=seed,
            users=users,
            ramp_up_s=_seconds("--ramp-up", ramp_up),
            duration_s=_measured(duration),
            procedures=not plain_sql,
            isolation=Isolation(isolation),
            error_limit=error_limit,
            hlog_stem=stem,
            ledger=ledger,
        )
        watch = Watch(on_message=hammer_view.second_line(), stop=stop)
        driven = _hammer(url).run(size, request, watch=watch)
        outcome = hammer_view.outcome(driven, stem)
    hammer_view.show_outcome(outcome, as_json=json)
    if stop.is_set():
        return Exit.INTERRUPTED
    return Exit.OK if driven.summary.complete else Exit.INVALID


@COMMAND.command
def check(
    url: Url,
    *,
    warehouses: Warehouses = None,
    quick: Annotated[bool, On] = False,
    after_load: Annotated[bool, On] = False,
    json: Json = False,
) -> Exit:
    """Verify the consistency conditions of the order-entry workload. Changes nothing.

    The exit code is 5 where a condition is broken.

    Example:

    ```
    stithy hammer check postgresql://me:secret@localhost/test
    ```

    Parameters
    ----------
    quick
        Only conditions 1 to 4, which are cheap.
    after_load
        Nothing has run since loading: condition 11 must hold as well.
    """
    from stithy.workload.hammer import Watch

    size = _size(warehouses or _loaded(url))
    with until_interrupted() as stop:
        watch = Watch(on_message=hammer_view.condition_line(), stop=stop)
        checked = _hammer(url).check(size, quick=quick, after_load=after_load, watch=watch)
    if json:
        conditions = [each.model_dump(mode="json") for each in checked.conditions]
        show_json({"conditions": conditions, "broken": list(checked.broken)})
    else:
        show(hammer_view.conditions_text(checked.conditions))
    return Exit.INVALID if checked.broken else Exit.OK


@COMMAND.command(name="verify-ledger")
def verify_ledger(
    url: Url, ledger: Path, *, warehouses: Warehouses = None, json: Json = False
) -> Exit:
    """Prove from a ledger that the database has lost nothing that it acknowledged.

    Tells every order and payment that was acknowledged and is gone, or is otherwise than it was,
    and what became of those that were never answered. Changes nothing. The exit code is 5 where
    something is gone.

    Example: `stithy hammer verify-ledger postgresql://me@/test?host=/run/postgresql run.ledger`

    Parameters
    ----------
    ledger
        The file that `stithy hammer run --ledger` or a study with `ledger: true` wrote.
    """
    from stithy.workload.hammer import Watch

    size = _size(warehouses or _loaded(url))
    with until_interrupted() as stop:
        watch = Watch(on_message=hammer_view.finding_line(), stop=stop)
        verified = _hammer(url).verify_ledger(size, ledger, watch=watch)
    if json:
        findings = [each.model_dump(mode="json") for each in verified.findings]
        show_json({**verified.summary.model_dump(mode="json"), "findings": findings})
    else:
        show(hammer_view.ledger_text(verified.summary))
    return Exit.OK if verified.summary.holds else Exit.INVALID


@COMMAND.command
def calibrate(url: Url, *, connections: int = 32, trial: str = "2s", json: Json = False) -> Exit:
    """Find the highest rate at which this driver, on this host, stays on time.

    The transaction is one that does nothing, so that the driver and the way to the server are
    measured, not the storage. A measurement should ask for less than half of the rate. The database
    may be empty, and nothing is changed in it.

    Example: `stithy hammer calibrate postgresql://me@/test?host=/run/postgresql`

    Parameters
    ----------
    connections
        Connections over which the rate is divided.
    trial
        Time for which each rate is tried, such as 2s.
    """
    from stithy.workload.hammer import Watch

    within_bounds(connections=connections)
    with until_interrupted() as stop:
        watch = Watch(on_message=hammer_view.trial_line(), stop=stop)
        trial_s = _measured(trial, "--trial")
        summary = _hammer(url).calibrate(connections=connections, trial_s=trial_s, watch=watch)
    if json:
        show_json(summary.model_dump(mode="json"))
    else:
        show(hammer_view.calibrated(summary))
    return Exit.OK if summary.rate_per_s_max else Exit.INVALID


def _hammer(url: str) -> "Hammer":
    from stithy.database.engines.postgresql.passfile import with_password
    from stithy.hosts.runner import LocalRunner
    from stithy.secrets import Secret
    from stithy.workload.hammer import Hammer

    return Hammer(LocalRunner(), with_password(Secret(url)))


def _size(warehouses: int) -> "WorkloadSize":
    from stithy.wire.jobs import WorkloadSize

    within_bounds(warehouses=warehouses)
    return WorkloadSize(name="order-entry", warehouses=warehouses)


def _loaded(url: str) -> int:
    from stithy.database.engines.postgresql.connection import parse_url
    from stithy.database.engines.postgresql.loaded import loaded_warehouses
    from stithy.database.engines.postgresql.passfile import with_password
    from stithy.secrets import Secret

    say("looking for what was loaded")
    if (found := loaded_warehouses(with_password(Secret(url)))) is None:
        raise PreconditionError(
            "nothing was loaded into this database",
            where=parse_url(Secret(url)).place,
            remedy="load it with `stithy hammer prepare URL --warehouses N`",
        )
    return found


BOUNDS = {
    "warehouses": (1, 100_000),
    "users": (1, 100_000),
    "loaders": (1, 1_000),
    "connections": (1, 10_000),
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


def _percent(text: str) -> int:
    from stithy.units import parse_percent

    try:
        return parse_percent(text)
    except ValueError as error:
        raise UserError(
            f"{text!r} is not a percentage", where="stithy hammer prepare", remedy=str(error)
        ) from error


def _measured(duration: str, option: str = "--duration") -> float:
    if (seconds := _seconds(option, duration)) > 0:
        return seconds
    raise UserError("nothing would be measured", where=option, remedy="give more than 0 s")


def _seconds(option: str, text: str) -> float:
    from stithy.units import parse_duration

    try:
        return parse_duration(text)
    except ValueError as error:
        raise UserError(
            f"{text!r} is not a duration: {error}", where=option, remedy="write it as 5s or 2min"
        ) from error
