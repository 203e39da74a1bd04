"""The command `stithy hammer`: options, exit codes, what is shown."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fakes.program import AnsweringRunner
from stithy.cli import app
from stithy.cli.hammer import options, outcome
from stithy.secrets import Secret
from stithy.wire.jobs import Arrivals, BackToBack, Keyed, Pace, Rate, Think
from stithy.wire.messages import AnyMessage, TransactionSecond, parse_message
from stithy.workload.hammer import Hammer
from support.examples import wire_example

URL = "postgresql://u:hush@/d?host=/nowhere"


def example(name: str) -> Any:
    """One of the protocol's messages."""
    return parse_message(wire_example(f"message.{name}"))


class Ended(NamedTuple):
    """A command that has ended: its code, what it showed, and the jobs of its hammer."""

    code: int
    out: str
    err: str
    jobs: list[Any]


Command = Callable[..., Ended]


@pytest.fixture
def hammer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command whose hammer answers with these messages, by name or as they are."""

    def run(words: str, *messages: str | AnyMessage) -> Ended:
        answers = [example(each) if isinstance(each, str) else each for each in messages]
        runner = AnsweringRunner(answers)

        def made(url: str) -> Hammer:
            return Hammer(runner, Secret(url), program=Path("/bin/stithy-hammer"))

        monkeypatch.setattr(options, "hammer", made)
        command, *rest = words.split()
        code = app.run(["hammer", command, URL, *rest])
        return Ended(code, *capsys.readouterr(), list(runner.jobs))

    return run


def test_prepare_shows_rows_and_times(hammer: Command) -> None:
    """Progress is talk, the table is data."""
    words = "prepare --warehouses 10 --seed 5 --compressible 50% --duplicate 10%"
    ended = hammer(words, "started", "progress", "prepare-summary")
    assert ended.code == 0
    assert "loading rows: 3 of 10" in ended.err
    assert "order_line  2,999,417" in ended.out
    assert "zstd saves 25% of the text and 40% of the rows; 0% repeats" in ended.out
    [job] = ended.jobs
    assert (job.seed, job.loaders, job.workload.warehouses) == (5, 2, 10)
    assert (job.data.compressible_percent, job.data.duplicate_percent) == (50, 10)


POOLED = (
    "run --users 15000 --connections 64 --pace keyed --users-per-warehouse 5000 --touch 30% "
    "--warehouses 10 --ramp-up 5s --duration 20s --plain-sql --ledger run.ledger"
)


def test_run_shows_a_line_a_second_and_all_that_its_summary_knows(hammer: Command) -> None:
    """Options reach the job; who drove what was reached and what was lost is told in words."""
    ended = hammer(POOLED, "started", "second", "warning", "run-summary")
    assert ended.code == 0
    assert "warning: 4 of 13 connections were lost" in ended.err
    for part in (
        "NOPM 24,720   TPM 24,963", "order numbers agree",
        "ledger: 20,039 acknowledgements durable, 2,510 syncs, slowest 31.2 ms",
        "15,000 users over 64 connections, closed loop, keyed as specified, deliveries deferred, "
        "5,000 at home in each warehouse, measured for 20 s, complete",
        "users touch about 338 MiB of 1.1 GiB (3 of 10 warehouses); ",
        "suppressed arrivals: 1,040", "backlog at end: 7", "priority (nice) -10",
        "connections: 3 of 13 lost, 2 opened again, first success 1.25 s after the loss",
    ):  # fmt: skip
        assert part in ended.out
    [job] = ended.jobs
    assert (job.users, job.ramp_up_s, job.duration_s, job.procedures) == (15000, 5.0, 20.0, False)
    assert (job.connections, job.users_per_warehouse, job.warehouses_touched) == (64, 5000, 3)
    assert job.ledger == str(Path("run.ledger").absolute())


@pytest.mark.parametrize(
    ("words", "pace"),
    [
        ("", BackToBack()),
        ("--pace keyed", Keyed()),
        ("--pace think:500ms", Think(mean_s=0.5)),
        ("--rate 30000/min", Rate(per_s=500)),
        ("--rate 500/s --arrivals constant", Rate(per_s=500, arrivals=Arrivals.CONSTANT)),
        ("--pace think:2s --delivery deferred", Think(mean_s=2)),
    ],
)
def test_the_pace_of_a_run_is_said_as_in_a_study(words: str, pace: Pace, hammer: Command) -> None:
    """Keyed users have a home, ten to a warehouse, and their deliveries are deferred."""
    [job] = hammer(f"run --warehouses 10 {words}", "started", "run-summary").jobs
    keyed = isinstance(pace, Keyed)
    assert (job.pace, job.users_per_warehouse) == (pace, 10 if keyed else None)
    assert job.deferred_delivery is (keyed or "deferred" in words)


def gone() -> AnyMessage:
    """The summary of a run whose server went away and stayed away."""
    found = example("run-summary")
    lost = found.connections.model_copy(update={"lost": 15, "reopened": 2})
    changed: AnyMessage = found.model_copy(update={"connections": lost})
    return changed


TEN = "--warehouses 10"
LOST = "✗ ACKNOWLEDGED WORK IS GONE: 1 lost; the ledger's last 168 bytes"
FEW = "late at every rate over 1 connection: this host is busy"
OPEN = "16 connections, open loop, 500/s Poisson, measured for"
OTHER = "PROFILE HAMMERDB: its mix and uniform keys"
ENDS: list[tuple[str, str, int, tuple[str, ...]]] = [
    (f"verify-ledger run.ledger {TEN}", "ledger-finding ledger-summary", 5,
     (LOST, "LOST: order 3017 of district 4", "5 more findings are counted above, but not listed")),
    (f"check {TEN}", "condition.holds condition check-summary", 5,
     ("✓ holds", "✗ BROKEN", "2 rows violate it, such as warehouse 3")),
    ("calibrate --connections 16 --trial 500ms", "progress calibrate-summary", 0,
     ("on time up to 12,000 transactions per second over 32 connections", "250,000 users")),
    ("calibrate --think none", "calibrate-summary.nothing", 5, (FEW,)),
    (f"run {TEN}", "gone", 5, ("error: the server went away during the run",)),
    (f"run {TEN} --rate 500/s --users 16", "run-summary.partial", 5, ("CUT SHORT", OPEN)),
    (f"run {TEN} --profile hammerdb", "run-summary", 0, (OTHER,)),
    (f"run {TEN} --json", "run-summary", 0, ('"suppressed_arrivals": 1040', '"nopm": 24720')),
]  # fmt: skip


@pytest.mark.parametrize(("words", "names", "code", "told"), ENDS)
def test_what_was_measured_but_not_as_it_should_be_has_an_exit_code_of_its_own(
    words: str, names: str, code: int, told: tuple[str, ...], hammer: Command
) -> None:
    """The words carry the meaning, not the mark alone; nobody waits in an open loop."""
    ended = hammer(words, "started", *(gone() if n == "gone" else n for n in names.split()))
    assert ended.code == code
    for part in told:
        assert part in ended.out + ended.err
    if "--trial" in words:
        [job] = ended.jobs
        assert (job.connections, job.trial_s, job.think_s) == (16, 0.5, 21.0)
        assert ended.out.index("12,000/s") < ended.out.index("10,000 users")
    assert "--rate" not in words or "suppressed arrivals" not in ended.out


ONE = "run --warehouses 1"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (f"{ONE} --duration 20", "--duration: '20' is not a duration"),
        (f"{ONE} --users 0", "--users: 0 is too small"),
        (f"{ONE} --pace think:2", "--pace: '2' is not a duration"),
        (f"{ONE} --rate 0/s", "--rate: '0/s' is too small: give 0.01/s to"),
        (f"{ONE} --touch 0%", "--touch: nothing would be reached"),
        (f"{ONE} --connections 9", "--connections: more connections than users"),
        (f"{ONE} --rate 5/s --pace none", "--rate: a rate together with a pace"),
        (f"{ONE} --arrivals constant", "--arrivals: arrivals without a rate"),
        (f"{ONE} --users 11 --pace keyed", "at most 10 with 1 warehouses and 10 users at home"),
        (f"{ONE} --profile hammerdb --pace keyed", "--profile: HammerDB's mix with"),
        ("prepare --warehouses 0", "--warehouses: 0 is too small: give 1 to 100000"),
        ("prepare --warehouses 1 --duplicate 0.5", "'0.5' is not a percentage"),
    ],
)
def test_wrong_options_are_told_with_their_name(words: str, problem: str, hammer: Command) -> None:
    """Exit code 2, and nothing is started."""
    ended = hammer(words)
    assert ended.code == 2
    assert problem in ended.err
    assert ended.jobs == []


def test_a_server_that_is_not_there_is_told_without_the_password(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The size is asked from the database, which cannot be reached: exit code 4."""
    assert app.run(["hammer", "check", URL]) == 4
    error = capsys.readouterr().err
    assert "/nowhere/.s.PGSQL.5432, database d" in error
    assert "hush" not in error


@pytest.mark.parametrize(("orders", "told"), [(None, "-"), (1_999, "-"), (2_000, "12 ms")])
def test_a_second_is_told_without_a_percentile_that_too_few_orders_bear(
    orders: int | None, told: str
) -> None:
    """Beyond the 95th of 1,999 lie 99: that is no number. A stall must be seen as it happens."""
    of = TransactionSecond(
        name="new-order", committed=orders or 0, rolled_back=0, errors=0, retries=0,
        response_p50_s=0.004, response_p95_s=0.012, response_p99_s=0.02,
    )  # fmt: skip
    second = example("second.ramp-up").model_copy(update={"transactions": (of,) if orders else ()})
    line = outcome.second_text(second)
    assert f"p95 {told:>8}" in line
    assert ("0 transactions" in line) is (orders != 1_999)
