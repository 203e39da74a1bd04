"""Rounds before block I/O: they end by the rule, and each is among the results at once."""

from pathlib import Path

import pytest

from stithy.fio.load import CHECK_BYTES, plan
from stithy.fio.profile import Pattern
from stithy.plan.expand import expand
from stithy.results.files import read_rows, read_run
from stithy.run.events import Note, StepProgress
from stithy.scenarios.block_io.activity import load_of, repeat_until_steady
from stithy.scenarios.block_io.declared import PRECONDITIONING
from stithy.scenarios.block_io.keys import BlockIoSpec
from stithy.study.load import parse_study
from support.faked_run import FakedRun

PLAN = plan("snia", is_device=False)


@pytest.fixture
def faked(tmp_path: Path, own_state: Path) -> FakedRun:
    """A run of which only its session is used."""
    return FakedRun(
        tmp_path,
        text="study: x?\ncandidates: {a: {path: '{root}/a'}, b: {path: '{root}/b'}}\n"
        "scenario: {block-io: {profiles: [sql], size: 16 MiB, precondition: snia}}\n",
    )


def falling(pattern: Pattern, number: int) -> tuple[float, float]:
    """Fresh storage gets slower until its sixth round."""
    return 1000.0 + 500.0 * max(0, 6 - number), 1e-3


def test_rounds_go_on_until_the_last_five_of_each_test_are_steady(faked: FakedRun) -> None:
    """From the sixth round on nothing changes: the tenth is the first with five alike."""
    context = faked.start()
    assert repeat_until_steady(context, "a", PLAN, falling) == "steady after 10 rounds"
    rows = read_rows(context.session.directory.table("preconditioning"), PRECONDITIONING)
    assert [row["round"] for row in rows] == [n for n in range(1, 11) for _ in PLAN.patterns]
    assert {row["steady"] for row in rows if row["round"] == 10} == {True}
    assert not any(row["steady"] for row in rows if row["round"] < 10)
    context.session.directory.windows.mkdir()
    assert read_run(faked.out).detail("preconditioning").height == len(rows)
    assert [each.done for each in faked.events if isinstance(each, StepProgress)] == list(range(10))
    notes = [event.text for event in faked.events if isinstance(event, Note)]
    assert "a: round 4 of at most 25, at most 1 h 24 min left" in notes


def test_after_25_rounds_the_state_is_what_it_is(faked: FakedRun) -> None:
    """It is said, and what was measured stays."""
    context = faked.start()
    unsteady = repeat_until_steady(context, "b", PLAN, lambda _, number: (100.0 * number, None))
    assert unsteady == "not steady after 25 rounds"
    rows = read_rows(context.session.directory.table("preconditioning"), PRECONDITIONING)
    assert len(rows) == 25 * len(PLAN.patterns)


@pytest.mark.parametrize("is_checked", [False, True])
def test_rounds_write_checksums_where_all_is_read_back_at_the_end(*, is_checked: bool) -> None:
    """Blocks without one were taken for damaged, on storage that was sound."""
    spec = BlockIoSpec(profiles=("sql",), precondition="snia", verify=is_checked)
    assert load_of(spec, 7, "libaio").verify is is_checked
    for pattern in PLAN.patterns:
        sizes = {size for stream in pattern.streams for size in stream.write_sizes}
        assert all(size % CHECK_BYTES == 0 for size in sizes)


@pytest.mark.parametrize(("how", "kinds"), [("fill", 0), ("snia", 2)])
def test_a_study_plans_rounds_for_each_candidate_where_it_asks_for_them(
    how: str, kinds: int
) -> None:
    """Before the first window, five rounds at the least and 25 at the most."""
    text = (
        "study: x?\ncandidates: {a: {path: /var/tmp/a}, b: {path: /var/tmp/b}}\n"
        f"scenario: {{block-io: {{profiles: [sql], precondition: {how}}}}}\n"
    )
    steps = expand(parse_study("study.yaml", text.encode())).steps
    found = [step for step in steps if step.kind == "precondition"]
    assert len(found) == kinds
    assert all(step.cost.time_s_max == 5 * step.cost.time_s for step in found)
