"""Keyed users: from a study to its report."""

from pathlib import Path

import polars as pl
import pytest

from stithy.results.layout import RunDirectory
from support.running import Stithy, window_row, write_study

pytestmark = [pytest.mark.needs_postgresql, pytest.mark.long]


def test_keyed_users_are_at_home_and_hand_in_their_deliveries(stithy: Stithy, place: Path) -> None:
    """Hundreds of them are hardly any load."""
    study = write_study(
        place / "study.yaml", {"a": place / "a"}, users=[400], workload="users_per_warehouse: 400",
        load={"pace": "keyed", "connections": "2"},
    )  # fmt: skip
    run = RunDirectory(place / "out")
    stithy.run_well("run", study, "--out", run.root)
    row = window_row(run.root, "w-a-u400-b0")
    assert (row["pace"], row["transactions"] > 0) == ("keyed", True)
    laws = pl.read_parquet(run.report / "tables" / "identities.parquet")
    assert False not in laws["holds"].to_list()
