"""The command `stithy hammer`: options, exit codes, what is shown."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fakes.program import AnsweringRunner
from stithy.cli import app
from stithy.cli.hammer import options, outcome
from stithy.engines.instance import Endpoint
from stithy.wire.hammer import Hammer
from stithy.wire.jobs import BackToBack, Keyed, WireRate, WireThink
from stithy.wire.messages import AnyMessage, LedgerSummary, TransactionSecond, parse_message
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
        answers = [
            example(message) if isinstance(message, str) else message for message in messages
        ]
        runner = AnsweringRunner(answers)

        def made(database: Endpoint) -> Hammer:
            return Hammer(runner, database.url, program=Path("/bin/stithy-hammer"))

        monkeypatch.setattr(options, "make_hammer", made)
        command, *rest = words.split()
        code = app.run(["hammer", command, URL, *rest])
        return Ended(code, *capsys.readouterr(), list(runner.jobs))

    return run


def test_options_reach_the_job_and_all_is_shown_that_a_summary_knows(hammer: Command) -> None:
    """Progress is talk, the table is data; who drove what was reached and lost is in words."""
    words = "prepare --size 10 --seed 5 --compressible 50% --duplicate 10%"
    ended = hammer(words, "started", "progress", "prepare-summary")
    assert (ended.code, "loading rows: 3 of 10" in ended.err) == (0, True)
    assert "order_line  2,999,417" in ended.out
    assert "zstd saves 25% of the text and 40% of the rows; 0% repeats" in ended.out
    [job] = ended.jobs
    assert (job.seed, job.loaders, job.workload.warehouses) == (5, 2, 10)
    assert (job.data.compressible_percent, job.data.duplicate_percent) == (50, 10)
    words = (
        "run --users 15000 --connections 64 --pace keyed --set users_per_warehouse=5000 "
        "--touch 30% --size 10 --ramp-up 5s --duration 20s --set procedures=false "
        "--ledger run.ledger"
    )
    ended = hammer(words, "started", "second", "warning", "run-summary")
    assert "warning: 4 of 13 connections were lost" in ended.err
    for part in (
        "NOPM 24,720   TPM 24,963", "acknowledged work agrees",
        "ledger: 20,039 acknowledgements durable, 2,510 syncs, slowest 31.2 ms",
        "15,000 users over 64 connections, closed loop, keyed as specified, deliveries deferred, "
        "5,000 at home in each warehouse, specified mix and keys, measured for 20 s, complete",
        "users touch about 338 MiB of 1.1 GiB (3 of 10 warehouses); ",
        "suppressed arrivals: 1,040", "backlog at end: 7", "priority (nice) -10",
        "connections: 3 of 13 lost, 2 opened again, first success 1.25 s after the loss",
    ):  # fmt: skip
        assert part in ended.out
    [job] = ended.jobs
    asked = job.workload
    assert (job.users, job.ramp_up_s, job.duration_s, asked.procedures) == (15000, 5.0, 20.0, False)
    assert (job.connections, asked.users_per_warehouse, asked.warehouses_touched) == (64, 5000, 3)
    assert job.ledger == Path("run.ledger").absolute()


def test_the_pace_of_a_run_is_said_as_in_a_study(hammer: Command) -> None:
    """Keyed users have a home, ten to a warehouse, and their deliveries are deferred."""
    for words, pace in (
        ("", BackToBack()),
        ("--pace keyed", Keyed()),
        ("--pace think:500ms", WireThink(mean_s=0.5)),
        ("--rate 30000/min", WireRate(per_s=500)),
        ("--rate 500/s --arrivals constant", WireRate(per_s=500, arrivals="constant")),
        ("--pace think:2s --set delivery=deferred", WireThink(mean_s=2)),
    ):
        [job] = hammer(f"run --size 10 {words}", "started", "run-summary").jobs
        keyed = isinstance(pace, Keyed)
        assert (job.pace, job.workload.users_per_warehouse) == (pace, 10 if keyed else None)
        assert job.workload.deferred_delivery is (keyed or "deferred" in words)


LOST = "✗ ACKNOWLEDGED WORK IS GONE: 1 lost; the ledger's last 168 bytes"
TIME = "on time up to 12,000 transactions per second over 32 connections"


def test_what_was_measured_but_not_as_it_should_be_has_its_exit_code(hammer: Command) -> None:
    """The words carry the meaning, not the mark alone; nobody waits in an open loop."""
    gone = example("run-summary")
    lost = gone.connections.model_copy(update={"lost": 15, "reopened": 2})
    well = gone.model_copy(update={"errors": gone.errors[1:]})
    gone = gone.model_copy(update={"connections": lost})
    ten = "--size 10"
    for words, answers, code, shown in (
        (f"verify-ledger run.ledger {ten}", ["ledger-finding", "ledger-summary"], 5,
         (LOST, "LOST: order 3017 of district 4", "5 more findings are counted above, but not")),
        (f"verify-ledger run.ledger {ten}",
         [LedgerSummary(holds=True, entries={}, torn_bytes=0)], 0,
         ("nothing is proven: the ledger holds no acknowledged transaction",)),
        (f"check {ten}", ["condition.holds", "condition", "check-summary"], 5,
         ("✓ holds", "✗ BROKEN", "2 rows violate it, such as warehouse 3")),
        ("calibrate --connections 16 --trial 500ms", ["progress", "calibrate-summary"], 0,
         (TIME, "250,000 users")),
        ("calibrate --think none", ["calibrate-summary.nothing"], 5,
         ("late at every rate over 1 connection: this host is busy",)),
        (f"run {ten}", [gone], 5, ("error: the server went away during the run",)),
        (f"run {ten} --rate 500/s --users 16", ["run-summary.partial"], 5,
         ("CUT SHORT", "16 connections, open loop, 500/s Poisson, specified mix and keys")),
        (f"run {ten}", ["run-summary"], 5, ("refused 1 times unexpectedly", "No space left")),
        (f"run {ten} --set profile=hammerdb", [well], 0,
         ("PROFILE HAMMERDB: its mix and uniform keys",)),
        (f"run {ten} --json", [well], 0,
         ('"suppressed_arrivals": 1040', '"headline_per_min": 24720')),
    ):  # fmt: skip
        ended = hammer(words, "started", *answers)
        assert ended.code == code, words
        assert all(part in ended.out + ended.err for part in shown), words
        assert "--rate" not in words or "suppressed arrivals" not in ended.out
        if "--trial" in words:
            [job] = ended.jobs
            assert (job.connections, job.trial_s, job.think_s) == (16, 0.5, 21.0)
            assert ended.out.index("12,000/s") < ended.out.index("10,000 users")


def test_wrong_options_are_told_with_their_name(hammer: Command) -> None:
    """Exit code 2, and nothing is started."""
    one = "run --size 1"
    homes = f"{one} --set users_per_warehouse"
    for words, problem in (
        (f"{one} --duration 20", "--duration: '20' is not a duration"),
        (f"{one} --users 0", "--users: 0 is too small"),
        (f"{one} --pace think:2", "--pace: '2' is not a duration"),
        (f"{one} --rate 0/s", "--rate: '0/s' is too small: give 0.01/s to"),
        (f"{one} --touch 0%", "--touch: nothing would be reached"),
        (f"{one} --connections 9", "--connections: more connections than users"),
        (f"{one} --rate 5/s --pace none", "--rate: a rate together with a pace"),
        (f"{one} --arrivals constant", "--arrivals: arrivals without a rate"),
        (f"{one} --users 11 --pace keyed", "at most 10 with 1 warehouses and 10 users at home"),
        (f"{one} --set profile=hammerdb --pace keyed", "--set profile: HammerDB's mix with"),
        (f"{homes}=0", "--set users_per_warehouse: too small: 0: at least 1"),
        (f"{homes}", "--set: 'users_per_warehouse' has no value"),
        (f"{one} --set usrs_per_warehouse=1", "did you mean users_per_warehouse"),
        (f"{homes}=5 --rate 5/s", "--set users_per_warehouse: homes in an open loop"),
        (f"{one} --workload order-entri", "--workload: 'order-entri' is not a workload"),
        ("prepare --size 0", "--size: too small: 0: at least 1"),
        ("prepare --size many", "--size: 'many' is not a size of order-entry: give a number"),
        ("prepare --size 1 --duplicate 0.5", "'0.5' is not a percentage"),
    ):
        ended = hammer(words)
        assert (ended.code, ended.jobs, problem in ended.err) == (2, [], True), words


@pytest.mark.usefixtures("fakes")
def test_a_workload_is_asked_only_for_what_it_declares(hammer: Command) -> None:
    """The fake one has a size of two numbers, and neither conditions, ledger nor pauses."""
    ledger = "--ledger: a ledger of a workload without one"
    for words, problem in (
        ("check", "--workload: the workload counter has no consistency conditions"),
        ("verify-ledger x", "--workload: the workload counter keeps no commit ledger"),
        ("run --ledger x", ledger),
        ("run --pace keyed", "--pace: keyed pace of a workload without pauses"),
    ):
        ended = hammer(f"{words} --workload counter --size groups=2,counters=9")
        assert (ended.code, ended.jobs, problem in ended.err) == (2, [], True), words
    for size in ("9", "groups=2", "groups=2,counters=x", "groups=2,counters=3,groups=4"):
        ended = hammer(f"prepare --workload counter --size {size}")
        assert "is not a size of counter: give groups=NUMBER,counters=NUMBER" in ended.err, size
    [job] = hammer("prepare --workload counter --size counters=9,groups=2", "prepare-summary").jobs
    assert dict(job.workload)["counters"] == 18


def test_a_second_is_told_without_a_percentile_that_too_few_orders_bear() -> None:
    """Beyond the 95th of 1,999 lie 99: that is no number. A stall must be seen as it happens."""
    for orders, shown in ((0, "-"), (1_999, "-"), (2_000, "12 ms")):
        of = TransactionSecond(
            name="new-order", committed=orders, rolled_back=0, errors=0, retries=0,
            live_p95_s=0.012,
        )  # fmt: skip
        second = example("second.ramp-up").model_copy(update={"transactions": (of,)[: orders or 0]})
        line = outcome.describe_second("new-order", second)
        assert f"p95 {shown:>8}" in line
        assert ("0 transactions" in line) is (orders != 1_999)
