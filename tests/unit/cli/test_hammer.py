"""The command `stithy hammer`: options, exit codes, what is shown."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from fakes.program import AnsweringRunner
from stithy.cli import app
from stithy.cli.hammer import options, outcome
from stithy.secrets import Secret
from stithy.wire.jobs import (
    Arrivals,
    BackToBack,
    CalibrateJob,
    Keyed,
    Pace,
    PrepareJob,
    Rate,
    RunJob,
    Think,
    VerifyLedgerJob,
)
from stithy.wire.messages import AnyMessage, RunSummary, TransactionSecond, parse_message
from stithy.workload.hammer import Hammer

EXAMPLES = Path(__file__).resolve().parents[3] / "wire" / "examples"
URL = "postgresql://u:hush@/d?host=/nowhere"
SHAPED = ("--compressible", "50%", "--duplicate", "10%")


def examples(*names: str) -> list[AnyMessage]:
    """Some of the protocol's examples."""
    return [parse_message((EXAMPLES / f"message.{name}.json").read_text()) for name in names]


def answering(monkeypatch: pytest.MonkeyPatch, messages: Sequence[AnyMessage]) -> AnsweringRunner:
    """Let the command's hammer answer with these messages."""
    runner = AnsweringRunner(messages)

    def made(url: str) -> Hammer:
        return Hammer(runner, Secret(url), program=Path("/bin/stithy-hammer"))

    monkeypatch.setattr(options, "hammer", made)
    return runner


def test_prepare_shows_rows_and_times(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Progress is talk, the table is data."""
    runner = answering(monkeypatch, examples("started", "progress", "prepare-summary"))
    assert app.run(["hammer", "prepare", URL, "--warehouses", "10", "--seed", "5", *SHAPED]) == 0
    shown = capsys.readouterr()
    assert "loading rows: 3 of 10" in shown.err
    assert "order_line  2,999,417" in shown.out
    assert "zstd saves 25% of the text and 40% of the rows; 0% repeats" in shown.out
    job = runner.jobs[0]
    assert isinstance(job, PrepareJob)
    assert (job.seed, job.loaders, job.workload.warehouses) == (5, 2, 10)
    assert (job.data.compressible_percent, job.data.duplicate_percent) == (50, 10)


def test_a_share_without_percent_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The option's unit is told."""
    assert app.run(["hammer", "prepare", URL, "--warehouses", "1", "--duplicate", "0.5"]) == 2
    assert "'0.5' is not a percentage" in capsys.readouterr().err


def test_run_shows_a_line_a_second_and_a_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Options reach the job; durations are written as people write them."""
    runner = answering(monkeypatch, examples("started", "second", "warning", "run-summary"))
    words = [
        "--users",
        "13",
        "--ramp-up",
        "5s",
        "--duration",
        "20s",
        "--warehouses",
        "10",
        "--plain-sql",
        "--ledger",
        "run.ledger",
    ]
    assert app.run(["hammer", "run", URL, *words]) == 0
    shown = capsys.readouterr()
    assert "new-order p95        -" in shown.err  # of 412
    assert "warning: 4 of 13 connections were lost" in shown.err
    assert "NOPM 24,720   TPM 24,963" in shown.out
    assert "order numbers agree" in shown.out
    assert "ledger: 20,039 acknowledgements durable, 2,510 syncs, slowest 31.2 ms" in shown.out
    job = runner.jobs[0]
    assert isinstance(job, RunJob)
    assert (job.users, job.ramp_up_s, job.duration_s, job.procedures) == (13, 5.0, 20.0, False)
    assert job.ledger == str(Path("run.ledger").absolute())


def test_a_ledger_is_verified_and_what_is_gone_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each finding as it is made, then a table; lost work has an exit code of its own."""
    messages = examples("started", "ledger-finding", "ledger-summary")
    runner = answering(monkeypatch, messages)
    words = ["hammer", "verify-ledger", URL, "run.ledger", "--warehouses", "10"]
    assert app.run(words) == 5
    shown = capsys.readouterr()
    assert "LOST: order 3017 of district 4 of warehouse 1" in shown.err
    assert "✗ ACKNOWLEDGED WORK IS GONE: 1 lost; the ledger's last 168 bytes" in shown.out
    assert "5 more findings are counted above, but not listed" in shown.out
    job = runner.jobs[0]
    assert isinstance(job, VerifyLedgerJob)
    assert job.ledger == str(Path("run.ledger").absolute())
    answering(monkeypatch, messages)
    assert app.run([*words, "--json"]) == 5
    document = json.loads(capsys.readouterr().out)
    assert (document["holds"], document["orders"]["lost"]) == (False, 1)
    assert document["findings"][0]["kind"] == "lost"


def test_calibrate_tells_every_trial_and_the_rate_to_stay_below(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rates rise, then users; what is not known is a dash."""
    runner = answering(monkeypatch, examples("started", "progress", "calibrate-summary"))
    assert app.run(["hammer", "calibrate", URL, "--connections", "16", "--trial", "500ms"]) == 0
    shown = capsys.readouterr().out
    assert "on time up to 12,000 transactions per second over 32 connections" in shown
    assert "and with up to 250,000 users with a mean pause of 21.5 s; a measurement" in shown
    assert shown.index("12,000/s") < shown.index("10,000 users")
    job = runner.jobs[0]
    assert isinstance(job, CalibrateJob)
    assert (job.connections, job.trial_s, job.think_s) == (16, 0.5, 21.0)


def test_a_driver_that_is_late_at_every_rate_has_an_exit_code_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And without a think time no users are tried."""
    runner = answering(monkeypatch, examples("started", "calibrate-summary.nothing"))
    assert app.run(["hammer", "calibrate", URL, "--think", "none"]) == 5
    assert "late at every rate over 1 connection: this host is busy" in capsys.readouterr().out
    job = runner.jobs[0]
    assert isinstance(job, CalibrateJob)
    assert job.think_s is None


def test_json_is_one_document_for_programs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the numbers, the types, and the summary as on the wire."""
    answering(monkeypatch, examples("started", "run-summary"))
    assert app.run(["hammer", "run", URL, "--warehouses", "10", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["nopm"] == pytest.approx(24720)
    assert document["summary"]["complete"] is True
    assert [row["transaction"] for row in document["transactions_by_type"]][-1] == "all"


PACES: list[tuple[str, Pace]] = [
    ("", BackToBack()),
    ("--pace none", BackToBack()),
    ("--pace keyed", Keyed()),
    ("--pace think:500ms", Think(mean_s=0.5)),
    ("--rate 30000/min", Rate(per_s=500)),
    ("--rate 500/s --arrivals constant", Rate(per_s=500, arrivals=Arrivals.CONSTANT)),
]


@pytest.mark.parametrize(("words", "pace"), PACES)
def test_the_pace_of_a_run_is_said_as_in_a_study(
    words: str, pace: Pace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keyed users have a home, ten to a warehouse, and their deliveries are deferred."""
    runner = answering(monkeypatch, examples("started", "run-summary"))
    assert app.run(["hammer", "run", URL, "--warehouses", "10", *words.split()]) == 0
    job = runner.jobs[0]
    assert isinstance(job, RunJob)
    assert job.pace == pace
    keyed = isinstance(pace, Keyed)
    assert (job.users_per_warehouse, job.deferred_delivery) == (10 if keyed else None, keyed)


def test_deliveries_may_be_deferred_at_every_pace_of_a_closed_loop(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in a study; what was done says so."""
    runner = answering(monkeypatch, examples("started", "run-summary"))
    words = "--warehouses 10 --pace think:2s --delivery deferred"
    assert app.run(["hammer", "run", URL, *words.split()]) == 0
    job = runner.jobs[0]
    assert isinstance(job, RunJob)
    assert job.deferred_delivery
    assert "closed loop, think 2 s, deliveries deferred" in capsys.readouterr().out


POOLED = (
    "--users 15000 --connections 64 --pace keyed --users-per-warehouse 5000 --touch 30% "
    "--warehouses 10"
)


def test_a_run_whose_server_stays_away_is_not_valid(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Though it went on to its end, as users try to come back: exit code 5."""
    *others, summary = examples("started", "run-summary")
    assert isinstance(summary, RunSummary)
    gone = summary.connections.model_copy(update={"lost": 15, "reopened": 2})
    answering(monkeypatch, [*others, summary.model_copy(update={"connections": gone})])
    assert app.run(["hammer", "run", URL, "--warehouses", "10"]) == 5
    assert "error: the server went away during the run" in capsys.readouterr().err


def test_a_run_tells_who_drove_what_was_reached_and_what_was_lost(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All that the summary knows, in words, and each kind of time in a row of its own."""
    runner = answering(monkeypatch, examples("started", "run-summary"))
    assert app.run(["hammer", "run", URL, *POOLED.split()]) == 0
    job = runner.jobs[0]
    assert isinstance(job, RunJob)
    assert (job.connections, job.users_per_warehouse, job.warehouses_touched) == (64, 5000, 3)
    out = capsys.readouterr().out
    assert (
        "15,000 users over 64 connections, closed loop, keyed as specified, deliveries deferred, "
        "5,000 at home in each warehouse, measured for 20 s, complete"
    ) in out
    assert (
        "users touch about 338 MiB of 1.1 GiB (3 of 10 warehouses); "
        "the server has 128 MiB of shared buffers"
    ) in out
    assert "suppressed arrivals: 1,040" in out
    assert "backlog at end: 7" in out
    assert "connections: 3 of 13 lost, 2 opened again, first success 1.25 s after the loss" in out
    assert "priority (nice) -10" in out
    assert "lateness" in out
    assert "PROFILE" not in out


def test_hammerdbs_profile_is_told_before_any_number(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And in the document for programs."""
    words = ["hammer", "run", URL, "--warehouses", "10", "--profile", "hammerdb"]
    answering(monkeypatch, examples("started", "run-summary"))
    assert app.run(words) == 0
    assert capsys.readouterr().out.startswith("PROFILE HAMMERDB: its mix and uniform keys")
    answering(monkeypatch, examples("started", "run-summary"))
    assert app.run([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["profile"], document["pace"]["kind"]) == ("hammerdb", "none")
    assert (document["missed_starts"], document["first_success_s"]) == (1040, 1.25)


def test_an_open_loop_has_connections_and_no_users(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is nobody who waits."""
    answering(monkeypatch, examples("started", "run-summary.partial"))
    words = ["--rate", "500/s", "--warehouses", "10", "--users", "16"]
    assert app.run(["hammer", "run", URL, *words]) == 5
    out = capsys.readouterr().out
    assert "16 connections, open loop, 500/s Poisson, measured for" in out
    assert "backlog at end: 0 were due" in out
    assert "missed starts" not in out


def test_a_run_that_was_cut_short_is_not_valid(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It measured, but not what was asked: exit code 5, and the word is in the text."""
    answering(monkeypatch, examples("started", "run-summary.partial"))
    assert app.run(["hammer", "run", URL, "--warehouses", "10"]) == 5
    assert "CUT SHORT" in capsys.readouterr().out


def test_a_broken_condition_is_shown_in_words_and_gives_exit_code_5(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The mark alone would not carry the meaning."""
    answering(monkeypatch, examples("condition.holds", "condition", "check-summary"))
    assert app.run(["hammer", "check", URL, "--warehouses", "10"]) == 5
    out = capsys.readouterr().out
    assert "✓ holds" in out
    assert "✗ BROKEN" in out
    assert "2 rows violate it, such as warehouse 3" in out


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("run --warehouses 1 --duration 20", "--duration: '20' is not a duration"),
        ("run --warehouses 1 --ramp-up fast", "--ramp-up: 'fast' is not a duration"),
        ("run --warehouses 1 --duration 0s", "--duration: nothing would be measured"),
        ("run --warehouses 1 --users 0", "--users: 0 is too small"),
        ("run --warehouses 1 --users 5000000000000", "--users: 5000000000000 is too large"),
        ("run --warehouses 1 --seed -1", "--seed: -1 is too small"),
        ("run --warehouses 1 --pace fast", "--pace: 'fast' is not a pace: give none, keyed, or"),
        ("run --warehouses 1 --pace think", "--pace: 'think' is not a pace"),
        ("run --warehouses 1 --pace think:2", "--pace: '2' is not a duration"),
        ("run --warehouses 1 --rate 500", "--rate: '500' is not a rate: a number by a unit of"),
        ("run --warehouses 1 --rate 0/s", "--rate: '0/s' is too small: give 0.01/s to"),
        ("run --warehouses 1 --touch 0%", "--touch: nothing would be reached"),
        ("run --warehouses 1 --touch 30", "--touch: '30' is not a percentage"),
        ("run --warehouses 1 --connections 0", "--connections: 0 is too small"),
        ("run --warehouses 1 --connections 9", "--connections: more connections than users"),
        ("run --warehouses 1 --rate 5/s --pace none", "--rate: a rate together with a pace"),
        ("run --warehouses 1 --arrivals constant", "--arrivals: arrivals without a rate"),
        (
            "run --warehouses 1 --users 11 --pace keyed",
            "at most 10 with 1 warehouses and 10 users at home in each; or "
            "`--users-per-warehouse 11`",
        ),
        ("run --warehouses 1 --profile hammerdb --pace keyed", "--profile: HammerDB's mix with"),
        ("prepare --warehouses 0", "--warehouses: 0 is too small: give 1 to 100000"),
        ("prepare", "--warehouses is missing"),
    ],
)
def test_wrong_options_are_told_with_their_name(
    words: str, problem: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, and nothing is started."""
    runner = answering(monkeypatch, [])
    command, *options = words.split()
    assert app.run(["hammer", command, URL, *options]) == 2
    assert problem in capsys.readouterr().err
    assert runner.commands == []


def test_a_server_that_is_not_there_is_told_without_the_password(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The size is asked from the database, which cannot be reached: exit code 4."""
    assert app.run(["hammer", "check", URL]) == 4
    error = capsys.readouterr().err
    assert "/nowhere/.s.PGSQL.5432, database d" in error
    assert "hush" not in error


def test_a_second_without_transactions_has_a_line_too() -> None:
    """A stall must be seen as it happens."""
    [second] = examples("second.ramp-up")
    text = outcome.second_text(second)  # type: ignore[arg-type]  # of a known example
    assert "0 transactions" in text
    assert "p95        -" in text


def test_no_line_has_a_percentile_that_too_few_orders_bear() -> None:
    """Beyond the 95th percentile of 1,999 lie 99: that is no number."""
    [second] = examples("second.ramp-up")
    for orders, told in ((1_999, "p95        -"), (2_000, "p95    12 ms")):
        of = TransactionSecond(
            name="new-order", committed=orders, rolled_back=0, errors=0, retries=0,
            response_p50_s=0.004, response_p95_s=0.012, response_p99_s=0.02,
        )  # fmt: skip
        line = outcome.second_text(second.model_copy(update={"transactions": (of,)}))  # type: ignore[arg-type]  # as above
        assert told in line
