"""Real windows into which somebody meddles, each in another way: each is reported, and no other."""

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from stithy.analysis.evidence import Window
from stithy.collectors import cpu
from stithy.engines.postgresql.connection import connect
from stithy.engines.postgresql.url import parse_url
from stithy.hosts.runner import Runner
from stithy.report.context import Context, make_context
from stithy.report.sections.answer import answer
from stithy.results.files import read_run
from stithy.run.equip import Tools
from stithy.run.executor import execute
from stithy.run.session import Stop
from stithy.run.start import start_run
from stithy.secrets import Secret
from stithy.validity import Flag
from stithy.wire.hammer import NOBODY, Driven, Hammer, ProgressWatch
from stithy.wire.jobs import RunRequest, WorkloadChoice
from stithy.wire.messages import AnyMessage, SecondMessage
from support import flags
from support.places import a_place
from support.points import at
from support.running import entries, left_by, write_study

pytestmark = [pytest.mark.needs_postgresql, pytest.mark.needs_cgroup]

COMMITS = 1_000
"""More than 2 % of what users commit in three seconds on a quick disk; fewer are only noted."""

ROBBED, KILLED = 5, 6
FLAGS: dict[int, set[Flag]] = {
    1: set(),
    2: {flags.COMMITS},
    3: {flags.HEADLINE_COUNT, flags.CONDITIONS},
    4: {flags.MEMORY_LIMIT_LOST},
    ROBBED: {flags.LEDGER},
    KILLED: {flags.NO_NUMBERS},
    7: {flags.COLLECTOR},
}
"""What each deed must lead to, by the number of users; with one nothing is done."""

Deed = Callable[[Secret], None]


class Meddler(Hammer):
    """A hammer whose database something is done to, by the number of users, in their second second;
    once those of `ROBBED` are done, a payment is taken.
    """

    def __init__(self, runner: Runner, url: Secret, deeds: Mapping[int, Deed]) -> None:
        """As the hammer."""
        super().__init__(runner, url)
        self._database, self._deeds = url, deeds

    def run(
        self, workload: WorkloadChoice, request: RunRequest, *, watch: ProgressWatch = NOBODY
    ) -> Driven:
        """Drive, and have it done."""

        def on_message(message: AnyMessage) -> None:
            is_second = isinstance(message, SecondMessage) and message.second == 1
            if is_second and request.users in self._deeds:
                self._deeds[request.users](self._database)

        watch = ProgressWatch(watch.raw_output, on_message, watch.stop)
        driven = super().run(workload, request, watch=watch)
        if request.users == ROBBED:
            # Take a payment away: neither order numbers nor the four quick conditions can notice.
            with connect(parse_url(self._database)) as session:
                session.run("DELETE FROM history WHERE h_date = (SELECT max(h_date) FROM history)")
        return driven


def commit(url: Secret) -> None:
    """Another client at work."""
    with connect(parse_url(url)) as session:
        for _ in range(COMMITS):
            session.run("SELECT txid_current()")


def skip_an_order(url: Secret) -> None:
    """A number is gone that no order has: as if one had been lost."""
    of_one = "SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = 1"
    with connect(parse_url(url)) as session:
        session.run(f"UPDATE district {of_one}")


def kill(data: Path) -> None:
    """Kill the server of a database."""
    os.kill(int((data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)


def widen(out: Path) -> None:
    """Lift the server's memory limit."""
    path = Path(entries(out, "creating", kind="cgroup")[-1].facts["facts"]["path"])
    # A limit of memory and swap together cannot be below one of memory.
    for name in ("memory.memsw.limit_in_bytes", "memory.limit_in_bytes", "memory.max"):
        if (path / name).exists():
            (path / name).write_text("max" if name == "memory.max" else "-1")


@pytest.fixture(scope="module")
def context() -> Iterator[Context]:
    """A run whose windows were meddled with, but for the first."""

    def fall(url: Secret) -> None:
        def parse(text: bytes) -> None:
            raise RuntimeError("it fell")

        patch.setattr(cpu, "parse", parse)

    with a_place() as place, pytest.MonkeyPatch.context() as patch:
        patch.setenv("STITHY_STATE", str(place / "state"))
        out, load = place / "out", {"ledger": "true", "ramp_up": "1 s", "pace": ""}
        deeds: dict[int, Deed] = {
            2: commit, 3: skip_an_order, 4: lambda url: widen(out),
            KILLED: lambda url: kill(place / "a/data"), 7: fall,
        }  # fmt: skip
        study = write_study(place / "s.yaml", {"a": place / "a"}, users=[*FLAGS], load=load)
        tools = Tools(
            hammer=lambda runner, cpus: lambda url: Meddler(runner, url, deeds), waits=False
        )
        outcome = execute(start_run(study, out, Stop(), lambda event: None, tools))
        assert outcome.error is None
        assert left_by(out) == []
        yield make_context(read_run(out))


def _window(context: Context, users: int) -> Window:
    [found] = context.evidence.at("a", at(users))
    return found


@pytest.mark.parametrize("users", FLAGS)
def test_what_somebody_did_to_a_window_is_flagged(context: Context, users: int) -> None:
    """Each by its own flag, and by no other of these; who was left alone has none of them."""
    window = _window(context, users)
    raised = {reason.flag for reason in window.reasons}
    assert raised & set[Flag]().union(*FLAGS.values()) == FLAGS[users]
    assert window.valid is not any(flag.invalidates for flag in FLAGS[users])


def test_counters_that_disagree_are_told_with_their_numbers(context: Context) -> None:
    """So that a reader can see by how much."""
    alone, other, skipped = (_window(context, users) for users in (1, 2, 3))
    assert alone.row["server_commits"] >= alone.row["client_commits"]
    assert other.row["server_commits"] - other.row["client_commits"] >= COMMITS
    [shown] = [reason for reason in other.reasons if reason.flag is flags.COMMITS]
    assert f"{other.row['server_commits']:,}" in shown.sentence
    [shown] = [each for each in skipped.reasons if each.flag is flags.HEADLINE_COUNT]
    expected = skipped.row["headline_acknowledged"]
    assert f"counted {expected + 1:,} transactions, but {expected:,} were" in shown.sentence


def test_a_payment_that_is_taken_away_is_missed(context: Context) -> None:
    """The top of the page says so, and the payment is named."""
    window = _window(context, ROBBED)
    of_window = context.run.ledger.filter(window_id=window.id, deal="payment")
    assert of_window["lost"].to_list() == [1]
    findings = context.run.ledger_findings.filter(window_id=window.id)
    assert findings["kind"].to_list() == ["lost"]
    [shown, *_] = answer(context).flaws
    assert shown == "ACKNOWLEDGED WORK IS GONE: the ledgers of 1 window show 1 lost."


def test_a_killed_server_keeps_acknowledged_work(context: Context) -> None:
    """The window has no numbers, but its ledger is compared, on a server that was started again."""
    window = _window(context, KILLED)
    assert "the server was ended by SIGKILL" in window.row["missing_because"]
    rows = context.run.ledger.filter(window_id=window.id).to_dicts()
    assert [row["deal"] for row in rows] == ["order", "payment"]
    assert all(row["acknowledged"] > 0 for row in rows)
    assert not any(row[name] for row in rows for name in ("lost", "differing", "returned"))
    assert context.run.directory.window(window.id).recovery_log.exists()


def test_every_window_has_its_surroundings(context: Context) -> None:
    """On this machine, whatever it is like."""
    baselines = [baseline.row for baseline in context.evidence.baselines]
    assert [row["point"] for row in baselines] == [f"users={users}" for users in FLAGS]
    for row in baselines:
        assert min(row["one_rounds_per_s"], row["all_rounds_per_s"]) > 0
        assert (row["read_p50_s"] is None) == (row["missing_because"] is not None)
    around = context.run.surroundings
    assert sorted(around["window_id"]) == sorted(window.id for window in context.evidence.windows)
    for row in around.to_dicts():
        assert row["span_s"] >= 3  # a second of ramp-up, two of measurement
        # Nobody could ask the server that was killed.
        assert row["window_id"] == f"w-a-u{KILLED}-b0" or row["log_bytes"] > 0
    [lost] = around.drop_nulls("memory_limit_lost").to_dicts()
    assert lost["window_id"] == "w-a-u4-b0"
