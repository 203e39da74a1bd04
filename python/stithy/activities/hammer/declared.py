"""Virtual users at work, by the hammer: what it counts a minute, response times, and failures.

The throughput in a workload's own terms is declared by the workload.
"""

from collections.abc import Iterator

from stithy.activity import DeclaredActivity, Factor
from stithy.metrics import ERROR_SHARE, PERCENTILES, Metric
from stithy.results.tables import Table, integer, real, text, truth

TABLES = (
    "load", "transactions", "seconds", "conditions", "restores", "ledger", "ledger_findings",
)  # fmt: skip

ERRORS_NEGLIGIBLE = 0.001
"""Own: one transaction of a thousand."""


def _list_metrics() -> Iterator[Metric]:
    yield Metric("tpm", "1/min", "higher", "window", "tpm", "transactions per minute", "TPM")
    for name, (percent, said) in PERCENTILES.items():
        column, noun = f"response_{name.replace('.', '')}_s", f"{said} of response time"
        yield Metric(name, "s", "lower", "transactions", column, noun, name, percent)
    yield Metric(
        ERROR_SHARE, "share", "lower", "transactions", ERROR_SHARE,
        "share of transactions that failed", "Errors", negligible=ERRORS_NEGLIGIBLE,
    )  # fmt: skip


_METRICS = tuple(_list_metrics())
"""Each has a column of its own, in the table `load` or `transactions`; or follows from them."""

USERS = Factor(
    "users", "Virtual users", "user", "u", open_loop=("Connections of the open loop", "connection")
)

STOPPED, NO_LEDGER = UNASKED = "stopped by a person", "the window wrote no ledger"
"""Why a ledger was not compared, which says nothing of the database."""

LOAD = Table(
    "load",
    "One row: how the virtual users of a window and their server fared. Empty without users.",
    (
        text("window_id", "id of the window, as in the plan"),
        integer(USERS.name, "", "virtual users; in an open loop without `connections` the number of connections"),
        text("pace", "when users act: `none`, `keyed`, `think`, or `rate` for an open loop"),
        real("think_mean_s", "s", "mean think time with the pace `think`", null=True),
        real("rate_per_s", "1/s", "transactions due per second of an open loop", null=True),
        text("options", "what the workload's own keys say of the users, each as in `point`; null if it has none", null=True),
        integer("headline_committed", "", "committed transactions of the workload's headline type in the measurement", null=True),
        integer("transactions", "", "all completed transactions in the measurement", null=True),
        real("headline_per_min", "1/min", "the same per minute: the throughput by the workload's own metric", null=True),
        real("headline_per_s", "1/s", "the same per second, for a workload whose metric counts by the second", null=True),
        real("tpm", "1/min", "completed transactions (committed, and rolled back as specified) per minute", null=True),
        integer("errors", "", "unexpected errors in the whole job", null=True),
        integer("errors_expected", "", "errors that another activity of the window causes on purpose, such as connections that a fault cuts; they are not among `errors`", null=True),
        text("error_text", "the most frequent unexpected error", null=True),
        integer("retries", "", "repeats after serialization failures and deadlocks in the measurement", null=True),
        real("lateness_mean_s", "s", "mean of the driver's own lateness", null=True),
        real("lateness_p99_s", "s", "99th percentile of the driver's own lateness", null=True),
        real("service_p50_s", "s", "median service time over all transaction types", null=True),
        integer("suppressed_arrivals", "", "suppressed arrivals: transactions that users would have begun at their usual pace during answers of over ten times the median of their type; null in an open loop, and if nothing was answered", null=True),
        integer("backlog", "", "backlog at end: transactions that were due in the measurement and had not begun at its end", null=True),
        integer("connections_opened", "", "connections opened at the start", null=True),
        integer("connections_lost", "", "connections lost during the job", null=True),
        integer("connections_reopened", "", "connections opened again after a loss", null=True),
        real("first_success_s", "s", "time from the first loss of a connection to the first completed transaction on a connection opened after it; null if none was lost, or none came back", null=True),
        real("gap_s", "s", "longest time of the measurement in which no transaction of any user came to a good end; null where agents leave more than 0.1 s of it open", null=True),
        real("gap_from_s", "s", "Unix time at which that began", null=True),
        real("user_gap_p50_s", "s", "the longest such time of each user: median over the users", null=True),
        real("user_gap_p99_s", "s", "99th percentile of these, by nearest rank", null=True),
        real("user_gap_max_s", "s", "the longest of these", null=True),
        real("gap_within_s", "s", "by how much `gap_s` may be wrong: by the clocks of agents, and by gaps too short to be listed; null without agents", null=True),
        integer("units_touched", "", "units of the workload's size that users touch, such as rows", null=True),
        integer("units_total", "", "those that were loaded", null=True),
        integer("results_open", "", "backlog of a market exchange: orders that it had executed when the job ended, and whose results it still owed; null without an exchange", null=True),
        integer("database_bytes", "B", "size of the database at the start of the job", null=True),
        integer("buffer_pool_bytes", "B", "the server's buffer pool", null=True),
        integer("driver_nice", "", "nice value of the hammer; -20 is the highest priority; null if the kernel does not report it", null=True),
        real("longest_response_s", "s", "longest response time of the whole job, ramp-up and drain included", null=True),
        real("driver_cpu_s", "s", "CPU time of the hammer in the measurement", null=True),
        real("driver_run_queue_s", "s", "time the hammer waited for a CPU in the measurement", null=True),
        real("driver_rate_per_s_max", "1/s", "highest rate at which the driver was on time in the calibration; null without calibration", null=True),
        integer("driver_users_max", "", "most users at which the driver was on time in the calibration; null also for users without pauses, or with other pauses than were tried", null=True),
        real("driver_others_share", "", "share of all CPUs that other programs used during the calibration; null if it was not measured", null=True),
        integer("proof_before", "", "how many transactions of the headline type the database counts in the quiet state before the window", null=True),
        integer("proof_after", "", "the same in the quiet state after the window", null=True),
        integer("headline_acknowledged", "", "transactions of this type acknowledged between these quiet states", null=True),
        integer("headline_in_doubt", "", "transactions of this type without an answer", null=True),
        integer("headline_in_doubt_found", "", "of those, found in the database", null=True),
        integer("ledger_acknowledged", "", "acknowledgements that are durable in the commit ledger; null without a ledger", null=True),
        real("ledger_sync_max_s", "s", "longest sync of the commit ledger", null=True),
        text("ledger_problem", "why the ledger ended early, if it did", null=True),
        text("ledger_unverified_because", "why the ledger was not compared with the database, if it was not", null=True),
        text("ledger_shares", "the device that the ledger and the candidate's volume share, if they do", null=True),
        integer("client_commits", "", "commits that the hammer counted over the whole job", null=True),
        integer("client_rollbacks", "", "rollbacks that the hammer counted over the whole job", null=True),
        integer("server_commits", "", "growth of the server's commit counter over the whole job", null=True),
        integer("server_rollbacks", "", "growth of the server's rollback counter over the whole job", null=True),
        integer("checkpoints_inside", "", "checkpoints that began and ended inside the measurement", null=True),
        integer("maintenance_runs", "", "runs of the server's own maintenance during the job", null=True),
        integer("server_cpus", "", "CPUs to which the server was bound; null if it could use any", null=True),
        real("round_trip_s", "s", "median time of a question without work just before the users began, the network to the server and back included; null if Stithy started the server", null=True),
        real("link_bytes_per_s_max", "B/s", "what the link of the load driver lets through in each direction; null if the driver is local", null=True),
        real("link_round_trip_s", "s", "median of 101 round trips of a byte on that link, idle, just before the users began", null=True),
        real("link_sent_bytes_per_s", "B/s", "bytes that the server's machine sent over that link in the measurement, by the interface's counters", null=True),
        real("link_received_bytes_per_s", "B/s", "bytes that it received", null=True),
        truth("memory_limit_enforced", "the memory limit of the study held during the window; null if Stithy did not start the server", null=True),
        integer("memory_limit_bytes", "B", "memory limit of server and page cache", null=True),
        text("memory_limit_note", "why the limit was not enforced, or how it was widened", null=True),
        integer("memory_peak_bytes", "B", "peak use within the limit", null=True),
        text("agents", "agents that were to drive the users, as the study lists them; null if this host was", null=True),
        text("late_agent", "the agent whose driver was latest", null=True),
        real("agent_lateness_mean_s", "s", "mean lateness of that agent's driver", null=True),
        real("agent_start_late_s", "s", "how long after the start the last agent's driver was awake; users' times count from the start all the same", null=True),
        real("agent_clock_moved_s", "s", "the most by which an agent's clock moved against this host's in the window, beyond what the measurement may be wrong by; null without agents", null=True),
        text("checkpoint_before", "`forced` if Stithy forced a checkpoint just before, else `none`"),
        real("restore_s", "s", "time of the restore before this window", null=True),
        real("warm_up_s", "s", "time of the warm-up pass before this window", null=True),
    ),
)  # fmt: skip

AGENTS = Table(
    "agents",
    "One row per agent of a window: what it did of the load, and what became of it. Only for windows by agents.",
    (
        text("window_id", "id of the window, as in the plan"),
        text("agent", "name of the agent"),
        integer("number", "", "which of the agents it is, from 0: of the load it has the users, or workers of fio, whose number leaves this when divided by the number of agents"),
        integer("cpus", "", "CPUs that it can use; null if it was not asked", null=True),
        integer("users", "", "virtual users that it had", null=True),
        integer("transactions", "", "completed transactions in the measurement", null=True),
        integer("requests", "", "reads and writes of its fio in the measurement; null for users", null=True),
        real("latency_mean_s", "s", "their mean latency", null=True),
        real("latency_p99_s", "s", "99th percentile of it", null=True),
        real("start_late_s", "s", "how long after the common start its driver was awake; users' times count from the start all the same", null=True),
        real("lateness_mean_s", "s", "mean of its driver's lateness", null=True),
        real("lateness_p99_s", "s", "99th percentile of its driver's lateness", null=True),
        real("cpu_s", "s", "CPU time of its hammer or fio in the measurement, or of its backups", null=True),
        real("run_queue_s", "s", "time that its hammer waited for a CPU in the measurement", null=True),
        real("clock_ahead_s", "s", "how far its clock was ahead of this host's before the window; times are corrected by it where it is more than `clock_within_s`", null=True),
        real("clock_within_s", "s", "by how much that may be wrong", null=True),
        real("clock_moved_s", "s", "the most by which it moved in the window, beyond what the measurement may be wrong by", null=True),
        text("missing_because", "why it was missing, if it was lost or not there; the others of such a window are not asked, or ended early", null=True),
    ),
)  # fmt: skip

PLUGINS = (DeclaredActivity("hammer", _METRICS, TABLES, (LOAD, AGENTS), (USERS,), by_agents="yes"),)
