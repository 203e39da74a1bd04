"""Runs held against each other: what each is called, what is said before and of the numbers."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from stithy.errors import UserError
from stithy.metrics import Quantity
from stithy.point import Point
from stithy.report.between import (
    NAME_MOST,
    Pair,
    describe_machine,
    describe_rates,
    list_cells,
    pair_runs,
)
from stithy.report.context import Context
from stithy.report.drawing import draw
from stithy.report.sections import comparisons as told
from stithy.results.comparability import NotComparable
from support.drawn import at_points, context_built, rows_in
from support.points import at
from support.sample_run import Shape, window_id

NOPM = (Quantity("nopm"),)
BLOCKS = range(4)
SLOW = {window_id("disk", 4, block): {"headline_per_min": 1500.0 + 9 * block} for block in BLOCKS}
FAST = {
    window_id("memory", 1, block): {"headline_per_min": 90_000.0 + 99 * block} for block in BLOCKS
}
INVALID = {window_id("disk", 1, block): {"errors": 500} for block in BLOCKS}
Build = Callable[..., Context]


@pytest.fixture
def built(tmp_path: Path) -> Build:
    """A function that makes a short run of that name, and reads it."""

    def made(name: str, **shape: Any) -> Context:
        usual = {"users": (1, 4), "repeat": 4, "duration_s": 3, "series": False, **shape}
        return context_built(tmp_path / name, Shape(**usual))

    return made


def test_each_run_has_a_name_and_is_not_compared_with_itself(built: Build, tmp_path: Path) -> None:
    """Letters that act are shown by their numbers, long names cut; by whatever path it is named."""
    odd, shape = b"a\x1bb\xff".decode("utf-8", "surrogateescape"), {"users": (1,), "repeat": 1}
    runs = [built(name, **shape) for name in ("one", "a/run", "b/run", "x" * 200, odd)]
    found = [pair.names for pair in pair_runs(runs[0], runs[1:], (), NOPM)]
    assert {base for base, _ in found} == {"one"}
    others = [str(tmp_path / "a/run"), str(tmp_path / "b/run")]
    assert [other for _, other in found[:2]] == others
    assert (len(found[2][1]), found[3][1]) == (NAME_MOST, "a[U+001B]b[U+DCFF]")
    (tmp_path / "link").symlink_to(tmp_path / "one")
    with pytest.raises(UserError, match="this is the run itself") as caught:
        pair_runs(runs[0], [context_built(tmp_path / "link")], (), NOPM)
    assert caught.value.where == str(tmp_path / "link")


def test_one_run_of_several_that_cannot_be_compared_refuses_them_all(built: Build) -> None:
    """With the fact that differs; what is ignored must be a fact of one of them."""
    one, two, other = built("one"), built("two"), built("other", duration_s=4)
    with pytest.raises(NotComparable, match="duration_s") as caught:
        pair_runs(one, [two, other], (), NOPM)
    assert [part.remedy for part in caught.value.parts()] == ["--ignore duration_s"]
    (_, pair) = pair_runs(one, [two, other], ["duration_s"], NOPM)
    assert [str(each) for each in pair.ignored] == ["duration_s: 3 and 4"]
    with pytest.raises(UserError, match="duration"):
        pair_runs(one, [two], ["duration"], NOPM)


def test_what_the_neighbours_did_is_no_change(built: Build) -> None:
    """The same numbers are distinguished only where nobody else was on the machine."""
    slower = {
        window_id("disk", 4, block): {"headline_per_min": 2000.0 + 9 * block} for block in BLOCKS
    }
    now = built("now")
    # 40 % of 2 CPUs over 8 s.
    others = {window.id: {"others_cpu_s": 6.4} for window in now.evidence.windows}
    [quiet], [busy] = (
        pair_runs(built(name, changes=slower, **shape), [now])
        for name, shape in (("quiet", {}), ("busy", {"surroundings": others}))
    )
    here = ("disk", at(4))
    shown, (nopm, p95, _) = ([row for row in pair.rows if (row.candidate, row.point) == here]
                            for pair in (quiet, busy))  # fmt: skip
    assert shown[0].change.distinguishable
    assert describe_machine(quiet) == []
    assert not nopm.change.distinguishable
    assert nopm.change.ratio == shown[0].change.ratio
    assert p95.change.low is None
    assert "which gives no bound of a percentile" in (p95.change.missing_because or "")
    [said] = describe_machine(busy)
    assert "other programs took up to 40 % of the machine in busy and 0.6 % in now" in said
    assert said[1:-1] in " ".join(told.write_words([busy]))


@pytest.mark.parametrize("repeat", [4, 1])
def test_a_figure_has_the_numbers_of_the_table(built: Build, repeat: int) -> None:
    """Each row once as a mark, filled where it is distinguished; without an interval nothing is."""
    found = pair_runs(built("before"), [built("after", changes=SLOW, repeat=repeat)])
    figure: Any = told.draw_pairs(found)[0]
    rows = figure.table.frame.to_dicts()
    drawn = {(row["metric"], row["place"], row["ratio"], row["apart"])
             for row in rows_in(figure) if "apart" in row}  # fmt: skip
    assert drawn == {
        (row["metric"], f"{row['candidate']}, {row['level']}", float(f"{row['ratio']:.6g}"),
         "distinguishable" if row["distinguishable"] else "not distinguishable")
        for row in rows
    }  # fmt: skip
    for look in found[0].other.styles.values():
        assert f'fill="{look.colour}"' in draw.draw_svg(figure.spec, "runs-1"), (
            "its legend has no mark"
        )
    if repeat == 1:
        unknown = ("low", "high", "chance_share", "distinguishable")
        assert {row[name] for row in rows for name in unknown} == {None}


def switched(
    context: Context, factor: str, levels: tuple[str | int, str | int], **measured: float
) -> Context:
    """The run as if its users were the same and a factor had these levels.

    `measured`: metrics of an activity in windows of the second level, each a little larger than in
    the block before; `rate_per_s` is that of all windows.
    """
    points = {
        users: Point.of(users=8, **{factor: value})
        for users, value in zip((1, 4), levels, strict=True)
    }
    rate_per_s = measured.pop("rate_per_s", None)

    def values(row: dict[str, Any]) -> dict[str, float]:
        grown = 1 + 0.01 * row["block"]
        there = measured.items() if row["users"] == 4 else ()
        return {metric.replace("__", "."): value * grown for metric, value in there}

    activity = "tenants" if factor == "neighbour" else "hammer"
    return at_points(context, points, values, rate_per_s=rate_per_s, activity=activity)


def cells_of(pair: Pair) -> list[tuple[str, ...]]:
    """Metric, level and change of each row of the first candidate."""
    return [(row[0], row[2], row[5]) for row in map(list_cells, pair.rows) if row[1] == "disk"]


def test_backups_are_compared_with_and_without_and_by_their_own_times(built: Build) -> None:
    """Only where there are any; equal shares of other maxima are other rates, which is said."""
    before, after = (
        switched(built(name, changes=SLOW if name == "after" else {}), "backup", ("off", "on"),
                 backup__duration_s=10.0 * factor, backup__covered_share=0.5,
                 rate_per_s=80.0 * factor)
        for name, factor in (("before", 1), ("after", 2))
    )  # fmt: skip
    [pair] = pair_runs(before, [after])
    levels = {(metric, level) for metric, level, _ in cells_of(pair)}
    took = Quantity("backup.duration_s").label
    lost = {Quantity(f"backup.{each}_ratio").label for each in ("throughput", "p95", "p99")}
    users = {name for name, _ in levels} - {took} - lost
    on, off = "8 users with backups", "8 users without backups"
    there = {(name, on) for name in (took, *lost) if (name, on) in levels}
    assert levels == {*((name, each) for name in users for each in (on, off)), *there}
    assert {(took, on), ("Throughput with backups", on)} <= there
    assert {"NOPM", "p95", "p99"} <= users
    assert (took, on, "+100.0 %") in cells_of(pair)
    [rates_said] = describe_rates(pair)
    assert rates_said.endswith(": 80/s in before and 160/s in after (disk and memory)")
    assert rates_said[1:] in " ".join(told.write_words([pair]))
    assert describe_rates(pair_runs(before, [switched(built("same"), "backup", ("off", "on"),
                                         rate_per_s=80.0)])[0]) == []  # fmt: skip


def test_neighbours_are_compared_alone_and_beside_each_intensity(built: Build) -> None:
    """What the tenants had and lost; what the neighbour achieved is no better or worse."""
    before, after = (
        switched(built(name, changes=SLOW if name == "after" else {}), "neighbour", (0, 700),
                 neighbour__achieved_per_s=650.0)
        for name in ("before", "after")
    )  # fmt: skip
    [pair] = pair_runs(before, [after])
    found = cells_of(pair)
    assert {level for _, level, _ in found} == {f"8 users with neighbour {n}" for n in (0, 700)}
    names = {name for name, *_ in found}
    assert Quantity("neighbour.achieved_per_s").label not in names
    assert "Throughput with the neighbour" in names
    [beside] = [change for name, level, change in found if name == "NOPM" and "700" in level]
    assert beside.startswith("−5")
    shown = " ".join(told.write_words([pair]))
    assert "of disk at 8 users with neighbour 700, −5" in shown


def said(*runs: Context, ignore: Sequence[str] = ()) -> list[str]:
    """What the report of the last of these runs says of those before it."""
    *befores, now = runs
    return list(told.write_words(pair_runs(now, befores, ignore, NOPM, earlier=True)))


def test_the_largest_change_is_named_whichever_way_it_goes_and_flaws_once(built: Build) -> None:
    """Beyond tenfold as a factor; flaws of the report's run stand before all others, by name."""
    before, after = built("before"), built("after", changes={**SLOW, **FAST})
    forth, back = (" ".join(said(*each)) for each in ((before, after), (after, before)))
    assert "2 differ by more than chance explains, most in new orders per minute of" in forth
    assert "of memory at level 1, ×24" in forth
    assert "of memory at level 1, −95." in back
    load, now = {"isolation": "serializable"}, built("now", end="interrupted")
    shown = said(built("one", seed=2), built("two", load=load), now, ignore=["isolation"])
    flaw = "now: the run was not finished (interrupted)."
    assert [text for text in shown if "not finished" in text] == [flaw] == shown[1:2]
    assert "These facts differ, and do not prevent the comparison: seed: 2 and 1." in shown
    ignored = "These facts differ, and were ignored on request"
    assert f"{ignored}: isolation: serializable and read-committed." in shown


ONE, BOTH = {"candidates": ("disk",), "users": (4,)}, "that before and after both have"
SCATTER = "a test needs two valid windows of each run"
APART = "differs by more than chance explains: new orders per minute of disk at level 4, −5"


@pytest.mark.parametrize(("shape", "changes", "repeat", "words"), [
    ({}, {}, 4, f"Of 4 values {BOTH}, none is distinguishable."),
    (ONE, {}, 4, f"The only value {BOTH} is not distinguishable."),
    ({}, {}, 1, f"Of 4 values {BOTH}, none is distinguishable: {SCATTER}"),
    ({}, {w: INVALID[w] for w in list(INVALID)[1:]}, 4,
     f"1 of them could not be tested: {SCATTER}"),
    (ONE, {}, 1, f"The only value {BOTH} is not distinguishable: {SCATTER}"),
    (ONE, SLOW, 4, f"The only value {BOTH} {APART}"),
    (ONE, {w: {"errors": 5} for w in SLOW}, 4, "before and after have no value in common."),
])  # fmt: skip
def test_what_is_not_known_is_never_told_as_a_change(
    built: Build, shape: dict[str, Any], changes: Mapping[str, Any], repeat: int, words: str
) -> None:
    """Neither as equal: each way of not knowing has words of its own."""
    shown = said(built("before", **shape),
                built("after", **shape, seed=2, repeat=repeat, changes=changes))  # fmt: skip
    assert words in " ".join(shown)
    assert (shown[0], shown[-1]) == (told.CAUTION, told.RULE)
