"""A study with thresholds, from its file to its exit code."""

from pathlib import Path

import pytest

from support.running import Stithy, write_study


@pytest.mark.needs_postgresql
def test_a_real_study_decides_in_a_pipeline(stithy: Stithy, place: Path) -> None:
    """One command, one exit code, one file; the report again gives the same."""
    study = write_study(
        place / "study.yaml", {"a": place / "a"}, users=[1],
        thresholds=("a.nopm_at_1 >= 1", "a.payment.p50_at_1 <= 1us", "a.tpm_at_1 >= a.nopm_at_1"),
    )  # fmt: skip
    out, junit = place / "out", place / "junit.xml"
    ended = stithy.run("run", study, "--out", out, "--junit", junit)
    assert ended.returncode == 99, ended.stderr
    assert "Thresholds: 2 of 3 met" in ended.stdout
    written = junit.read_bytes()
    assert stithy.run("report", out, "--junit", junit).returncode == 99
    assert junit.read_bytes() == written
