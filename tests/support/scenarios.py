"""Backups and neighbours on any storage, as small as they can be, and what their runs must tell."""

from pathlib import Path

from stithy.errors import Exit
from stithy.report.context import make_context
from stithy.report.page import Page
from stithy.results.files import Run, read_run
from support.running import Stithy, left_by, write_study

PROVEN = "restored, all conditions hold, nothing acknowledged before it is missing"
ENDED_WELL = (Exit.OK, Exit.INVALID)
"""Where CPUs are busy a driver or a drive may be late: such a window is invalid."""


def backed_up(stithy: Stithy, place: Path, storage: str) -> None:
    """Back a database on a storage up while users work: what is restored is equal and reported."""
    study = write_study(
        place / "s.yaml", {"a": storage}, users=[1], load={"rate": "20/s", "ledger": "true"},
        scenario="{backup: {cycles: 1}}",
    )  # fmt: skip
    run, said = _ended_well(stithy, place, study)
    assert "10 tables are equal after backup and restore, nothing acknowledged is missing" in said
    outcomes = {row["name"]: row["outcome"] for row in run.spans.to_dicts()}
    assert outcomes == {"backup 1": "done", "restore": PROVEN}
    for name in ("duration_s", "size_bytes", "restore_s"):
        assert min(_values(run, f"backup.{name}", "all")) > 0, name
    _assert_reported(run, "backup")


def disturbed(stithy: Stithy, place: Path, storage: str) -> None:
    """Two tenants on a storage beside a neighbour: each has its values, and they are reported."""
    study = write_study(
        place / "s.yaml", {"a": storage}, users=[1], load={"rate": "20/s"},
        scenario="{noisy-neighbour: {tenants: 2, rate: [20], size: 16 MiB}}",
    )  # fmt: skip
    run, _ = _ended_well(stithy, place, study)
    for metric, of in (
        ("tenant.tpm", "tenant-1"), ("tenant.tpm", "tenant-2"), ("neighbour.achieved_per_s", "all"),
    ):  # fmt: skip
        assert min(_values(run, metric, of)) > 0, (metric, of)
    _assert_reported(run, "neighbours")


def _values(run: Run, metric: str, of: str) -> list[float]:
    """Of all windows."""
    found: list[float] = run.values.filter(metric=metric, of=of)["value"].to_list()
    assert found, metric
    return found


def _ended_well(stithy: Stithy, place: Path, study: Path) -> tuple[Run, str]:
    """Its results, and what it said; nothing is left."""
    ended = stithy.run("run", study, "--out", place / "out")
    said = ended.stdout + ended.stderr
    assert ended.returncode in ENDED_WELL, said
    assert [*left_by(place / "out"), *stithy.drives(), *stithy.registered()] == []
    return read_run(place / "out"), said


def _assert_reported(run: Run, name: str) -> None:
    """The report has the section, with a row for the one candidate."""
    page = Page(make_context(run))
    [section] = [each for each in page.sections if each.key == name]
    assert section.blocks
    assert page.tables[name].frame["candidate"].to_list() == ["a"]
