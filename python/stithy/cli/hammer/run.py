"""`stithy hammer run`: drive a database that is there, and tell how it did.

Its options that say when users act, what they share and reach have the names, meanings and rules of
a study's `load` section.
"""

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from stithy.cli.hammer import options, outcome
from stithy.cli.hammer.options import Named, PasswordEnv, Size, Url
from stithy.cli.talk.options import Json, read, read_measured, read_percent, read_seconds
from stithy.cli.talk.render import say, show, show_json
from stithy.errors import Exit, UserError

if TYPE_CHECKING:
    from stithy.study.problems import Violation
    from stithy.wire.jobs import Pace, RunRequest
    from stithy.wire.messages import RunSummary
    from stithy.workloads.workload import Driving as Driven
    from stithy.workloads.workload import WorkloadKeys


@Parameter(name="*")
@dataclass(frozen=True)
class DrivingOptions:
    """When users act, what they share, and how much of the data they touch."""

    connections: int | None = None
    """Connections that all users share; default: one for each user."""
    pace: str | None = None
    """When users act: none (back to back), keyed (keying and think times as the workload
    specifies), or think:2s; default: none."""
    rate: str | None = None
    """Open loop: transactions due per second, such as 500/s, whether or not earlier ones were
    answered."""
    arrivals: Literal["poisson", "constant"] | None = None
    """With --rate: how arrivals are spaced; default: poisson."""
    touch: str = "100%"
    """Share of the data that users touch, such as 30%."""


def read_driving(
    request: "RunRequest", section: "WorkloadKeys", driving: DrivingOptions
) -> tuple["RunRequest", "Driven"]:
    """The request with these options, and the same as the workload must know it.

    Raises UserError for what is wrong or contradicts itself.
    """
    from stithy.study.load_values import LoadOptions, find_conflicts
    from stithy.study.problems import Violation
    from stithy.study.sections import get_workload
    from stithy.wire.jobs import Keyed, WireRate

    options.require_bounds(connections=driving.connections)
    pace, touch = _read_pace(driving), read_percent(driving.touch, "--touch")
    if touch < 1:
        raise UserError("nothing would be reached", where="--touch", remedy="give at least 1%")
    asked = LoadOptions(
        users=(request.users,),
        given=frozenset(name for name in _MAY_CLASH if vars(driving)[name] is not None),
        connections=driving.connections,
        keyed=isinstance(pace, Keyed),
        rate_per_s=pace.per_s if isinstance(pace, WireRate) else None,
        touch_percent=touch,
        ledger=request.ledger is not None,
    )
    workload = get_workload(section.name)
    defers = workload.defers(section.options(asked.driving))
    for wrong in find_conflicts(asked, defers=defers):
        raise _make_refusal(wrong._replace(loc=("load", *wrong.loc)))
    for misfit in workload.find_misfits(section, asked.driving):
        raise _make_refusal(Violation(*misfit))
    request = request.model_copy(update={"connections": driving.connections, "pace": pace})
    return request, asked.driving


_MAY_CLASH = ("pace", "arrivals")


def _read_pace(driving: DrivingOptions) -> "Pace":
    from stithy.wire.jobs import BackToBack, Keyed, WireRate, WireThink

    if driving.rate is not None:
        return WireRate(per_s=_read_rate(driving.rate), arrivals=driving.arrivals or "poisson")
    word, colon, time = (driving.pace or "none").partition(":")
    if word == "think" and colon:
        return WireThink(mean_s=read_measured(time, "--pace"))
    if word not in ("none", "keyed") or colon:
        remedy = "give none, keyed, or think: with a time, such as think:2s"
        raise UserError(f"{driving.pace!r} is not a pace", where="--pace", remedy=remedy)
    return Keyed() if word == "keyed" else BackToBack()


def _read_rate(text: str) -> float:
    from stithy.study.load_keys import RATE_PER_S_MAX, RATE_PER_S_MIN
    from stithy.units import parse_rate

    per_s = read(parse_rate, text, "--rate", "a rate")
    if not RATE_PER_S_MIN <= per_s <= RATE_PER_S_MAX:
        raise UserError(
            f"{text!r} is too {'small' if per_s < 1 else 'large'}",
            where="--rate",
            remedy=f"give {RATE_PER_S_MIN:g}/s to {RATE_PER_S_MAX:,.0f}/s",
        )
    return per_s


def _make_refusal(wrong: "Violation") -> UserError:
    section, key = map(str, wrong.loc[:2])
    where = _name_option(section == "workload", key)
    return UserError(
        _write_as_options(wrong.what), where=where, remedy=_write_as_options(wrong.right)
    )


def _name_option(of_workload: bool, key: str) -> str:
    return f"--set {key}" if of_workload else f"--{key.replace('_', '-')}"


def _write_as_options(text: str) -> str:
    """Study keys in backticks as options.

    >>> _write_as_options("or `rate: 5/s`, or `workload.rows: 5`")
    'or `--rate 5/s`, or `--set rows=5`'
    """

    def option(match: re.Match[str]) -> str:
        of_workload, key, value = bool(match[1]), match[2], match[3]
        joint = "=" if of_workload else " "
        return f"`{_name_option(of_workload, key)}{joint + value if value else ''}`"

    return re.sub(r"`(?:load\.|(workload\.))?(\w+)(?:: ([^`]*))?`", option, text)


DRIVING = DrivingOptions()


def run(
    url: Url,
    *,
    password_env: PasswordEnv = None,
    users: int = 8,
    driving: DrivingOptions = DRIVING,
    workload: Named = None,
    size: Size = None,
    own: Annotated[tuple[str, ...], Parameter(name="--set")] = (),
    seed: int = 1,
    ramp_up: str = "5s",
    duration: str = "20s",
    isolation: Literal["read-committed", "repeatable-read", "serializable"] = "read-committed",
    error_limit: int = 100,
    hlog: Path | None = None,
    ledger: Path | None = None,
    json: Json = False,
) -> Exit:
    """Drive a loaded database with virtual users, and show the results.

    Users work back to back, unless `--pace` or `--rate` says otherwise. The command prints one line
    per second on standard error, and a table at the end on standard output. It does not judge
    validity: other load on the machine changes the numbers. The exit code is 5 if the database
    answered with an unexpected error, the run was cut short, or connections did not come back.

    Examples:

    ```
    stithy hammer run {url} --users 16
    stithy hammer run {url} --rate 500/s
    ```

    Parameters
    ----------
    users
        Number of virtual users; with `--rate`, the number of connections.
    own
        A key of the study's `workload` section and its value, as KEY=VALUE: see
        docs/reference/study.md. Repeatable.
    seed
        Seed of every random choice of the users.
    ramp_up
        Time under load before the measurement, such as 5s.
    duration
        Length of the measurement, such as 20s or 2min.
    isolation
        Transaction isolation. The specification requires repeatable-read or serializable.
    error_limit
        Number of unexpected database errors after which the run stops.
    hlog
        Write the latencies as HdrHistogram logs: HLOG.response.hlog, HLOG.service.hlog and
        HLOG.late.hlog. If users share connections, also HLOG.pool-wait.hlog.
    ledger
        Write a commit ledger to this file: what was sent, and what was acknowledged, for `stithy
        hammer verify-ledger`. The file must not exist. Put it on another device, or one failure can
        lose both.
    """
    from stithy.engines.engine import find_engine_of
    from stithy.study.sections import get_workload
    from stithy.wire.jobs import RunRequest

    options.require_bounds(users=users, seed=seed, error_limit=error_limit)
    _read_pace(driving)  # refused before a server is asked
    plain = RunRequest(
        seed=seed,
        users=users,
        ramp_up_s=read_seconds(ramp_up, "--ramp-up"),
        duration_s=read_measured(duration),
        isolation=isolation,
        error_limit=error_limit,
        hlog_stem=hlog,
        ledger=ledger,
    )
    database = options.open_database(url, password_env)
    section = options.find_loaded(database, workload, size, own)
    request, so = read_driving(plain, section, driving)
    second = partial(outcome.describe_second, get_workload(section.name).headline)
    with options.watch_job({"second": second, "warning": options.describe_warning}) as watch:
        driven = options.make_hammer(database).run(section.choice(so), request, watch=watch)
    buffers = find_engine_of(database.url).declaration.buffers
    shown = outcome.make_outcome(driven, request, outcome.DrivenWorkload(section, so), buffers)
    if json:
        show_json(outcome.make_outcome_json(shown))
    else:
        show(outcome.make_outcome_text(shown))
    if watch.stop is not None and watch.stop.is_set():
        return Exit.INTERRUPTED
    return Exit.OK if _is_valid(driven.summary) else Exit.INVALID


def _is_valid(summary: "RunSummary") -> bool:
    """Whether the run went to its end, with a server, and without errors; says why not."""
    connections = summary.connections
    if gone := connections.lost - connections.reopened >= connections.opened > 0:
        say(
            "error: the server went away during the run and had not come back at its end: "
            "see the server's log for why it stopped, and run again"
        )
    # Connections that were lost and came back are among the results.
    errors = [error for error in summary.errors if error.kind != "lost"]
    if errors:
        count = sum(error.count for error in errors)
        say(f"error: the database refused {count:,} times unexpectedly, first: {errors[0].text}")
    return summary.complete and not gone and not errors


COMMAND = run
