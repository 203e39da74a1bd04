"""What the report says of a load by its specification: isolation, deliveries, orders."""

from pathlib import Path
from typing import Any

from conftest import ROOT
from stithy.report.context import context_of
from stithy.report.parts.proof import specified_sentences
from stithy.results.read import read_run
from stithy.workload.workloads.order_entry import WORKLOAD
from support.sample_run import Shape, build_run, window_id


def said(root: Path, changes: dict[str, Any] | None = None, **load: Any) -> str:
    """The sentences of a run of one window of one candidate."""
    changed = {window_id("disk", 4, 0): changes or {}}
    build_run(root, Shape(candidates=("disk",), users=(4,), load=load, changes=changed))
    return " ".join(specified_sentences(context_of(read_run(root))))


def test_read_committed_is_said_to_be_less_than_specified(tmp_path: Path) -> None:
    """The default, in which nothing conflicts."""
    text = said(tmp_path, {"retries": 0})
    assert "Transactions ran at read committed, as those of most applications do." in text
    assert "The specification asks for more: repeatable read or serializable" in text
    assert "repeated" not in text


def test_orders_beyond_what_keyed_users_give_are_no_keyed_load(tmp_path: Path) -> None:
    """From a tenth above 12.86 a warehouse; ten times as much data make it possible."""
    warehouses = 10
    bound = "Ten users who key and think as specified give at most 12.86: this is no keyed load."
    assert bound in said(tmp_path / "busy", {"nopm": 30_000.0})
    assert "12.86" not in said(tmp_path / "calm", {"nopm": 12.86 * warehouses})
    assert "the specification has ten users there" in said(
        tmp_path / "crowded", {"nopm": 30_000.0}, pace="keyed"
    )


def test_the_page_of_deviations_is_named_and_there(tmp_path: Path) -> None:
    """Whatever the load."""
    assert WORKLOAD.deviations in said(tmp_path)
    page = (ROOT / WORKLOAD.deviations).read_text()
    for word in ("isolation", "deferred", "brand", "addresses", "12.86", "decks of 23 cards"):
        assert word in page
