"""What is found out of machine and driver: the baseline check and the driver's headroom."""

import json
import os
from pathlib import Path

import polars as pl
import pytest

from fakes.hammer import FakeHammer
from stithy.errors import InfrastructureError
from stithy.hosts.activity import OtherLoad
from stithy.results.layout import RunDirectory
from stithy.run.events import Note
from stithy.run.windows import headroom as calibrating
from support.faked_run import FakedRun
from support.running import entries, left_by, manifest, window_row


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
    told = {facts["result"] for facts in ended if facts["id"].startswith("baseline-check-")}
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


CALIBRATED = {"calibrate": "true"}


def test_the_driver_is_calibrated_once_with_the_connections_of_the_largest_level(
    tmp_path: Path,
) -> None:
    """What it found is in a file of its own, in the manifest and in every window's row."""
    faked = FakedRun(tmp_path, load=CALIBRATED, users=(1, 3))
    faked.run()
    assert faked.hammer.calibrated == [3]
    kept = json.loads(RunDirectory(faked.out).calibration.read_text())
    assert kept["rate_per_s_max"] == 1000.0
    assert manifest(faked.out)["calibration"]["rate_per_s_max"] == 1000.0
    for users in (1, 3):
        assert window_row(faked.out, f"w-b-u{users}-b0")["driver_rate_per_s_max"] == 1000.0
    order = [entry.facts["id"] for entry in entries(faked.out, "step-started")]
    assert order.index("check-load") < order.index("calibrate") < order.index("snapshot")


def test_a_driver_that_is_late_at_every_rate_is_told_and_ends_no_run(tmp_path: Path) -> None:
    """The rate is missing, with the reason."""
    faked = FakedRun(tmp_path, load=CALIBRATED, hammer=FakeHammer(rate_per_s_max=None))
    assert faked.run().end == "finished"
    facts = manifest(faked.out)["calibration"]
    assert facts["rate_per_s_max"] is None
    assert "late at every rate" in facts["missing_because"]
    assert window_row(faked.out, "w-a-u1-b0")["driver_rate_per_s_max"] is None


@pytest.mark.parametrize(("cpu_s", "is_busy"), [(0.1, False), (5.0, True)])
def test_what_others_used_meanwhile_is_kept_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cpu_s: float, is_busy: bool
) -> None:
    """A busy host makes the driver look slow; a few processes of an idle one do not."""
    others = OtherLoad(10.0, cpu_s * len(os.sched_getaffinity(0)), 0, ("make",))
    monkeypatch.setattr(calibrating, "others_between", lambda before, after: others)
    faked = FakedRun(tmp_path, load=CALIBRATED)
    faked.run()
    assert manifest(faked.out)["calibration"]["others_share"] == pytest.approx(cpu_s / 10)
    assert window_row(faked.out, "w-a-u1-b0")["driver_others_share"] == pytest.approx(cpu_s / 10)
    told = [each.text for each in faked.events if isinstance(each, Note)]
    said = "other programs used 50 % of the CPUs during the calibration of the driver (make)"
    assert any(text.startswith(said) for text in told) is is_busy


def test_a_calibration_that_fails_ends_no_run(tmp_path: Path) -> None:
    """Head-room is then not proven, and the manifest says why."""
    fault = InfrastructureError("the server is gone", where="somewhere", remedy="none")
    faked = FakedRun(tmp_path, load=CALIBRATED, hammer=FakeHammer({"calibrate": fault}))
    assert faked.run().end == "finished"
    assert manifest(faked.out)["calibration"]["missing_because"] == "somewhere: the server is gone"


def test_a_study_that_does_not_want_it_is_not_calibrated(tmp_path: Path) -> None:
    """No step, no file, and the reason in the manifest."""
    faked = FakedRun(tmp_path)
    faked.run()
    assert faked.hammer.calibrated == []
    assert not RunDirectory(faked.out).calibration.exists()
    assert manifest(faked.out)["calibration"]["missing_because"] == "the study did not ask for it"


@pytest.mark.parametrize(
    ("pace", "users_max"), [("none", None), ("keyed", 500), ("{think: 2 s}", 500)]
)
def test_users_are_tried_only_where_they_pause(
    tmp_path: Path, pace: str, users_max: int | None
) -> None:
    """Of users who act back to back, a few are more than hundreds who pause."""
    load = {**CALIBRATED, "pace": pace}
    faked = FakedRun(tmp_path, load=load, hammer=FakeHammer(users_max=500))
    faked.run()
    assert window_row(faked.out, "w-a-u1-b0")["driver_users_max"] == users_max
    assert manifest(faked.out)["calibration"]["users_max"] == users_max
