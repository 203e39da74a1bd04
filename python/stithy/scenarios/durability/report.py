"""Durability: how many power cuts lost something, how long recovery took, what controls lost."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from stithy.analysis.analyze import Analysis
from stithy.analysis.evidence import Window
from stithy.report.blocks import (
    Absent,
    Block,
    FigureKind,
    SectionKind,
    set_bullets,
)
from stithy.report.context import Context
from stithy.report.drawing.plots import Bars, Duration, read_durations, write_durations_title
from stithy.report.drawing.points import drop_factor
from stithy.report.findings import FindingKind
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show, make_table
from stithy.report.words.wording import format_at_most
from stithy.scenarios.durability.declared import CONTROL, GIVEN_UP, LYING, NAME, RECOVERY
from stithy.scenarios.durability.judge import Tally, has_lost, list_tallies, read_value
from stithy.statements import Statement, Styled, join_parts
from stithy.units import format_list

TITLE = "Durability"
FIGURE = "durability-recovery"
NOTE = (
    "A cut: at a moment drawn from the seed all drives of the candidate stop, the processes of "
    "the database are killed, and what memory held is gone. Of each write that no flush had "
    "followed the seed decides whether it is kept, torn or lost. Then the file system is checked "
    "and the server recovers. What is there is compared with the ledger, which lay on other "
    "storage; all consistency conditions and the engine's own check, where it has one, follow. "
    "Lost: transactions that are missing or changed, or there although refused. At most: the "
    "greatest chance of a loss by a cut that so many leave, exact binomial, 95 %. Recovery: from "
    "the start of the server to the first commit, of cuts after which there was one. A control "
    "must lose something: an engine that does not wait for storage, and drives whose flush does "
    "nothing. Of a cluster all hosts lose power "
    "with the database, and come back; or one of them does, with the database on it, which is "
    "started elsewhere while that host is off. Drives that lie are cut on all hosts. Storage back: "
    "until the cluster serves the image, from the return of all power or from the cut of one host. "
    "Rebuild: from a host's return until it has what it missed. Then all copies are scrubbed: "
    "read, and compared with their checksums and with each other."
)
CONTROLS = {
    GIVEN_UP: "an engine that does not wait for storage",
    LYING: "drives whose flush does nothing",
}


@dataclass(frozen=True)
class PowerCuts:
    """The cuts of one candidate at a point, or what the controls of all say."""

    kind: ClassVar = "power-cuts"
    sentence: str


SILENT = "power cuts lost nothing with {whose}, which must lose something"
UNTRIED = "no power cut with {whose} was looked at to its end"


def _name_places(tallies: Sequence[Tally]) -> list[str]:
    """Name the candidate of each, and where it has several its point."""
    several = len({tally.point for tally in tallies}) > 1
    points = (drop_factor(tally.point, CONTROL).at() if several else "" for tally in tallies)
    return [f"{tally.candidate} {at}".rstrip() for tally, at in zip(tallies, points, strict=True)]


def describe_tally(tally: Tally, place: str = "") -> str:
    """Say how many cuts of a candidate lost something, and what that leaves possible.

    `place`: whose cuts they are, where others have a sentence, too.
    """
    of = "" if tally.spared is None else " of one host" if tally.spared else " of all hosts"
    of += f" of {place}" if place else ""
    if not tally.cuts:
        return f"No power cut{of} was looked at to its end."
    why = "; {gone:+transaction} together" if tally.transactions_lost else ""
    if tally.lost and not tally.is_promised:
        why += "; the study's settings promise no better"
    if tally.unknown:
        why += "; {unknown:+window} more had no cut that was looked at to its end"
    verb = "LOST or damaged something" if tally.lost else "lost or damaged anything"
    return Statement(
        f"{{lost:,}} of {{cuts:+power cut}}{{of}} {verb}: at most {{bound}} of all cuts do (95 % "
        f"sure){why}.",
        lost=len(tally.lost), cuts=len(tally.cuts), of=of, unknown=tally.unknown,
        bound=Styled(tally.bound, format_at_most(tally.bound)), gone=tally.transactions_lost,
        candidate=tally.candidate, point=str(tally.point),
    )  # fmt: skip


def describe_controls(tallies: Sequence[Tally]) -> Iterator[str]:
    """Say that the controls lost, so that the test can fail; or where they did not."""
    is_silent = False
    for tally, place in zip(tallies, _name_places(tallies), strict=True):
        silent = [name for name in tally.silent_controls if tally.controls[name]]
        untried = [name for name in tally.controls or CONTROLS if not tally.controls.get(name)]
        for text, names in ((SILENT, silent), (UNTRIED, untried)):
            if names:
                whose, is_silent = format_list([CONTROLS[name] for name in names]), True
                yield f"NOTHING IS PROVEN on {place}: {text.format(whose=whose)}."
    if tallies and not is_silent:
        common = [text for name, text in CONTROLS.items()
                  if all(name in tally.controls for tally in tallies)]  # fmt: skip
        yield (
            "The test can fail: power cuts lost work of every candidate with "
            f"{format_list(common or ['a control of its own'])}."
        )


def describe_tallies(tallies: Sequence[Tally]) -> list[str]:
    """Say of each candidate how many cuts lost something."""
    places = _name_places(tallies) if len(tallies) > 1 else [""]
    return [*map(describe_tally, tallies, places)]


def find_leading(analysis: Analysis) -> Iterator[PowerCuts]:
    """Find what all cuts say, which a person must read before anything else."""
    if tallies := list_tallies(analysis.evidence):
        yield PowerCuts(join_parts(describe_tallies(tallies), " "))
        yield from map(PowerCuts, describe_controls(tallies))


def _make_tables(page: Page) -> Iterator[PageTable]:
    context = page.context
    tallies = list_tallies(context.evidence)
    of_clusters = () if all(tally.spared is None for tally in tallies) else (
        Show("storage_max_s", "Storage back, longest", "duration"),
        Show("rebuild_max_s", "Rebuild, longest", "duration"),
        Show("inconsistent_max", "Inconsistent objects", "count"),
    )  # fmt: skip
    shows = (
        *(show for show in context.factor_shows if show.column != CONTROL),
        Show("candidate", "Candidate"), Show("cuts", "Cuts", "count"),
        Show("lost", "Lost something", "count"), Show("bound", "At most", "share"),
        Show("acknowledged", "Acknowledged", "count"), Show("transactions_lost", "Lost", "count"),
        Show("recovery_p50_s", "Recovery, median", "duration"),
        Show("recovery_max_s", "longest", "duration"), *of_clusters,
        Show("given_up", "Control: durability given up"),
        Show("flush_lies", "Control: flushes that lie"),
    )  # fmt: skip
    rows = [_make_row(context, tally) for tally in tallies]
    yield make_table(NAME, TITLE, shows, rows)


def _make_row(context: Context, tally: Tally) -> dict[str, Any]:
    middle_s, longest_s = tally.recovery_s or (None, None)
    given_up, flush_lies = (
        None if windows is None else f"{sum(map(has_lost, windows))} of {len(windows)} lost"
        for windows in (tally.controls.get(name) for name in (GIVEN_UP, LYING))
    )
    return {
        **context.list_factor_values(tally.point), "candidate": tally.candidate,
        "cuts": len(tally.cuts), "lost": len(tally.lost), "bound": tally.bound,
        "acknowledged": tally.acknowledged, "transactions_lost": tally.transactions_lost,
        "recovery_p50_s": middle_s, "recovery_max_s": longest_s, "given_up": given_up,
        "flush_lies": flush_lies, "storage_max_s": tally.storage_s,
        "rebuild_max_s": tally.rebuild_s,
        "inconsistent_max": None if tally.inconsistent is None else round(tally.inconsistent),
    }  # fmt: skip


def set_durability(page: Page) -> Iterator[Block]:
    """Set the section of a run that has cut power."""
    tallies = list_tallies(page.context.evidence)
    said = set_bullets([*describe_tallies(tallies), *describe_controls(tallies)], "")
    return page.set_usual(NAME, NOTE, page.context.footer + ".", above=said)


def _plot_recovery(context: Context) -> Iterator[Bars | Absent]:
    point = context.evidence.choose_asked([each.point for each in list_tallies(context.evidence)])
    if point is None:
        return

    def list_durations(window: Window) -> Iterator[Duration]:
        time_s, number = read_value(window, RECOVERY), str(window.block + 1)
        if time_s is not None:
            yield Duration("recovery", window.candidate, window.block, number, time_s)

    durations = read_durations(context, point, list_durations)
    if not durations:
        yield Absent(FIGURE, "time of each recovery", "no valid window has a recovery")
        return
    yield Bars(
        name=FIGURE,
        title=write_durations_title(context, durations),
        caption="Time from the start of the server to the first commit after each power cut "
        f"(marks), and the mean (bars), of all valid windows {point.at(context.level_unit)}.",
        noun="recoveries",
        data="Recovery after each power cut",
        durations=durations,
    )


PLUGINS = (
    SectionKind(NAME, 23, TITLE, set_durability, make_tables=_make_tables),
    FigureKind(FIGURE, 18, NAME, _plot_recovery, ("values",)),
    FindingKind(PowerCuts.kind, lambda finding, unit: finding.sentence, lead=find_leading),
)
