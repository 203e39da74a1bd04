"""How the database was driven is said in every footer, and loudly where it was not as specified."""

from pathlib import Path
from typing import Any

import pytest

from stithy.report.context import context_of
from stithy.report.figure import Figure
from stithy.report.page import Page, build, render
from stithy.report.parts.answer import main_findings
from stithy.report.words import driving
from stithy.results.manifest import LoadFacts
from stithy.results.read import read_run
from stithy.workload.words import HAMMERDB
from support.html_page import read_page
from support.sample_run import Shape, build_run, manifest, window_id

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
    assert driving.said(load(**facts)) == said


def test_what_is_not_recorded_is_not_made_up() -> None:
    """A run whose manifest cannot be read says so."""
    assert driving.said(None) == "How users acted is not recorded"
    assert driving.label(None) is None


def test_every_figure_says_how_it_was_driven(tmp_path: Path) -> None:
    """In its footer; an open loop's levels are connections."""
    page, html = made(tmp_path / "run", Shape(load=OPEN))
    assert page.figures
    for figure in page.figures:
        assert "Open loop, 500/s Poisson" in figure.footer, figure.name
    throughput = next(each for each in page.figures if each.name == "nopm-by-users")
    assert "Connections of the open loop" in str(throughput.spec)
    assert "tpm-per-user" not in {figure.name for figure in page.figures}
    assert "The load is an open loop" in html
    assert "closed loop: each waits" not in html


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


def test_touched_data_are_told_beside_the_memory(tmp_path: Path) -> None:
    """With the server's buffers and the limit, where it was enforced."""
    page, html = made(tmp_path / "run", Shape())
    told = (
        "Users reach all 1.02 GiB; the server has 384 MiB of shared buffers and a memory limit of "
        "1 GiB."
    )
    assert page.context.reach == told
    assert told in html
    free, _ = made(tmp_path / "free", Shape(memory_limit_enforced=False))
    assert (
        free.context.reach == "Users reach all 1.02 GiB; the server has 384 MiB of shared buffers."
    )


def test_waits_and_losses_have_columns_where_there_are_any(tmp_path: Path) -> None:
    """An open loop has no missed starts; a pool that is never short shows its short waits."""
    window = window_id("disk", 4, 0)
    changes = {"unserved": 500, "connections_lost": 2, "first_success_s": 1.5}
    page, _ = made(tmp_path / "run", Shape(changes={window: changes}))
    shown = [show.heading for show in page.tables["windows"].columns]
    assert "Missed starts" in shown
    assert "Unserved" in shown
    assert "Pool wait, p99" not in shown
    driver = [show.heading for show in page.tables["driver"].columns]
    assert {"Priority (nice)", "Connections", "Lost", "First success after a loss"} <= set(driver)
    plain, _ = made(tmp_path / "plain", Shape())
    assert "Unserved" not in [show.heading for show in plain.tables["windows"].columns]
    assert "Lost" not in [show.heading for show in plain.tables["driver"].columns]


def test_who_waits_has_a_strip_second_by_second(tmp_path: Path) -> None:
    """Where anybody does: a strip of zeros tells nothing."""

    def strips(root: Path, waiting: int) -> list[Figure]:
        page, _ = made(root, Shape(waiting=waiting))
        return [each for each in page.figures if each.name.startswith("seconds-")]

    waited, plain = strips(tmp_path / "run", 7), strips(tmp_path / "plain", 0)
    assert len(waited) == len(plain) == 3
    for figure in waited:
        assert "Waiting: transactions that were due" in figure.caption
        assert "waiting" in [show.column for show in figure.table.columns]
        assert figure.table.frame["waiting"].unique().to_list() == [7.0]
    for figure in plain:
        assert "Waiting" not in figure.caption
        assert "waiting" not in [show.column for show in figure.table.columns]


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
    same = driving.reached([_reaching(), _reaching()])
    assert same == (
        "Users reach all 1 GiB; the server has 128 MiB of shared buffers and a memory limit of "
        "1 GiB."
    )
    without = "Users reach all 1 GiB; the server has 128 MiB of shared buffers."
    assert driving.reached([_reaching(), _reaching(memory_limit_bytes=2**32)]) == without
    assert driving.reached([_reaching(), _reaching(memory_limit_enforced=False)]) == without


def test_a_reach_that_grows_with_the_users_is_told_with_their_number() -> None:
    """Bound users reach the warehouses that have some."""
    rows = [_reaching(users=10, warehouses_touched=1), _reaching(users=50, warehouses_touched=5)]
    told = driving.reached(rows)
    assert told is not None
    assert told.startswith("At 50 users, users reach about 512 MiB of 1 GiB (5 of 10 warehouses)")
    assert driving.reached([]) is None
