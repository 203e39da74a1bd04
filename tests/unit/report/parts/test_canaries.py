"""What a reader is told of the machine beneath the blocks."""

import re
from pathlib import Path

from stithy.report.context import Context, context_of
from stithy.report.parts.machine import canary_table, machine_flaw, machine_sentence
from stithy.results.read import read_run
from support.sample_run import Shape, build_run


def context(root: Path, shape: Shape) -> Context:
    """A run of that shape as read."""
    build_run(root, shape)
    return context_of(read_run(root))


def first_of(context: Context, block: int) -> str:
    """The window before which the canary of a block was."""
    [found] = [c.row["window_id"] for c in context.evidence.canaries if c.row["block"] == block]
    return str(found)


def changed(tmp_path: Path, **row: float | None) -> Context:
    """A run of six blocks, the canary of the fourth of which tells this."""
    name = first_of(context(tmp_path / "before", Shape(users=(4,), repeat=6)), 3)
    shape = Shape(users=(4,), repeat=6, canaries={name: row})
    return context(tmp_path / "run", shape)


def test_a_machine_that_stayed_the_same_is_told_in_a_sentence(tmp_path: Path) -> None:
    """With how far its canaries lay apart."""
    found = context(tmp_path, Shape(users=(4,), repeat=6))
    told = machine_sentence(found)
    assert told is not None
    assert told.startswith("Before each of 6 blocks the baseline check was as usual:")
    assert told.endswith("There was no clear trend over the run.")
    assert set(canary_table(found).frame["changed"]) == {"as usual"}
    assert machine_flaw(found) is None


def test_a_few_canaries_tell_nothing(tmp_path: Path) -> None:
    """And a run without any has no such section."""
    few = context(tmp_path / "few", Shape(users=(4,), repeat=2))
    assert "is not known from 2 baseline checks" in str(machine_sentence(few))
    (tmp_path / "few/tables/canary.parquet").unlink()
    assert machine_sentence(context_of(read_run(tmp_path / "few"))) is None


def test_within_is_never_less_than_the_farthest(tmp_path: Path) -> None:
    """And one odd block is told in the singular."""
    told = str(machine_sentence(changed(tmp_path, one_rounds_per_s=90_000.0)))
    assert "the baseline check was off its median; it is marked." in told
    found = context(tmp_path / "quiet", Shape(users=(4,), repeat=6))
    far = [abs(each.shares["one_rounds_per_s"]) for each in found.evidence.canaries]
    shown = re.search(r"one CPU within ([\d.]+) %", str(machine_sentence(found)))
    assert shown is not None
    assert float(shown[1]) / 100 >= max(far) - 1e-9
