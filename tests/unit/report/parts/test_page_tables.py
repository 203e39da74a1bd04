"""The tables of the page beside those of its figures."""

from pathlib import Path

from stithy.report.context import context_of
from stithy.report.page import build
from stithy.report.parts.page_tables import conditions, windows
from stithy.results.read import read_run
from support.sample_run import Shape, build_run


def test_conditions_stand_in_the_order_of_a_run(tmp_path: Path) -> None:
    """After loading, after windows, at the end; not by the alphabet."""
    build_run(tmp_path, Shape(users=(1,)))
    table = conditions(context_of(read_run(tmp_path)))
    moments = table.frame["moment"].unique(maintain_order=True).to_list()
    assert moments == ["load", "window", "end"]


def test_every_window_tells_whether_it_was_steady(tmp_path: Path) -> None:
    """With the shares behind it in the files; what cannot be told is missing, with its reason."""
    build_run(tmp_path, Shape(users=(13,), duration_s=40, series=False))
    frame = windows(context_of(read_run(tmp_path))).frame
    assert frame["steady"].to_list() == [True, True]
    assert frame["late_s"].to_list() == [0, 0]
    build_run(tmp_path / "short", Shape(users=(13,), duration_s=10, series=False))
    frame = windows(context_of(read_run(tmp_path / "short"))).frame
    assert frame["steady"].to_list() == [None, None]
    assert set(frame["steady_unknown_because"]) == {"it is shorter than 15 s"}


def test_levels_of_an_open_loop_are_connections(tmp_path: Path) -> None:
    """Nobody reads of users where a rate was asked for."""
    rate = {"rate_per_s": 500.0, "pace": "rate"}
    build_run(tmp_path, Shape(users=(16, 64), load=rate))
    made = build(context_of(read_run(tmp_path)))
    summary = made.tables["summary"]
    assert summary.columns[0].heading == "Connections"
    assert summary.caption.endswith("by number of connections")
    for figure in made.figures:
        assert "virtual users" not in figure.description, figure.name
        assert "users" not in [show.heading for show in figure.table.columns], figure.name
