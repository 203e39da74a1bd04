"""Before each block a run waits until the machine is quiet, and names who keeps it busy."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest

from fakes.machine import QUIET, FakeMachine
from stithy.hosts.activity import BusyProgram
from stithy.plan.cost import estimate_baseline_check
from stithy.results.files import read_rows
from stithy.results.tables import BASELINE
from stithy.run.context import Context
from stithy.run.events import MachineBusy
from stithy.run.executor import execute
from support.faked_run import FakedRun
from support.running import write_study

pytestmark = pytest.mark.usefixtures("own_state")
BUSY = replace(QUIET, cpu_share=0.2, programs=(BusyProgram("cargo", 7, 0.15, 3 * 2**20),))
TEXT = "CPUs 20% busy: cargo (7) 15% CPU, 3 MiB/s"
Waited = list[tuple[float | None, str | None]]


@pytest.fixture
def faked(tmp_path: Path) -> FakedRun:
    """Two blocks, one a level; each waits for at most 15 s."""
    text = write_study(tmp_path / "s.yaml", {n: tmp_path / n for n in "ab"}, users=(1, 2))
    return FakedRun(tmp_path, text=text.read_text() + "quiet: {wait: 15 s}\n")


def _watched(monkeypatch: pytest.MonkeyPatch, looks: str) -> list[Collection[int]]:
    """What each look at the machine sees; returns the process ids of the run that it is given."""
    left, asked = iter(looks), []

    def look(_: FakeMachine, pids: Collection[int] = ()) -> object:
        asked.append(pids)
        return BUSY if next(left) == "b" else QUIET

    monkeypatch.setattr(FakeMachine, "activity", look)
    return asked


def _rows(context: Context) -> Waited:
    rows = read_rows(context.session.directory.table("baseline"), BASELINE)
    return [(row["waited_s"], row["busy_because"]) for row in rows]


@pytest.mark.parametrize(("looks", "waited", "told_at"), [
    ("qqq" "qqq", [(3, None), (3, None)], []),
    ("bqqbqqq" "qqq", [(7, None), (3, None)], [0]),
    (12 * "b" + "qqq" + "qqq", [(15, None), (3, None)], [0, 10]),
    (15 * "b" + "qqq", [(15, TEXT), (3, None)], [0, 10]),
    ("q" + 14 * "b" + "bqq", [(15, TEXT), (3, TEXT)], [1, 10, 0]),
], ids=["quiet", "a moment", "in time", "in vain", "in vain, then a look"])  # fmt: skip
def test_a_block_waits_until_the_machine_is_quiet(
    faked: FakedRun, monkeypatch: pytest.MonkeyPatch, looks: str, waited: Waited, told_at: list[int]
) -> None:
    """Three looks in a row; at most as long as the study says, and briefly after a wait in vain."""
    context = faked.start()
    asked = _watched(monkeypatch, looks)
    assert execute(context, faked.deciders).end == "finished"
    assert _rows(context) == waited
    told = [event for event in faked.events if isinstance(event, MachineBusy)]
    assert [event.waited_s for event in told] == told_at
    assert {event.text for event in told} <= {TEXT}
    assert len(asked) == len(looks)
    logged = context.session.directory.log.read_text()
    assert logged.count('"machine_busy"') == len(told)


def test_a_run_that_is_told_so_measures_at_once(
    faked: FakedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By `--no-wait`, or by a wait of 0 s: nobody looks, and no wait is recorded."""
    faked.waits = False
    context = faked.start()
    _watched(monkeypatch, "")
    assert execute(context, faked.deciders).end == "finished"
    assert _rows(context) == [(None, None), (None, None)]
    checks = [step for step in context.steps if step.kind == "baseline-check"]
    assert {step.cost for step in checks} == {estimate_baseline_check(0)}


def test_ctrl_c_ends_a_wait(faked: FakedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a look."""
    context = faked.start()
    _watched(monkeypatch, "b")
    faked.on_event = lambda e: faked.stop.signal() if isinstance(e, MachineBusy) else None
    assert execute(context, faked.deciders).end == "interrupted"
