"""The numbers of what makes windows invalid or doubtful: those of the windows that a row names."""

from collections.abc import Sequence
from typing import Any

from recompute import delays, steady
from recompute.files import Files, Row
from recompute.levels import in_report
from recompute.rules import Expected, Match, Rules, fixed, of, of_windows, once, windows
from recompute.tables import identity

ASKED = "(transactions + coalesce(backlog, 0)) / measured_s / driver_rate_per_s_max"
BASELINE = (
    "SELECT w.window_id, abs(c.{0} / (SELECT median({0}) FROM baseline) - 1) AS v FROM baseline c "
    "JOIN win w ON w.point = c.point AND w.block = c.block AND w.attempt = c.attempt"
)


def _drive(operation: str, *columns: str) -> Expected:
    return of(f"(SELECT * FROM drives WHERE operation = '{operation}')", *columns)


def _delayed(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """The delay by drives of each window that the row speaks of."""
    names = (row.get("window_ids") or row.get("window_id") or "").split(", ")
    return [[abs(share) for name, share in delays.of_drives(files).items() if name in names]]


COMMITS = ("client_commits + 30 + 3 * (connections_opened + coalesce(connections_reopened, 0)) + "
           "round_even(0.1 * (measure_to_s - started_at_s), 0) + 5 * maintenance_runs")  # fmt: skip
DUE = "backlog + transactions + errors"
BROKEN = "SELECT window_id, number AS v FROM window_conditions WHERE NOT holds"


def _steady(*keys: str) -> Expected:
    return lambda files, row, match: steady.shown(files, row, *keys)


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
    [found] = steady.shown(files, row, "changes")
    places = [[each[at // 2][at % 2] for each in found if len(each) > at // 2]
              for at in range(count)]  # fmt: skip
    return places


def _laws(files: Files, row: Row, match: Match) -> Sequence[Any]:
    """Both sides of a law that does not hold, and by how much they may differ."""
    names = row["window_ids"].split(", ") if "window_ids" in row else [row["window_id"]]
    found = [
        identity(files, each) for each in in_report(files, "identities")
        if each["window_id"] in names and each["name"] == match["law"]
    ]  # fmt: skip
    return [[each[key] for each in found] for key in ("left", "right", "tolerance_share")]


RULES: Rules = [
    (r"Unexpected errors: #", of("win", "errors")),
    (r"needed # of the # transactions per second", of("win", ASKED, "driver_rate_per_s_max")),
    (r"other programs used # of # CPUs", of("surroundings", "others_cpu_s / span_s", "cpus")),
    (r"other programs moved up to # of # on the",
     of("surroundings", "others_here_bytes", "disks_bytes")),
    (r"begins one after # or # of log",
     of("surroundings", "checkpoint_after_s", "checkpoint_after_bytes")),
    (r"and it wrote # in #",
     of("surroundings JOIN win USING (window_id)", "log_bytes", "measured_s")),
    (r"for on emulated drives took # (?:longer|less time)", _delayed),
    *((rf"# for {each}e?s of [a-z0-9-]+ \(asked: #\)", of_windows(
        *(f"{delays.DUE} SELECT window_id, {column} AS v FROM dues WHERE operation = '{each}'"
          for column in ("device_mean_s", "due"))))
      for each in ("read", "write", "flush")),
    (r"# of # answers of [a-z0-9-]+ late, all by # in the mean",
     _drive("all", "late_answers", "answered", "late_mean_s")),
    *((rf"(?:: |, |and ){each}e?s #(?=,|\.| and)", once(
        f"{delays.DUE} SELECT any_value(floor) FROM dues WHERE operation = '{each}'"))
      for each in ("read", "write", "flush")),
    (r"one CPU did # (?:more|less)", of_windows(BASELINE.format("one_rounds_per_s"))),
    (r"all CPUs did # (?:more|less)", of_windows(BASELINE.format("all_rounds_per_s"))),
    (r"reads took # (?:longer|shorter)", of_windows(BASELINE.format("read_p50_s"))),
    (r"was late by # in the mean \(99th percentile #\), # of the mean response time", of(
        "(SELECT win.*, response_mean_s FROM win JOIN tx USING (window_id) "
        "WHERE transaction = 'all')",
        "lateness_mean_s", "lateness_p99_s", "lateness_mean_s / response_mean_s")),
    (r"Autovacuum ran # times", of("win", "maintenance_runs")),
    (r"on that of|# were read or written", of("surroundings", "idle_bytes")),
    (r"contradicts itself: (?P<law>.*), but # is not # within #", _laws),
    (r"# of # transactions that were due, #, had not",
     of("win", "backlog", DUE, f"backlog / ({DUE})")),
    (r"database counted # transactions, but #",
     of("win", "proof_after - proof_before",
        "headline_acknowledged + headline_in_doubt_found")),
    (r"server counted # commits and the driver #; allowed are # to #",
     of("win", "server_commits", "client_commits", "client_commits - 5", COMMITS)),
    (r"Broken consistency conditions: #(?:, #)*", lambda f, r, m: [windows(BROKEN)(f, r)] * 12),
    *((rf"# {deal}s? {words}", of(f"(SELECT * FROM ledger WHERE deal = '{deal}')", column))
      for deal in ("order", "payment")
      for words, column in (("lost", "lost"), ("with other numbers", "differing"),
                            ("there although", "returned"))),
    *((words, of(f"(SELECT * FROM ledger WHERE deal = '{deal}')", "unknown"))
      for words, deal in ((r"holds # orders?", "order"),
                          (r"(?:holds|and) # payments?(?: that|$)", "payment"))),
    (r"# of the restored # were still", of("restores", "resident_bytes", "size_bytes")),
    (r"server created # files", of("surroundings", "log_files_made")),
    (r"hypervisor gave # of the CPUs",
     of("(SELECT * FROM means WHERE metric = 'steal_share' AND subject = '')", "value")),
    (r"gave samples of # of # s", of_windows(
        "SELECT window_id, count(DISTINCT at_s) AS v FROM samples GROUP BY ALL",
        "SELECT window_id, measured_s AS v FROM win")),
    (r"fifths of its measurement differ by # of their mean \(steady: at most #\), with a slope of "
     r"# \(steady: at most #\)", lambda f, r, m: [*_steady("range_share")(f, r, m), 0.2,
                                                  *_steady("slope_share")(f, r, m), 0.1]),
    (r"fifth of it has fewer than # transactions", fixed(800)),
    (r"it settled # into the measurement; without that part its throughput is #",
     _steady("late_s", "late_share")),
    (r"its level changed at # \([+-]?#\)(?:, # \([+-]?#\))*(?: and # \([+-]?#\))?", _changed),
    (r"# of # windows? did not reach steady state", _unsteady),
    (r"Verified after loading only.*: number #(?:, #)*", lambda f, r, m: [f.column(
        "SELECT number FROM run_conditions WHERE moment = 'load' EXCEPT "
        "SELECT number FROM run_conditions WHERE moment = 'end' ORDER BY 1")]),
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
