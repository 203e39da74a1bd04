"""Validity: which windows count, and what proves that their numbers are true."""

from collections.abc import Iterator

from stithy.analysis.instruments import INVALID_SHARES, NOTED_SHARE
from stithy.analysis.invariants import describe_commit_rule
from stithy.report.blocks import (
    APPENDIX,
    Block,
    Figure,
    Grid,
    Heading,
    Picture,
    SectionKind,
    set_grid,
    set_open,
    set_paragraph,
)
from stithy.report.page import Page
from stithy.report.sections.validity import machine, windows, work
from stithy.report.tables import PageTable
from stithy.report.words import loads
from stithy.units import format_list, format_share

NAME = "validity"


def _make_tables(page: Page) -> Iterator[PageTable]:
    context, run = page.context, page.context.run
    yield windows.count_points(context)
    yield windows.list_windows(context)
    yield machine.make_baseline_table(context)
    yield work.make_work_table(context)
    yield windows.list_driver_costs(context)
    yield loads.make_drives_table(run.drives, run.window["window_id"].to_list())
    yield windows.list_proof(context)
    yield work.list_counted(context)
    yield work.list_written(context)
    yield work.list_gone(context)
    yield windows.count_conditions(context)
    yield windows.list_broken_conditions(context)
    yield windows.list_restores(context)
    yield windows.list_laws(context)
    yield windows.list_missing(page.context, [each for _, each in page.drawn])


def _set_validity(page: Page) -> Iterator[Block]:
    yield from set_paragraph(
        "An invalid window supports no claim: figures draw it hollow, and ratios leave it out. "
        "Notes do not invalidate a window. A block with an invalid window is measured a second "
        "time. Then the second attempt counts, and the first is drawn hollow. A candidate without "
        "a valid window at a level in three such blocks has no further one repeated for its sake."
    )
    yield from set_grid(page.tables["points"])
    reasons = page.tables["reasons"]
    if page.tables["reasons-gathered"].frame.height < reasons.frame.height:
        yield Grid(reasons, fold=reasons.caption, screen=True)
    yield from set_grid(page.tables["windows"], even_empty=True)
    yield from _set_baseline_checks(page)
    served = "transactions" in page.context.tables
    if served:
        table = page.tables["work"]
        if not table.frame.is_empty():
            yield Heading("Work per transaction")
            yield from set_paragraph(work.write_work_note(table, page.context.engine.server))
            yield from set_grid(table)
        yield from _set_driver(page)
    yield from _set_drives(page)
    if served:
        yield from _set_database(page)
    if not page.tables["missing"].frame.is_empty():
        yield Heading("What is missing")
        yield from set_grid(page.tables["missing"])


def _set_baseline_checks(page: Page) -> Iterator[Block]:
    said = machine.describe_machine(page.context)
    if said is None:
        return
    yield Heading("Whether the machine stayed the same")
    yield from set_paragraph(
        said,
        "A baseline check is a fixed piece of work just before each block, on the CPUs and on a "
        "file that belongs to no candidate. It is marked if it differs from the median of all "
        "checks by more than three times their median deviation, and by more than "
        f"{machine.describe_floors()}. Windows of such a block get a note and stay valid, because "
        "all candidates of a block met the same conditions.",
    )
    table, drawn = page.tables["baseline"], page.find_drawn(NAME)
    if drawn and isinstance(drawn[0], Figure):
        yield Picture(drawn[0], alone=True)
        yield Grid(table, fold=table.caption)
    else:
        yield from set_grid(table, even_empty=True)


def _set_driver(page: Page) -> Iterator[Block]:
    found = machine.describe_headroom(page.context)
    yield Heading("Headroom of the load driver")
    yield from set_paragraph(
        found.text if found else None,
        "The calibration before the first window measures what the driver can do on its host: "
        "the highest rate at which it starts each empty transaction on time. A window that needs "
        "more than half of that rate may be limited by its driver.",
    )
    yield from set_grid(page.tables["driver"], even_empty=True)


def _set_drives(page: Page) -> Iterator[Block]:
    if not loads.list_profiles(page.context.manifest):
        return
    yield Heading("The emulated drives")
    yield from set_paragraph(
        "An emulated drive answers each request when the drive in its profile would. Its latency "
        "is the service time of the profile plus the lateness of the answer. Answers leave earlier "
        "by the mean transport latency of the kernel.",
        "Late answers are errors of the emulation. Most come from a lack of CPU. They count by "
        "what they did to those who waited: the time that was added to requests, as a share of the "
        f"time that these should have taken. From {format_share(NOTED_SHARE)} on a window says "
        f"so; beyond {format_share(INVALID_SHARES[0])} it is invalid, at the second attempt at a "
        f"block beyond {format_share(INVALID_SHARES[1])}.",
    )
    yield from set_grid(page.tables["drives"], even_empty=True)


def _set_database(page: Page) -> Iterator[Block]:
    yield from _set_acknowledged(page)
    yield from _set_ledgers(page)
    yield from _set_consistency(page)
    yield Heading("Same state at the start of every window")
    if page.tables["restores"].frame.is_empty():
        yield from set_paragraph("No restore is recorded.")
    yield from set_grid(page.tables["restores"])
    yield from _set_invariants(page)


def _set_acknowledged(page: Page) -> Iterator[Block]:
    engines = page.context.engines or {"": page.context.engine}
    counted = " ".join(
        f"The {f'{name} ' if len(engines) > 1 else ''}server's commit counter may exceed the "
        f"driver's by the commits of session starts, quiet readings and {engine.maintenance}: at "
        f"most {describe_commit_rule(engine)}."
        for name, engine in engines.items()
        if engine.commits is not None
    )
    yield Heading("Acknowledged work is in the database")
    yield from set_paragraph(
        "Between the quiet states before and after a window, the database's own count of the work "
        f"behind {page.context.evidence.throughput.label} must grow by exactly what was "
        f"acknowledged, plus what is in the database without an answer. {counted}".strip()
    )
    yield from set_grid(page.tables["proof"], even_empty=True)


def _set_ledgers(page: Page) -> Iterator[Block]:
    if page.tables["ledgers-written"].frame.is_empty():
        return
    yield Heading("Commit ledgers")
    yield from set_paragraph(
        work.describe_proven(page.context),
        "During each window the driver wrote every transaction of the kinds below that it sent, "
        "and every answer, to a commit ledger. It synced the ledger twenty times per second. After "
        "the window Stithy looked up each of them in the database. Acknowledged work must be there "
        "unchanged; refused work must not be there.",
    )
    yield from set_grid(page.tables["ledger"], even_empty=True)
    yield from set_grid(page.tables["ledgers-written"])
    yield from set_grid(page.tables["ledger-findings"])


def _set_consistency(page: Page) -> Iterator[Block]:
    yield Heading("Consistency")
    if page.tables["conditions"].frame.is_empty():
        yield from set_paragraph("No consistency condition was verified.")
    yield from set_grid(page.tables["conditions"])
    if numbers := windows.list_load_only(page.context):
        yield from set_paragraph(
            "Verified after loading only, because users change what is stated: "
            f"number {format_list([*map(str, numbers)])}."
        )
    yield from set_open(page.tables["conditions-broken"])


def _set_invariants(page: Page) -> Iterator[Block]:
    yield Heading("Invariants")
    yield from set_paragraph(
        "In a closed loop the number of users equals the throughput times the mean of response "
        "time plus pause. The total equals the sum of its parts, and the mix is that of the "
        "workload. If a deviation is larger than chance and the edges of a window explain, the "
        "measurement contradicts itself."
    )
    yield Grid(page.tables["identities"], fold="Both sides of every invariant")


PLUGINS = (SectionKind(NAME, APPENDIX + 200, "Validity", _set_validity, make_tables=_make_tables),)
