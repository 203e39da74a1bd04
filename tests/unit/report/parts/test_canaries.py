"""What a reader is told of the machine beneath the blocks."""

import re
from pathlib import Path

from stithy.report.context import Context, context_of
from stithy.report.page import build, render
from stithy.report.parts.canaries import flaw, sentence, table
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
    told = sentence(found)
    assert told is not None
    assert told.startswith("Before each of 6 blocks the machine did its canary's work as usual:")
    assert told.endswith("There was no clear trend over the run.")
    assert set(table(found).frame["changed"]) == {"as usual"}
    assert flaw(found) is None


def test_a_block_on_another_machine_is_marked_and_stays_valid(tmp_path: Path) -> None:
    """In the table, beside the answer, and as a note against its windows."""
    found = changed(tmp_path, one_rounds_per_s=90_000.0, read_p50_s=0.0003)
    assert "Before one block of 6" in str(sentence(found))
    marked = [row["block"] for row in table(found).frame.to_dicts() if "changed" in row["changed"]]
    assert marked == [3]
    noted = [window for window in found.evidence.windows if window.reasons]
    assert {window.block for window in noted} == {3}
    assert len(noted) == 2
    assert all(window.valid for window in found.evidence.windows)
    [reason] = noted[0].reasons
    assert "one CPU did 25 % less, reads took" in reason.sentence
    assert str(flaw(found)).startswith("1 of 6 blocks was measured on a machine that was not")


def test_reads_that_could_not_be_done_are_told(tmp_path: Path) -> None:
    """What is known is judged all the same."""
    why = "the file system does not read past the page cache"
    name = {"read_p50_s": None, "reads": None, "missing_because": why}
    found = changed(tmp_path, **name)  # type: ignore[arg-type]  # a text among numbers
    assert f"Not all of it could be done: {why}." in str(sentence(found))


def test_a_few_canaries_tell_nothing(tmp_path: Path) -> None:
    """And a run without any has no such section."""
    few = context(tmp_path / "few", Shape(users=(4,), repeat=2))
    assert "cannot be told from 2 canaries" in str(sentence(few))
    (tmp_path / "few/tables/canary.parquet").unlink()
    assert sentence(context_of(read_run(tmp_path / "few"))) is None


def test_the_page_has_them_where_it_tells_how_sure_it_is(tmp_path: Path) -> None:
    """With a single candidate, under Validity."""
    pair = build(context(tmp_path / "pair", Shape(users=(4,), repeat=4)))
    page = render(pair, dict.fromkeys((each.name for each in pair.figures), ""))
    heading = "Whether the machine stayed the same"
    assert page.count(heading) == 1
    assert page.index('id="certainty"') < page.index(heading) < page.index('id="validity"')
    alone = build(context(tmp_path / "alone", Shape(candidates=("disk",), users=(4,), repeat=4)))
    page = render(alone, dict.fromkeys((each.name for each in alone.figures), ""))
    assert page.index('id="validity"') < page.index(heading)


def test_within_is_never_less_than_the_farthest(tmp_path: Path) -> None:
    """And one odd block is told in the singular."""
    told = str(sentence(changed(tmp_path, one_rounds_per_s=90_000.0)))
    assert "otherwise than usual; it is marked." in told
    found = context(tmp_path / "quiet", Shape(users=(4,), repeat=6))
    far = [abs(each.shares["one_rounds_per_s"]) for each in found.evidence.canaries]
    shown = re.search(r"one CPU within ([\d.]+) %", str(sentence(found)))
    assert shown is not None
    assert float(shown[1]) / 100 >= max(far) - 1e-9
