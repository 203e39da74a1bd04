"""A run held against others: numbers worked out another way, and words that claim no more."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from stithy.metrics import Quantity
from stithy.report.between import USUAL, machine, pairs
from stithy.report.context import Context, context_of
from stithy.report.drawing import draw
from stithy.report.figure import Figure
from stithy.report.parts import other_runs
from stithy.results.read import read_run
from support.sample_run import Shape, build_run, window_id

NOPM = (Quantity("nopm"),)
BLOCKS = 4
SLOW = {window_id("disk", 4, block): {"nopm": 1500.0 + 9 * block} for block in range(BLOCKS)}
FAST = {window_id("memory", 1, block): {"nopm": 90_000.0 + 99 * block} for block in range(BLOCKS)}
INVALID = {window_id("disk", 1, block): {"errors": 500} for block in range(BLOCKS)}

Changes = Mapping[str, Mapping[str, Any]]
Build = Callable[..., Context]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """A function that makes a short run of that name, and reads it."""

    def made(name: str, **shape: Any) -> Context:
        usual = {"users": (1, 4), "repeat": BLOCKS, "duration_s": 3, "series": False}
        return context_of(read_run(build_run(tmp_path / name, Shape(**{**usual, **shape})).root))

    return made


BUSY = {
    window_id(name, users, block): {"others_cpu_s": 6.4}
    for name in ("disk", "memory") for users in (1, 4) for block in range(BLOCKS)
}  # fmt: skip
"""Others took 40 % of 2 CPUs over 8 s."""
SLOWER = {
    window_id("disk", 4, block): {"nopm": 2000.0 + 9 * block} for block in range(BLOCKS)
}  # fmt: skip


def test_what_the_neighbours_did_is_no_change(build: Build) -> None:
    """The same files with and without it: told apart only where nobody else was on the machine."""
    usual = {"changes": SLOWER}
    quiet, busy = build("quiet", **usual), build("busy", surroundings=BUSY, **usual)
    now = build("now")
    ((told,),) = [
        [row for row in pair.rows if (row.candidate, row.users) == ("disk", 4)]
        for pair in pairs(quiet, [now], (), NOPM)
    ]
    assert told.change.distinguishable
    assert not machine(pairs(quiet, [now], (), NOPM)[0])
    (pair,) = pairs(busy, [now], (), USUAL)
    mine = [row for row in pair.rows if (row.candidate, row.users) == ("disk", 4)]
    nopm, p95, _ = mine
    assert not nopm.change.distinguishable
    assert nopm.change.ratio == told.change.ratio
    assert p95.change.low is None
    assert "no percentile is bounded by that" in (p95.change.missing_because or "")
    (said,) = machine(pair)
    assert "other programs took up to 40 % of the machine in busy and 0.6 % in now" in said
    assert "intervals are wider by up to +6" in said
    assert said[1:-1] in " ".join(other_runs.words([pair]))


def test_what_the_baseline_checks_saw_is_no_change(build: Build) -> None:
    """A third less work in each of them; without any it is not known."""
    slow = {window: {"one_rounds_per_s": 80_000.0} for window in BUSY}
    (pair,) = pairs(build("before"), [build("now", canaries=slow)], (), NOPM)
    (said,) = machine(pair)
    assert "by their baseline checks, in now one CPU did 33 % less" in said
    assert {round(row.change.drift_share, 1) for row in pair.rows} == {0.5}
    none = {window: dict.fromkeys(("one_rounds_per_s", "all_rounds_per_s", "read_p50_s"))
            for window in slow}  # fmt: skip
    (pair,) = pairs(build("unknown", canaries=none), [build("other")], (), NOPM)
    (said,) = machine(pair)
    assert said == "whether the machine was the same is not known: no baseline check in unknown"


def test_figure_files_and_programs_have_the_numbers_of_the_table(build: Build) -> None:
    """Every row once as a mark, filled only where it is told apart."""
    found = pairs(build("before"), [build("after", changes=SLOW)])
    (table,), (figure,) = other_runs.tables(found), other_runs.drawn(found)
    assert isinstance(figure, Figure)
    assert figure.name == table.name == "runs-1"
    assert figure.table.frame.equals(table.frame)
    (told,) = other_runs.as_values(found)
    assert told["rows"] == table.frame.to_dicts()
    drawn = {
        (row["metric"], row["place"], row["ratio"], row["apart"])
        for data in figure.spec["datasets"].values()
        for row in data
        if "apart" in row
    }
    assert drawn == {
        (
            row["metric"], f"{row['candidate']}, {row['users']}", float(f"{row['ratio']:.6g}"),
            "distinguishable" if row["distinguishable"] else "not distinguishable",
        )
        for row in told["rows"]
    }  # fmt: skip


def _said(*runs: Context, ignore: Sequence[str] = ()) -> list[str]:
    """What the report of the last of these runs says of those before it."""
    *befores, now = runs
    return list(other_runs.words(pairs(now, befores, ignore, NOPM, earlier=True)))


def test_of_several_changes_the_largest_is_named_whichever_way_it_goes(build: Build) -> None:
    """Beyond tenfold as a factor; a fall counts by how many times as much it was before."""
    before, after = build("before"), build("after", changes={**SLOW, **FAST})
    (told,) = [text for text in _said(before, after) if text.startswith("Of ")]
    assert "2 differ by more than chance explains, most of all new orders per minute of" in told
    assert "of memory at level 1, ×24" in told
    (told,) = [text for text in _said(after, before) if text.startswith("Of ")]
    assert "of memory at level 1, -95." in told


ONE = {"candidates": ("disk",), "users": (4,)}


@pytest.mark.parametrize(
    ("shape", "changes", "repeat", "said"),
    [
        ({}, {}, BLOCKS, "Of 4 values that before and after both have, none is distinguishable."),
        (
            ONE, {}, BLOCKS,
            "The only value that before and after both have is not distinguishable.",
        ),
        (
            {}, {}, 1,
            "Of 4 values that before and after both have, none are distinguishable: it takes two "
            "valid windows of each run, and scatter among them.",
        ),
        (
            {}, {w: INVALID[w] for w in list(INVALID)[1:]}, BLOCKS,
            "Of 1 of them that is not known: it takes two valid windows of each run, and scatter "
            "among them.",
        ),
        (
            ONE, {}, 1,
            "The only value that before and after both have is not distinguishable: it takes two "
            "valid windows of each run, and scatter among them.",
        ),
        (
            ONE, SLOW, BLOCKS,
            "The only value that before and after both have differs by more than chance explains: "
            "new orders per minute of disk at level 4, -5",
        ),
        (ONE, INVALID | {w: {"errors": 500} for w in SLOW}, BLOCKS,
         "No value is known of both before and after."),
    ],
    ids=[
        "none", "one value", "one window", "one window of some", "one window of one value",
        "one value changed", "no window",
    ],
)  # fmt: skip
def test_what_is_not_known_is_never_told_as_a_change(
    build: Build, shape: dict[str, Any], changes: Changes, repeat: int, said: str
) -> None:
    """Neither as equal: each way of not knowing has words of its own."""
    base = build("before", **shape)
    told = _said(base, build("after", **shape, seed=2, repeat=repeat, changes=changes))
    assert said in " ".join(told)
    assert told[0] == other_runs.CAUTION
    assert told[-1] == other_runs.RULE
    assert "does not mean equal" in told[-1]


def test_without_an_interval_nothing_is_yes_or_no(build: Build) -> None:
    """The ratio is told, the rest is missing: null in files, a dash in print."""
    found = pairs(build("before"), [build("after", seed=2, repeat=1)], (), NOPM)
    (table,), (figure,) = other_runs.tables(found), other_runs.drawn(found)
    for row in table.frame.to_dicts():
        assert row["ratio"] is not None
        assert (row["low"], row["high"], row["chance_share"], row["distinguishable"]) == (None,) * 4
    assert {cells[-1].text for cells in table.cells()} == {"–"}
    assert isinstance(figure, Figure)
    verdicts = {
        row["apart"] for data in figure.spec["datasets"].values() for row in data if "apart" in row
    }
    assert verdicts == {"not distinguishable"}
    for look in found[0].other.styles.values():
        assert f'fill="{look.colour}"' in draw.svg(figure.spec, "runs-1"), "its legend has no mark"


def test_what_differs_and_what_weakens_a_run_is_told_once(build: Build) -> None:
    """Flaws of the report's run stand before all others, by the runs' names, not by places."""
    now = build("now", end="interrupted")
    facts = {"isolation": "serializable"}
    said = _said(build("one", seed=2), build("two", load=facts), now, ignore=["isolation"])
    flaw = "now: the run was not finished (interrupted)."
    assert [text for text in said if "not finished" in text] == [flaw]
    assert said[1] == flaw
    assert "Differs, which is no obstacle: seed: 2 and 1." in said
    assert "Ignored on request: isolation: serializable and read-committed." in said
