"""The numbers of what makes windows invalid or doubtful: those of the windows that a row names."""

from collections.abc import Sequence
from typing import Any

from recompute import steady
from recompute.files import Files, Row
from recompute.levels import told
from recompute.rules import Expected, Match, Rules, fixed, of_windows, once, windows
from recompute.tables import identity

ASKED = "(transactions + coalesce(backlog, 0)) / measured_s / driver_rate_per_s_max"
AROUND = "SELECT window_id, {} AS v FROM surroundings"
OF_WIN = "SELECT window_id, {} AS v FROM win"
DRIVE = "SELECT window_id, {} AS v FROM drives WHERE operation = '{}'"
CANARY = (
    "SELECT w.window_id, abs(c.{0} / (SELECT median({0}) FROM canary) - 1) AS v FROM canary c "
    "JOIN win w ON w.users = c.users AND w.block = c.block AND w.attempt = c.attempt"
)


def _of_drive(operation: str) -> Expected:
    """What requests took on the block device, and what the profile gave them."""
    asked_s = "device_mean_s - added_mean_s"
    return of_windows(*(DRIVE.format(each, operation) for each in ("device_mean_s", asked_s)))


COMMITS = ("client_commits + 30 + 3 * (connections_opened + coalesce(connections_reopened, 0)) + "
           "round_even(0.1 * (measure_to_s - started_at_s), 0) + 5 * autovacuum_runs")  # fmt: skip
DUE = "backlog + transactions + errors"
BROKEN = "SELECT window_id, number AS v FROM window_conditions WHERE NOT holds"


def _ledger(column: str, deal: str) -> Expected:
    """What became of a deal in a window's ledger."""
    return of_windows(f"SELECT window_id, {column} AS v FROM ledger WHERE deal = '{deal}'")


def _steady(*keys: str) -> Expected:
    return lambda files, row, match: steady.told(files, row, *keys)


def _unsteady(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """Valid windows that were not steady, of all."""
    found = steady.of_windows(files)
    rows = files.rows("SELECT window_id, valid FROM win")
    count = sum(e["valid"] and not found.get(e["window_id"], {"is_steady": True})["is_steady"]
                for e in rows)  # fmt: skip
    return [count, len(rows)]


def _changed(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """Places and shares of the changes of level, in turn."""
    count = sum(span != (-1, -1) for span in match.regs[1:])
    [found] = steady.told(files, row, "changes")
    places = [[each[at // 2][at % 2] for each in found if len(each) > at // 2]
              for at in range(count)]  # fmt: skip
    return places


def _laws(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """Both sides of a law that does not hold, and by how much they may differ."""
    names = row["window_ids"].split(", ") if "window_ids" in row else [row["window_id"]]
    found = [
        identity(files, each) for each in told(files, "identities")
        if each["window_id"] in names and each["name"] == match["law"]
    ]  # fmt: skip
    return [[each[key] for each in found] for key in ("left", "right", "tolerance_share")]


RULES: Rules = [
    (r"Unexpected errors: #", of_windows(OF_WIN.format("errors"))),
    (r"needed # of the # transactions per second",
     of_windows(OF_WIN.format(ASKED), OF_WIN.format("driver_rate_per_s_max"))),
    (r"other programs used # of # CPUs",
     of_windows(AROUND.format("others_cpu_s / span_s"), AROUND.format("cpus"))),
    (r"other programs moved up to # of # on the",
     of_windows(AROUND.format("others_here_bytes"), AROUND.format("disks_bytes"))),
    (r"begins one after # or # of log",
     of_windows(AROUND.format("checkpoint_after_s"), AROUND.format("checkpoint_after_bytes"))),
    (r"and it wrote # in #", of_windows(AROUND.format("log_bytes"), OF_WIN.format("measured_s"))),
    (r"# for reads \(profile: #\)", _of_drive("read")),
    (r"# for writes \(profile: #\)", _of_drive("write")),
    (r"# for flushes \(profile: #\)", _of_drive("flush")),
    (r"late with # of its answers\. The mean lateness of all answers was #",
     of_windows(DRIVE.format("late_answers / answered", "all"),
                DRIVE.format("late_mean_s", "all"))),
    (r"one CPU did # (?:more|less)", of_windows(CANARY.format("one_rounds_per_s"))),
    (r"all CPUs did # (?:more|less)", of_windows(CANARY.format("all_rounds_per_s"))),
    (r"reads took # (?:longer|shorter)", of_windows(CANARY.format("read_p50_s"))),
    (r"99th percentile #, allowed #",
     of_windows(OF_WIN.format("lateness_p99_s"),
                OF_WIN.format("greatest(0.001, 0.05 * service_p50_s)"))),
    (r"Autovacuum ran # times", of_windows(OF_WIN.format("autovacuum_runs"))),
    (r"on that of|# were read or written", of_windows(AROUND.format("idle_bytes"))),
    (r"contradicts itself: (?P<law>.*), but # is not # within #", _laws),
    (r"# of # transactions that were due, #, had not", of_windows(
        OF_WIN.format("backlog"), OF_WIN.format(DUE), OF_WIN.format(f"backlog / ({DUE})"))),
    (r"order numbers grew by #, but # new orders", of_windows(
        OF_WIN.format("order_numbers_after - order_numbers_before"),
        OF_WIN.format("new_orders_acknowledged + new_orders_in_doubt_found"))),
    (r"server counted # commits and the driver #; allowed are # to #", of_windows(*map(
        OF_WIN.format, ("server_commits", "client_commits", "client_commits - 5", COMMITS)))),
    (r"Broken consistency conditions: #(?:, #)*", lambda f, r, m: [windows(BROKEN)(f, r)] * 12),
    *((rf"# {deal}s? {words}", _ledger(column, deal)) for deal in ("order", "payment")
      for words, column in (("lost", "lost"), ("with other numbers", "differing"),
                            ("there although", "returned"))),
    (r"holds # orders?", _ledger("unknown", "order")),
    (r"(?:holds|and) # payments?(?: that|$)", _ledger("unknown", "payment")),
    (r"# of the restored # were still", of_windows(
        "SELECT window_id, resident_bytes AS v FROM restores",
        "SELECT window_id, size_bytes AS v FROM restores")),
    (r"server created # files", of_windows(AROUND.format("log_files_made"))),
    (r"hypervisor gave # of the CPUs", of_windows("SELECT window_id, value AS v FROM means WHERE "
                                                  "metric = 'steal_share' AND subject = ''")),
    (r"gave samples of # of # s", of_windows(
        "SELECT window_id, count(DISTINCT at_s) AS v FROM samples GROUP BY ALL",
        OF_WIN.format("measured_s"))),
    (r"fifths of its measurement differ by # of their mean \(steady: at most #\), with a slope of "
     r"# \(steady: at most #\)", lambda f, r, m: [*_steady("range_share")(f, r, m), 0.2,
                                                  *_steady("slope_share")(f, r, m), 0.1]),
    (r"fifth of it has fewer than # transactions", fixed(800)),
    (r"it settled # into the measurement; without that part its throughput is #",
     _steady("late_s", "late_share")),
    (r"its level changed at # \([+-]?#\)(?:, # \([+-]?#\))*(?: and # \([+-]?#\))?", _changed),
    (r"# of # windows? did not reach steady state", _unsteady),
    (r"# consistency conditions? did not hold", once(
        "SELECT count(*) FROM (SELECT holds FROM run_conditions UNION ALL SELECT holds FROM "
        "window_conditions) WHERE NOT holds")),
    (r"ledgers of # windows? show # ", once(
        "SELECT count(DISTINCT window_id), [sum(lost), sum(differing), sum(returned)] FROM ledger "
        "WHERE lost + differing + returned > 0")),
    (r"(?:, | and )# (?:differing|returned)", once(
        "SELECT [sum(differing), sum(returned)] FROM ledger")),
    (r"# ledgers? could not be compared",
     once("SELECT count(ledger_unverified_because) FROM win")),
    (r"# ledgers? ended early", once("SELECT count(ledger_problem) FROM win")),
]  # fmt: skip
