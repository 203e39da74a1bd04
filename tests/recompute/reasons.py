"""The numbers of what makes windows invalid or doubtful: by flag and number, of the window."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from recompute import delays, steady
from recompute.files import Files, Row
from recompute.levels import in_report
from recompute.tables import Expected, identity

ASKED = "(transactions + coalesce(backlog, 0)) / measured_s / driver_rate_per_s_max"
COMMITS = ("client_commits + 30 * len(string_split(coalesce(agents, ''), ',')) + "
           "3 * (connections_opened + coalesce(connections_reopened, 0)) + "
           "round_even(0.1 * (measure_to_s - started_at_s), 0) + 5 * maintenance_runs")  # fmt: skip
TIMES = (
    "(SELECT win.*, response_mean_s FROM win JOIN tx USING (window_id) WHERE "
    "transaction = 'all')"
)  # fmt: skip
DUE = "backlog + transactions + errors"
DUES = f"({delays.DUE} SELECT * FROM dues)"
LATE = "(SELECT * FROM drives WHERE operation = 'all')"
AROUND = "surroundings"
BASELINES = " UNION ALL ".join(
    f"SELECT w.window_id, abs(c.{gauge} / (SELECT median({gauge}) FROM baseline) - 1) AS share "
    "FROM baseline c JOIN win w USING (point, block, attempt)"
    for gauge in ("one_rounds_per_s", "all_rounds_per_s", "read_p50_s")
)
DEALS = ("(SELECT window_id, unnest([lost, differing, returned]) AS gone, deal, unknown FROM "
         "ledger)")  # fmt: skip


def _of(source: str, **columns: str) -> dict[str, Callable[[Files, str], Any]]:
    """Any of the rows of a window."""

    def read(sql: str) -> Callable[[Files, str], list[Any]]:
        return lambda files, window: files.column(sql, (window,))

    return {name: read(f"SELECT {column} AS v FROM {source} WHERE window_id = ?")
            for name, column in columns.items()}  # fmt: skip


def _steady(key: str, at: int | None = None) -> Callable[[Files, str], Any]:
    def read(files: Files, window: str) -> Any:
        found = steady.of_windows(files)[window][key]
        return found if at is None else [change[at] for change in found]

    return read


def _law(side: str) -> Callable[[Files, str], Any]:
    return lambda files, window: [
        identity(files, row)[side] for row in in_report(files, "identities")
        if row["window_id"] == window
    ]  # fmt: skip


_DELAY = {"delay": lambda files, window: abs(delays.of_drives(files).get(window, math.nan))}
_DRIVES = {**_DELAY, **_of(DUES, took="device_mean_s", asked="due"),
           **_of(LATE, late="late_answers", answers="answered", by="late_mean_s"),
           **_of("win", allowed="CASE WHEN attempt > 0 THEN 5e-1 ELSE 25e-2 END")}  # fmt: skip
_LATE = _of(TIMES, mean="lateness_mean_s", lateness="lateness_p99_s",
            delay="lateness_mean_s / response_mean_s")  # fmt: skip
_COMMITS = _of("win", server="server_commits", client="client_commits", most=COMMITS,
               least="client_commits - 5")  # fmt: skip
_DEALS = {deal: {**_of(f"(SELECT * FROM {DEALS} WHERE deal = '{deal}')", gone="gone",
                       unknown="unknown")} for deal in ("order", "payment")}  # fmt: skip
_CHECKPOINT = _of(AROUND, after="checkpoint_after_s", after_log="checkpoint_after_bytes",
                  wrote="log_bytes", span="round_even(span_s, 0)")  # fmt: skip

NUMBERS: Mapping[str, Mapping[str, Callable[[Files, str], Any]]] = {
    **dict.fromkeys(("errors", "some errors"), _of("win", errors="errors")),
    **dict.fromkeys(("driver late", "driver late at times"), _LATE),
    "rate not kept": _of("win", backlog="backlog", due=DUE, share=f"backlog / ({DUE})"),
    "little driver headroom": _of(
        "(SELECT *, unnest([users / driver_users_max, " f"{ASKED}]) AS share FROM win)",
        share="share", rate="driver_rate_per_s_max", users="driver_users_max",
    ),
    "acknowledged work disagrees": _of(
        "win", grown="proof_after - proof_before",
        expected="headline_acknowledged + headline_in_doubt_found",
    ),
    **dict.fromkeys(("commit counters disagree", "other commits"), _COMMITS),
    "consistency broken": _of("window_conditions", number="number"),
    "acknowledged work is gone": {deal: of["gone"] for deal, of in _DEALS.items()},
    "work that the ledger does not know": {deal: of["unknown"] for deal, of in _DEALS.items()},
    **dict.fromkeys(("emulated drive too slow", "emulated drive not as described"), _DRIVES),
    **dict.fromkeys(("no checkpoint inside", "too short for a checkpoint"), _CHECKPOINT),
    "pages not written back": _of(AROUND, wrote="log_bytes"),
    "log files created": _of(AROUND, files="log_files_made"),
    "autovacuum ran": _of("win", runs="maintenance_runs"),
    "contradicts itself": {"left": _law("left"), "right": _law("right"),
                           "allowed": _law("tolerance_share")},
    "not steady": {
        "range": _steady("range_share"), "slope": _steady("slope_share"),
        "late_s": _steady("late_s"), "at_s": _steady("changes", 0), "by": _steady("changes", 1),
        "share": lambda files, window: abs(steady.of_windows(files)[window]["late_share"]),
    },
    "restored files still cached": _of("restores", size="resident_bytes", whole="size_bytes"),
    "no samples": {
        **_of("samples", seconds="count(DISTINCT at_s)"), **_of("win", length="measured_s"),
    },
    "interference": {
        **_of(AROUND, others_used="others_cpu_s / span_s", cpus="cpus", moved="others_here_bytes",
              disks="disks_bytes"),
        **_of("(SELECT * FROM means WHERE metric = 'steal_share' AND subject = '')",
              stolen="value"),
    },
    "another candidate not quiet": _of(AROUND, size="idle_bytes"),
    "the machine changed": _of(f"({BASELINES})", share="share"),
}  # fmt: skip
"""By flag, what each number of its sentence is."""


def reason_value(files: Files, row: Row) -> Expected | None:
    """A number of a reason, by the last part of its name: `times.0.took`."""
    known = NUMBERS.get(row["flag"], {}).get(row["number"].rpartition(".")[2])
    return {} if known is None else {"value": known(files, row["window_id"])}


def _of_window(name: str) -> Callable[[Files, Row], Any]:
    """A number of this name of the window of a row, whatever its flag."""

    def read(files: Files, row: Row) -> list[Any]:
        every = [of[name](files, row["window_id"]) for of in NUMBERS.values() if name in of]
        return [x for value in every for x in (value if isinstance(value, list) else [value])]

    return read


NUMBERS_OF = {name: _of_window(name) for of in NUMBERS.values() for name in of}
"""By the name of a number, what it is of the window that a row names."""
