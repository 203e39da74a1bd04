"""Whatever the levels, candidates, seed and question: blocks are whole, a tail may be spared."""

from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from stithy.plan.cost import list_certain
from stithy.plan.expand import expand
from stithy.study.load import parse_study
from stithy.study.model import Study

NAMES = ("hdd", "sata", "nvme", "disk-2")


@st.composite
def studies(draw: st.DrawFn) -> Study:
    """A study of one to four candidates, with or without a fixed number of blocks."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    levels = draw(st.lists(st.integers(1, 500), min_size=1, max_size=4, unique=True))
    load = f"users: {levels}, duration: 5 s"
    primary = f"users: {draw(st.sampled_from(levels))}"
    if draw(st.booleans()):
        load += f", repeat: {draw(st.integers(1, 6))}"
    else:
        primary += f", blocks: {draw(st.integers(4, 20))}"
    places = "".join(f"  {name}: {{path: /srv/{name}}}\n" for name in names)
    text = (
        f"study: Which?\ncandidates:\n{places}database: {{engine: postgresql, memory: 1 GiB}}\n"
        f"workload: {{name: order-entry, warehouses: 1}}\nload: {{{load}}}\n"
        f"primary: {{{primary}}}\nseed: {draw(st.integers(0, 2**63 - 1))}\n"
    )
    return parse_study("study.yaml", text.encode())


@given(studies(), st.booleans())
def test_a_block_is_one_window_of_every_candidate_back_to_back(study: Study, null: bool) -> None:
    """With the same draws for all; each level has its blocks, each of them once."""
    plan = expand(study, null=null)
    assert plan == expand(study, null=null)
    windows = [step.window for step in plan.steps if step.kind == "window" and step.window]
    first = next(iter(study.candidates))
    names = [first, f"{first}-again"] if null else sorted(study.candidates)
    seen = []
    for key, group in groupby(windows, lambda w: (w.point.level, w.block)):
        block = list(group)
        assert sorted(window.candidate for window in block) == names
        assert [window.position for window in block] == list(range(len(names)))
        assert len({window.seed for window in block}) == 1
        seen.append(key)
    counts, asked = dict.fromkeys(study.load.users, study.load.repeat or 1), plan.question
    if study.load.repeat is None and asked is not None:
        del counts[asked.point.level]  # its level comes last
        counts[asked.point.level] = asked.blocks_most
    assert seen == [(users, block) for users, count in counts.items() for block in range(count)]
    # Only the last may be spared: a run that leaves them out is a run cut short, no other.
    measured = [step for step in plan.steps if step.kind in ("restore", "window")]
    spared = [step for step in measured if step.if_undecided]
    assert measured[len(measured) - len(spared) :] == spared
    assert [step for step in measured if step in list_certain(plan.steps)] + spared == measured
    turns = {(step.window.point.level, step.window.block) for step in spared if step.window}
    more = range(asked.blocks_least, asked.blocks_most) if asked else range(0)
    assert turns == {(asked.point.level, block) for block in more if asked}
    for step in plan.steps:
        place = step.window and (step.window.point.level, step.window.block)
        assert step.if_undecided is (place in turns)
