"""Real windows into which somebody meddles, each in another way: each is reported, and no other."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stithy.analysis.evidence import Window
from stithy.collectors import cpu
from stithy.engines.postgresql.connection import connect
from stithy.engines.postgresql.url import parse_url
from stithy.report.context import Context
from stithy.secrets import Secret
from stithy.validity import Flag
from support import flags
from support.meddled import meddled
from support.places import a_place
from support.points import at
from support.running import entries

pytestmark = [pytest.mark.needs_postgresql, pytest.mark.needs_cgroup]

COMMITS = 1_000
"""More than 2 % of what users commit in three seconds on a quick disk; fewer are only noted."""

FLAGS: dict[int, set[Flag]] = {
    1: set(),
    2: {flags.COMMITS},
    3: {flags.HEADLINE_COUNT, flags.CONDITIONS},
    4: {flags.MEMORY_LIMIT_LOST},
    5: {flags.COLLECTOR},
}
"""What each deed must lead to, by the number of users; with one nothing is done."""


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
        deeds = {2: commit, 3: skip_an_order, 4: lambda url: widen(place / "out"), 5: fall}
        yield meddled(place, patch, [*FLAGS], during=deeds)


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


def test_every_block_had_its_baseline_and_every_window_its_surroundings(context: Context) -> None:
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
        assert row["log_bytes"] > 0
    [lost] = around.drop_nulls("memory_limit_lost").to_dicts()
    assert lost["window_id"] == "w-a-u4-b0"
