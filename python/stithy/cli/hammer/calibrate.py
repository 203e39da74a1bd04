"""`stithy hammer calibrate`: what the driver on this host can do."""

from typing import TYPE_CHECKING

from stithy.cli.hammer import options
from stithy.cli.hammer.options import PasswordEnv, Url
from stithy.cli.talk.options import Json, read_measured
from stithy.cli.talk.render import format_time_text, make_table, show, show_json
from stithy.errors import Exit

if TYPE_CHECKING:
    from stithy.wire.messages import CalibrateSummary


def calibrate(
    url: Url,
    *,
    password_env: PasswordEnv = None,
    connections: int = 32,
    trial: str = "2s",
    think: str = "21s",
    json: Json = False,
) -> Exit:
    """Find the highest rate, and the most users, at which the driver on this host is on time.

    The transaction does nothing, so the command measures the driver and the connection to the
    server, not the storage. A measurement should need less than half of the result. The database
    may be empty, and nothing in it is changed.

    A trial is on time if nearly all due transactions were done, and started when they were due.
    With trials of 2 s the command takes one to two minutes. The exit code is 5 if the driver was
    late at every rate, as on a busy host.

    Example: `stithy hammer calibrate {local_url}`

    Parameters
    ----------
    connections
        Connections that all users share.
    trial
        Length of each trial of a rate or a number of users, such as 2s.
    think
        Mean time between two transactions of a user, such as 21s: the mean with the keying and
        think times of the specification. `none` tries no users.
    """
    options.require_bounds(connections=connections)
    think_s = None if think == "none" else read_measured(think, "--think")
    trial_s = read_measured(trial, "--trial")
    with options.watch_job({"progress": lambda tried: tried.stage}) as watch:
        driver = options.make_hammer(options.open_database(url, password_env))
        summary = driver.calibrate(
            connections=connections, trial_s=trial_s, think_s=think_s, watch=watch
        )
    if json:
        show_json(summary.model_dump(mode="json"))
    else:
        show(describe_calibration(summary, trial_s))
    return Exit.OK if summary.rate_per_s_max else Exit.INVALID


def describe_calibration(summary: "CalibrateSummary", trial_s: float) -> str:
    """A row a trial of `trial_s`, rates before users, each rising; then the answer."""
    head = ["load", "on time", "done", "lateness p99", "service p50", "driver CPU per transaction"]
    trials = sorted(summary.trials, key=lambda trial: (trial.users or 0, trial.rate_per_s))
    rows = [
        [
            f"{trial.rate_per_s:,.0f}/s" if trial.users is None else f"{trial.users:,} users",
            "yes" if trial.on_time else "NO",
            f"{trial.done / (trial.rate_per_s * trial_s):.1%}",
            format_time_text(trial.lateness_p99_s),
            format_time_text(trial.service_p50_s),
            format_time_text(trial.driver_cpu_s / trial.done if trial.done else None),
        ]
        for trial in trials
    ]
    return f"{make_table(head, rows, '><>>>>')}\n\n{answer(summary)}"


def answer(summary: "CalibrateSummary") -> str:
    """What to stay below, or that nothing was found."""
    from stithy.workloads.words import describe_headroom

    found = describe_headroom(summary.connections, summary.rate_per_s_max)
    if summary.rate_per_s_max is None:
        return found
    users = ""
    if summary.think_s is not None:
        pause = f"with a mean pause of {format_time_text(summary.think_s)}"
        users = f", and late with every number of users {pause}"
        if summary.users_max is not None:
            more = ", the highest number that is tried" if summary.users_limit_reached else ""
            users = f", and with up to {summary.users_max:,} users {pause}{more}"
    return f"{found}{users}; a measurement should need at most half of that"


COMMAND = calibrate
