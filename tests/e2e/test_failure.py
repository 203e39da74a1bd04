"""A server is killed and held under its users: nothing is lost, and nothing stays broken."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from stithy.report.blocks import Figure
from stithy.report.context import Context, make_context
from stithy.report.page import Page
from stithy.report.sections.answer import answer
from stithy.results.files import read_run
from stithy.results.layout import RunDirectory
from stithy.scenarios.failure.judge import Suffered
from support.running import Stithy, entries, left_by, write_study

pytestmark = pytest.mark.needs_postgresql


def study(place: Path, faults: str, candidates: Mapping[str, Path | str] | None = None) -> Path:
    """Two users on one candidate; a fault of a second after a second."""
    return write_study(
        place / "study.yaml", candidates or {"a": place / "a"}, users=[2], duration="6 s",
        load={"ledger": "true"}, scenario=f"{{failure: {{faults: {faults}, at: 1 s, heal: 1 s}}}}",
    )  # fmt: skip


def test_a_run_killed_in_a_fault_resumes(stithy: Stithy, place: Path) -> None:
    """A held server ends with it; the resumed run has both faults, their pauses, and no loss."""
    out = place / "run"
    window = "w-a-u2-faultserver-hung-b0"
    journal = RunDirectory(out).journal
    held = place / "run" / "windows" / window / "hammer.jsonl"
    stithy.kill(
        lambda: journal.exists() and held.exists() and _is_second(held, 2),
        "run", study(place, "[server-killed, server-hung]"), "--out", out,
    )  # fmt: skip
    assert not entries(out, "step-finished", id=window)
    stithy.run("resume", out)
    context = make_context(read_run(out))
    suffered = {each.happened: each for each in Suffered.list_in(context.evidence)}
    assert suffered.keys() == {"server-killed", "server-hung"}
    for fault, each in suffered.items():
        [of] = each.evidence.at("a", each.point)
        assert not each.list_lost(), fault
        assert of.row["ledger_acknowledged"] > 0, fault
        assert of.row["ledger_unverified_because"] is None, fault
        [(from_s, to_s)] = [
            (span["from_s"], span["to_s"]) for span in of.spans if span["name"] == "fault"
        ]
        assert 0.9 < to_s - from_s < 10, fault
        gap_from_s, gap_to_s = of.row["gap_from_s"], of.row["gap_from_s"] + of.row["gap_s"]
        common_s = min(gap_to_s, to_s) - max(gap_from_s, from_s)
        assert common_s > 0.5 * (to_s - from_s), "the longest gap is that of the fault"
    killed = suffered["server-killed"].evidence.at("a", suffered["server-killed"].point)[0]
    assert (killed.row["connections_lost"], killed.row["errors"]) == (2, 0)
    assert left_by(out) == []
    _assert_reported(context)


def _assert_reported(context: Context) -> None:
    """Both faults are in the first sentences, the matrix, the phases and a figure each."""
    page, said = Page(context), answer(context)
    assert said.headline.startswith("a kept every commit through a killed server, with a pause")
    assert said.detail.startswith("a kept every commit through a server that hangs, with a pause")
    [row] = page.tables["survival"].cells()
    assert [cell.text[:22] for cell in row[1:]] == ["promised: kept, paused"] * 2
    phases = page.tables["failure-phases"].frame
    assert {*phases["fault"]} == {"server-killed", "server-hung"}
    assert phases.filter(pl.col("phase") == "after")["tpm"].min() > 0  # type: ignore[operator] # a number
    drawn = [each for each in page.find_drawn("failure") if isinstance(each, Figure)]
    assert len(drawn) == 2
    for rates in (each.table.frame["per_s"].to_list() for each in drawn):
        assert min(rates) < 0.7 * max(rates), "a pause shows"


def _is_second(output: Path, number: int) -> bool:
    """Whether the users of a window have worked for so many seconds."""
    return f'"second":{number}' in output.read_text().replace(" ", "")


MIRROR = "{drive: gp3, count: 2, layer: {btrfs: {level: raid1}}}"


@pytest.mark.needs_drive
def test_a_mirror_survives_a_lost_drive_and_a_power_cut(stithy: Stithy, place: Path) -> None:
    """An empty drive is rebuilt; what was acknowledged is there after both, and nothing is left."""
    faults = "{drive-lost: {drive: 2}, drive-power-cut: {lost: 100%, torn: 0%}}"
    path = study(place, faults, {"m": MIRROR})
    stithy.run_well("run", path, "--out", place / "run")
    suffered = {
        of.happened: of for of in Suffered.list_in(make_context(read_run(place / "run")).evidence)
    }
    assert suffered.keys() == {"drive-lost", "drive-power-cut"}
    for fault, of in suffered.items():
        [window] = of.evidence.at("m", of.point)
        assert not of.list_lost(), fault
        assert window.row["ledger_acknowledged"] > 0, fault
        assert window.row["ledger_unverified_because"] is None, fault
        found = {name: window.values[f"fault.{name}", "all"]["value"]
                 for name in ("promised", "damaged")}  # fmt: skip
        assert found == {"promised": 1, "damaged": 0}, fault
        outcomes = {span["name"]: span["outcome"] for span in window.spans}
        assert outcomes["check"] == "no damage", fault
        assert outcomes.get("rebuild", "").endswith("rebuilt") is (fault == "drive-lost")
    cut = suffered["drive-power-cut"].evidence.at("m", suffered["drive-power-cut"].point)[0]
    assert cut.row["connections_lost"] == 2
    assert cut.row["gap_s"] > 0.9
    assert left_by(place / "run") == []
