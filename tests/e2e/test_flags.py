"""Real windows into which somebody meddles, each in another way: each is told, and no other."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stithy.analysis.evidence import Window
from stithy.analysis.validity.reasons import Flag
from stithy.collect.collectors.cpu import Cpu
from stithy.database.engines.postgresql.connection import connect, parse_url
from stithy.hosts.runner import Runner
from stithy.report.context import Context, context_of
from stithy.results.read import read_run
from stithy.run.executor import execute
from stithy.run.preparation.equip import Tools
from stithy.run.start import start_run
from stithy.run.stop import Stop
from stithy.secrets import Secret
from stithy.wire.jobs import WorkloadSize
from stithy.wire.messages import AnyMessage, Second
from stithy.workload.hammer import Hammer
from stithy.workload.program import NOBODY, Driven, RunRequest, Watch
from support.places import a_place
from support.running import entries, left_by, write_study

pytestmark = [pytest.mark.needs_postgresql, pytest.mark.needs_cgroup]

COMMITS = 200
"""More than sessions, quiet readings and autovacuum of a window of two seconds may add."""


class Meddler(Hammer):
    """A hammer with somebody behind its back; what he does depends on the number of users."""

    deeds: dict[int, Callable[[Secret], None]]

    def __init__(self, runner: Runner, url: Secret) -> None:
        """As the hammer."""
        super().__init__(runner, url)
        self._database = url

    def run(self, workload: WorkloadSize, request: RunRequest, *, watch: Watch = NOBODY) -> Driven:
        """Drive; the deed of this level is done in the second second."""

        def on_message(message: AnyMessage) -> None:
            if isinstance(message, Second) and message.second == 1:
                self.deeds.get(request.users, nothing)(self._database)

        return super().run(workload, request, watch=Watch(watch.raw_output, on_message, watch.stop))


def nothing(url: Secret) -> None:
    """Leave the window alone."""


def commit(url: Secret) -> None:
    """Another client at work."""
    with connect(parse_url(url)) as session:
        for _ in range(COMMITS):
            session.run("SELECT txid_current()")


def skip_an_order(url: Secret) -> None:
    """A number is gone that no order has: as if one had been lost."""
    with connect(parse_url(url)) as session:
        session.run(
            "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = 1"
        )


def widen(out: Path) -> None:
    """Lift the server's memory limit."""
    path = Path(entries(out, "creating", kind="cgroup")[-1].facts["facts"]["path"])
    # A limit of memory and swap together cannot be below one of memory.
    for name in ("memory.memsw.limit_in_bytes", "memory.limit_in_bytes"):
        if (path / name).exists():
            (path / name).write_text("-1")
    if (path / "memory.max").exists():
        (path / "memory.max").write_text("max")


@pytest.fixture(scope="module")
def meddled() -> Iterator[Context]:
    """A run whose windows were meddled with, but for the first."""

    def fall(url: Secret) -> None:
        def sample(self: Cpu) -> None:
            raise RuntimeError("it fell")

        patch.setattr(Cpu, "sample", sample)

    with a_place() as place, pytest.MonkeyPatch.context() as patch:
        out = place / "out"
        deeds = {2: commit, 3: skip_an_order, 4: lambda url: widen(out), 5: fall}
        patch.setenv("STITHY_STATE", str(place / "state"))
        patch.setattr(Meddler, "deeds", deeds, raising=False)
        study = write_study(place / "study.yaml", {"a": place / "a"}, users=[1, 2, 3, 4, 5])
        tools = Tools(hammer=lambda runner, cpus: lambda url: Meddler(runner, url))
        outcome = execute(start_run(study, out, Stop(), lambda event: None, tools))
        patch.undo()
        assert outcome.error is None
        assert left_by(out) == []
        yield context_of(read_run(out))


def window(context: Context, users: int) -> Window:
    """The window at this level."""
    [found] = context.evidence.at("a", users)
    return found


def flags(context: Context, users: int) -> set[Flag]:
    """What is said of the window at this level."""
    return {reason.flag for reason in window(context, users).reasons}


MEDDLED = {
    2: {Flag.COMMITS},
    3: {Flag.ORDER_NUMBERS, Flag.CONDITIONS},
    4: {Flag.MEMORY_LIMIT_LOST},
    5: {Flag.COLLECTOR},
}
"""What each deed must lead to."""


@pytest.mark.parametrize("users", MEDDLED)
def test_what_somebody_did_to_a_window_makes_it_invalid(meddled: Context, users: int) -> None:
    """Each by its own flag, and by no other of these."""
    of_deeds = set().union(*MEDDLED.values())
    assert flags(meddled, users) & of_deeds == MEDDLED[users]
    assert not window(meddled, users).valid


def test_a_window_that_was_left_alone_has_none_of_these(meddled: Context) -> None:
    """Its counters agree, its limit held, its collectors lived."""
    assert not flags(meddled, 1) & set().union(*MEDDLED.values())
    row = window(meddled, 1).row
    assert row["server_commits"] >= row["client_commits"]


def test_counters_that_disagree_are_told_with_their_numbers(meddled: Context) -> None:
    """So that a reader can see by how much."""
    row = window(meddled, 2).row
    assert row["server_commits"] - row["client_commits"] >= COMMITS
    [told] = [each for each in window(meddled, 2).reasons if each.flag is Flag.COMMITS]
    assert f"{row['server_commits']:,}" in told.sentence
    [told] = [each for each in window(meddled, 3).reasons if each.flag is Flag.ORDER_NUMBERS]
    expected = window(meddled, 3).row["new_orders_acknowledged"]
    assert f"grew by {expected + 1:,}, but {expected:,} new orders" in told.sentence


def test_every_block_had_its_canary_and_every_window_its_surroundings(meddled: Context) -> None:
    """On this machine, whatever it is like."""
    canaries = [canary.row for canary in meddled.evidence.canaries]
    assert [row["users"] for row in canaries] == [1, 2, 3, 4, 5]
    for row in canaries:
        assert row["one_rounds_per_s"] > 0
        assert row["all_rounds_per_s"] > 0
        assert (row["read_p50_s"] is None) == (row["missing_because"] is not None)
    around = meddled.run.surroundings
    assert sorted(around["window_id"]) == sorted(each.id for each in meddled.evidence.windows)
    for row in around.to_dicts():
        assert row["span_s"] >= 3  # a second of ramp-up, two of measurement
        assert row["log_bytes"] > 0
    [lost] = around.drop_nulls("memory_limit_lost").to_dicts()
    assert lost["window_id"] == "w-a-u4-b0"
