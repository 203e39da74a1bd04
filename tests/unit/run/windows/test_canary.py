"""The canary of a run: done before each block, written down, and never the end of a run."""

from pathlib import Path

import polars as pl
import pytest

from fakes.hammer import FakeHammer
from stithy.errors import InfrastructureError
from support.faked_run import FakedRun
from support.running import entries, left_by


def rows(faked: FakedRun) -> list[dict[str, object]]:
    """The table of the run."""
    return pl.read_parquet(faked.out / "tables/canary.parquet").to_dicts()


def test_each_block_has_its_row(tmp_path: Path) -> None:
    """With what came of it; its file is in the run's own directory, and goes with it."""
    faked = FakedRun(tmp_path)
    assert faked.run().end == "finished"
    found = rows(faked)
    assert [(row["users"], row["block"]) for row in found] == [(1, 0), (2, 0)]
    first = entries(faked.out, "step-started", kind="restore")[0].facts["id"]
    assert first == f"restore-{found[0]['window_id']}"
    assert (found[0]["one_rounds_per_s"], found[0]["read_p50_s"]) == (1000, 0.0001)
    assert found[0]["missing_because"] is None
    [place] = {path.parent for path in faked.hammer.canaries}
    assert not place.exists()
    assert left_by(faked.out) == []


def test_a_canary_that_could_not_be_had_ends_no_run(tmp_path: Path) -> None:
    """The row says why there are no numbers."""
    gone = InfrastructureError("no room for a thread", where="canary", remedy="make some")
    faked = FakedRun(tmp_path, hammer=FakeHammer({"canary": gone}))
    assert faked.run().end == "finished"
    assert {row["missing_because"] for row in rows(faked)} == {"canary: no room for a thread"}
    assert {row["one_rounds_per_s"] for row in rows(faked)} == {None}
    ended = [each.facts for each in entries(faked.out, "step-finished")]
    told = {facts["result"] for facts in ended if facts["id"].startswith("canary-")}
    assert told == {"not done: canary: no room for a thread"}


def test_what_a_resumed_run_measures_anew_has_its_canary_anew(tmp_path: Path) -> None:
    """Of blocks whose first window was measured the old one stays; none is there twice."""
    faked = FakedRun(tmp_path)

    def cut() -> None:
        if len(faked.hammer.runs) == 2:
            raise RuntimeError("cut off")

    faked.hammer.before_run = cut
    with pytest.raises(RuntimeError):
        faked.run()
    before = rows(faked)
    faked.hammer.before_run = lambda: None
    assert faked.resume().end == "finished"
    after = rows(faked)
    assert len(before) == len(after) == len({row["window_id"] for row in after}) == 2
    assert after[0] == before[0]
    assert len(faked.hammer.canaries) == 3
