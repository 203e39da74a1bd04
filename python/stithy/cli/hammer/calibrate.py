"""`stithy hammer calibrate`: what the driver on this host can do."""

from typing import TYPE_CHECKING

from stithy.cli.hammer import options
from stithy.cli.hammer.options import Json, Url
from stithy.cli.hammer.shown import Show, time_text
from stithy.cli.render import Align, say, show, show_json, table
from stithy.cli.until_interrupted import until_interrupted
from stithy.exits import Exit

if TYPE_CHECKING:
    from stithy.wire.messages import AnyMessage, CalibrateSummary


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

    options.within_bounds(connections=connections)
    with until_interrupted() as stop:
        watch = Watch(on_message=trial_line(), stop=stop)
        trial_s = options.measured(trial, "--trial")
        driver = options.hammer(url)
        summary = driver.calibrate(connections=connections, trial_s=trial_s, watch=watch)
    if json:
        show_json(summary.model_dump(mode="json"))
    else:
        show(calibrated(summary))
    return Exit.OK if summary.rate_per_s_max else Exit.INVALID


def trial_line() -> Show:
    """Shows each rate that was tried."""
    from stithy.wire.messages import Progress

    def tell(message: "AnyMessage") -> None:
        if isinstance(message, Progress):
            say(message.stage)

    return tell


def calibrated(summary: "CalibrateSummary") -> str:
    """A row a trial by rising rate, and the answer."""
    head = [
        "transactions a s",
        "on time",
        "lateness p99",
        "service p50",
        "driver CPU a transaction",
    ]
    rows = [
        [
            f"{trial.rate_per_s:,.0f}",
            "yes" if trial.on_time else "NO",
            time_text(trial.lateness_p99_s),
            time_text(trial.service_p50_s),
            time_text(trial.driver_cpu_s / trial.done if trial.done else None),
        ]
        for trial in sorted(summary.trials, key=lambda trial: trial.rate_per_s)
    ]
    most = summary.rate_per_s_max
    over = f"over {summary.connections} connections"
    answer = (
        f"on time up to {most:,.0f} transactions a second {over}; ask for at most half of it"
        if most
        else f"late at every rate {over}: this host is busy, or too slow for the driver"
    )
    align: list[Align] = ["right", "left", "right", "right", "right"]
    return f"{table(head, rows, align)}\n\n{answer}"


COMMAND = calibrate
