"""The manifest as tables of facts."""

from pathlib import Path

from stithy.report.parts import facts
from stithy.results.manifest import CostFacts, Manifest
from stithy.results.read import read_run
from support.sample_run import Shape, build_run


def test_a_size_is_told_exactly_and_once(tmp_path: Path) -> None:
    """A size that is exact in its short form is not repeated in bytes."""
    build_run(tmp_path, Shape(users=(1,)))
    manifest = read_run(tmp_path).manifest
    assert manifest is not None
    small = manifest.model_copy(
        update={"memory": manifest.memory.model_copy(update={"limit_bytes": 512})}
    )
    for known, said in ((manifest, "1 GiB (1,073,741,824 B)"), (small, "512 B")):
        database = next(each for each in facts.tables(known) if each.name == "facts-database")
        told = dict(database.frame.iter_rows())
        assert said in told.values()


def test_what_a_candidate_costs_is_told_and_no_more_than_the_study_says(tmp_path: Path) -> None:
    """A candidate without a cost has a gap there, and none has the row if nothing costs."""
    build_run(tmp_path, Shape(users=(1,), costs={"disk": CostFacts(amount=1200, currency="EUR")}))
    told = read_run(tmp_path).manifest
    assert told is not None
    frame = facts.tables(told)[0].frame
    [row] = [row for row in frame.iter_rows(named=True) if row["fact"] == "cost"]
    assert row["value:disk"] == "1,200 EUR"
    assert row["value:memory"] is None


def test_a_rate_has_its_unit_and_a_remark_that_nobody_made_no_row(tmp_path: Path) -> None:
    """What the driver can do, as an example; why a run ended is told where there is a reason."""
    build_run(tmp_path, Shape(users=(1,)))
    manifest = read_run(tmp_path).manifest
    assert manifest is not None
    told = _told(manifest)
    assert told["calibration of the driver: rate max"] == "12,000/s"
    assert [fact for fact in told if fact.endswith(("because", "note"))] == []
    broken = manifest.model_copy(update={"end": "failed", "end_because": "the server died"})
    assert _told(broken)["end because"] == "the server died"


def _told(manifest: Manifest) -> dict[str, str]:
    """All facts that do not belong to a candidate."""
    named = [each for each in facts.tables(manifest) if "value" in each.frame.columns]
    return {fact: value for each in named for fact, value in each.frame.iter_rows()}
