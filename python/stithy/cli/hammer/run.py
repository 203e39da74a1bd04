"""`stithy hammer run`: drive a database that is there, and tell how it did."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from stithy.cli.hammer import options, outcome
from stithy.cli.hammer.driving import Driving, driven_so
from stithy.cli.hammer.options import Url, Warehouses
from stithy.cli.talk.options import Json, On, read_measured, read_seconds
from stithy.cli.talk.render import say
from stithy.cli.talk.until_interrupted import until_interrupted
from stithy.exits import Exit

if TYPE_CHECKING:
    from stithy.wire.messages import RunSummary

DRIVING = Driving()


def run(
    url: Url,
    *,
    users: int = 8,
    driving: Driving = DRIVING,
    warehouses: Warehouses = None,
    seed: int = 1,
    ramp_up: str = "5s",
    duration: str = "20s",
    plain_sql: Annotated[bool, On] = False,
    isolation: Literal["read-committed", "repeatable-read", "serializable"] = "read-committed",
    error_limit: int = 100,
    hlog: Path | None = None,
    ledger: Path | None = None,
    json: Json = False,
) -> Exit:
    """Drive a loaded database with virtual users, and tell how it did.

    Users act back to back, unless `--pace` or `--rate` says otherwise. A line a second goes to
    standard error, a table at the end to standard output. This command only measures and judges
    nothing: the numbers are as good as the machine is quiet.

    Examples:

    ```
    stithy hammer run postgresql://me:secret@localhost/test --users 16
    stithy hammer run postgresql://me:secret@localhost/test --rate 500/s
    ```

    Parameters
    ----------
    users
        Virtual users; at a rate, connections.
    seed
        Seed of every draw of the users.
    ramp_up
        Time under load before the measurement, such as 5s.
    duration
        Time measured, such as 20s or 2min.
    plain_sql
        Send plain prepared SQL instead of calling the server-side procedures.
    isolation
        Transaction isolation. The specification asks for repeatable-read or serializable.
    error_limit
        Unexpected errors of the database after which the run is given up.
    hlog
        Keep the latencies as HdrHistogram logs: HLOG.response.hlog, HLOG.service.hlog and
        HLOG.late.hlog, and HLOG.pool-wait.hlog where users share connections.
    ledger
        Keep in this file, which must not exist yet, what was meant and what was acknowledged, for
        `stithy hammer verify-ledger`. It proves the more, the further it lies from the database.
    """
    from stithy.wire.jobs import Isolation
    from stithy.workload.program import RunRequest, Watch

    options.within_bounds(users=users, seed=seed, error_limit=error_limit)
    size = options.size(warehouses or options.loaded(url))
    with tempfile.TemporaryDirectory() as scratch, until_interrupted() as stop:
        stem = hlog or Path(scratch) / "hammer"
        plain = RunRequest(
            seed=seed,
            users=users,
            ramp_up_s=read_seconds(ramp_up, "--ramp-up"),
            duration_s=read_measured(duration),
            procedures=not plain_sql,
            isolation=Isolation(isolation),
            error_limit=error_limit,
            hlog_stem=stem,
            ledger=ledger,
        )
        request = driven_so(plain, driving, size.warehouses)
        watch = Watch(on_message=outcome.second_line(), stop=stop)
        driven = options.hammer(url).run(size, request, watch=watch)
        shown = outcome.outcome(driven, request, stem)
    outcome.show_outcome(shown, as_json=json)
    if stop.is_set():
        return Exit.INTERRUPTED
    return Exit.OK if _is_valid(driven.summary) else Exit.INVALID


def _is_valid(summary: "RunSummary") -> bool:
    """Whether the run went to its end with a server; tells where that went away and stayed away."""
    connections = summary.connections
    if gone := connections.lost - connections.reopened >= connections.opened > 0:
        say(
            "error: the server went away during the run and had not come back at its end: "
            "see the server's log for why it stopped, and run again"
        )
    return summary.complete and not gone


COMMAND = run
