"""The tables of the page beside those of its figures."""

from pathlib import Path

from stithy.report.context import context_of
from stithy.report.page_tables import conditions
from stithy.results.read import read_run
from support.sample_run import Shape, build_run


def test_conditions_stand_in_the_order_of_a_run(tmp_path: Path) -> None:
    """After loading, after windows, at the end; not by the alphabet."""
    build_run(tmp_path, Shape(users=(1,)))
    table = conditions(context_of(read_run(tmp_path)))
    moments = table.frame["moment"].unique(maintain_order=True).to_list()
    assert moments == ["load", "window", "end"]
