"""How the database was driven is said in every footer, and loudly where it was not as specified."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stithy.report.context import context_of
from stithy.report.page import Page, build, render
from stithy.report.parts.answer import main_findings
from stithy.report.words import loads
from stithy.results.manifest import LoadFacts
from stithy.results.read import read_run
from stithy.workload.words import HAMMERDB
from support.html_page import read_page
from support.sample_drives import drive_rows
from support.sample_run import Shape, build_run, manifest

OPEN = {"pace": "rate", "rate_per_s": 500.0, "arrivals": "poisson"}


def load(**changes: Any) -> LoadFacts:
    """A manifest's load with these facts."""
    return manifest(Shape(load=changes)).load


def made(root: Path, shape: Shape) -> tuple[Page, str]:
    """The page of a run and its HTML, without the time that drawing takes."""
    build_run(root, shape)
    page = build(context_of(read_run(root)))
    html = render(page, {figure.name: "<svg></svg>" for figure in page.figures})
    return page, html.replace("\N{NO-BREAK SPACE}", " ")


SAID: list[tuple[dict[str, Any], str]] = [
    ({}, "Closed loop, back to back, a connection each, specified mix and keys, read committed"),
    (
        {"pace": "keyed", "connections": 64},
        "Closed loop, keyed as specified, deliveries deferred, over 64 connections, specified mix "
        "and keys, read committed",
    ),
    (
        {"pace": "think", "think_s": 2.0, "touch_percent": 30},
        "Closed loop, think 2 s, a connection each, 30 % of the warehouses in reach, specified mix "
        "and keys, read committed",
    ),
    (
        OPEN,
        "Open loop, 500/s Poisson, users are connections, specified mix and keys, read committed",
    ),
    (
        {"profile": "hammerdb"},
        f"Closed loop, back to back, a connection each, {HAMMERDB}, read committed",
    ),
    (
        {"pace": "think", "think_s": 2.0, "delivery": "deferred", "isolation": "repeatable-read"},
        "Closed loop, think 2 s, deliveries deferred, a connection each, specified mix and keys, "
        "repeatable read",
    ),
]


@pytest.mark.parametrize(("facts", "said"), SAID)
def test_loop_connections_and_profile_are_one_clause(facts: dict[str, Any], said: str) -> None:
    """Whatever the study asked."""
    assert loads.said(load(**facts)) == said


def test_what_is_not_recorded_is_not_made_up() -> None:
    """A run whose manifest cannot be read says so."""
    assert loads.said(None) == "How users acted is not recorded"
    assert loads.label(None) is None


def test_hammerdbs_profile_is_on_the_head_every_table_and_every_footer(tmp_path: Path) -> None:
    """Nobody can cut a number out without it."""
    page, html = made(tmp_path / "run", Shape(load={"profile": "hammerdb"}))
    assert f"<title>{HAMMERDB}" in html
    assert f'<p class="label">{HAMMERDB}</p>' in html
    assert all(HAMMERDB in figure.footer for figure in page.figures)
    tables = [each for each in read_page(html).tables if not each.name.startswith("facts-")]
    assert html.count(f"· {HAMMERDB}</caption>") == len(tables) > 5
    assert main_findings(page.context)[0] == f"{HAMMERDB}."
    plain_page, plain = made(tmp_path / "plain", Shape())
    assert HAMMERDB not in plain
    assert HAMMERDB not in " ".join(main_findings(plain_page.context))


def _reaching(**facts: object) -> dict[str, object]:
    """A window's row, as far as reach is concerned."""
    return {
        "users": 10,
        "warehouses_touched": 10,
        "warehouses_total": 10,
        "database_bytes": 2**30,
        "shared_buffers_bytes": 2**27,
        "memory_limit_bytes": 2**30,
        "memory_limit_enforced": True,
        **facts,
    }


def test_the_reach_names_no_memory_limit_that_holds_for_some_windows_only() -> None:
    """The footer tells each candidate's."""
    same = loads.reached([_reaching(), _reaching()])
    assert same == (
        "Users reach all 1 GiB; the server has 128 MiB of shared buffers and a memory limit of "
        "1 GiB."
    )
    without = "Users reach all 1 GiB; the server has 128 MiB of shared buffers."
    assert loads.reached([_reaching(), _reaching(memory_limit_bytes=2**32)]) == without
    assert loads.reached([_reaching(), _reaching(memory_limit_enforced=False)]) == without


def test_a_reach_that_grows_with_the_users_is_told_with_their_number() -> None:
    """Bound users reach the warehouses that have some."""
    rows = [_reaching(users=10, warehouses_touched=1), _reaching(users=50, warehouses_touched=5)]
    told = loads.reached(rows)
    assert told is not None
    assert told.startswith("At 50 users, users reach about 512 MiB of 1 GiB (5 of 10 warehouses)")
    assert loads.reached([]) is None


def test_a_percentile_of_a_drive_rests_on_what_its_log_holds_of_the_measurement() -> None:
    """More was answered in the ramp-up, which says nothing of the seconds that were measured."""
    rows = [row | {"logged": logged} for logged in (9_999, 10_000) for row in drive_rows("w", 0.0)]
    table = loads.table(pl.DataFrame(rows), ["w"])
    p99_s = table.frame["latency_p99_s"].to_list()
    assert [value is None for value in p99_s] == [True] * 4 + [False] * 4
