"""What the ledgers of a run prove: a table by window, the transactions that are gone, sentences."""

from collections.abc import Iterator

import polars as pl

from stithy.analysis.validity.ledger import GONE
from stithy.report.context import Context
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import count, listing, plural

COUNTS = (
    ("acknowledged", "Acknowledged"), ("lost", "Lost"), ("differing", "Differing"),
    ("refused", "Refused"), ("returned", "Returned"), ("in_doubt", "In doubt"),
    ("in_doubt_found", "of those found"), ("unknown", "Not in the ledger"),
)  # fmt: skip


def counted(context: Context) -> PageTable:
    """What became of the orders and payments of each window's ledger."""
    shows = (
        Show("window_id", "Window", "id"), Show("deal", "Kind"),
        *(Show(name, heading, "count") for name, heading in COUNTS),
    )  # fmt: skip
    order = context.run.window.select("window_id")
    frame = order.join(context.run.ledger, on="window_id", maintain_order="left_right")
    return PageTable("ledger", "Ledgers against the database", shows, frame)


def written(context: Context) -> PageTable:
    """How the ledgers were kept: what is durable, the slowest sync, what ended or hindered them."""
    frame = context.run.window.filter(_kept()).select(*(show.column for show in WRITTEN))
    return PageTable("ledgers-written", "How the ledgers were kept", WRITTEN, frame)


WRITTEN = (
    Show("window_id", "Window", "id"),
    Show("ledger_acknowledged", "Acknowledgements durable", "count"),
    Show("ledger_sync_max_s", "Slowest sync", "duration"),
    Show("ledger_shares", "Shares with the volume"),
    Show("ledger_problem", "Ended early"),
    Show("ledger_unverified_because", "Not compared"),
)


def gone(context: Context) -> PageTable:
    """The first transactions of each window that ledger and database tell differently."""
    return PageTable(
        "ledger-findings",
        "Transactions of which ledger and database tell different things",
        (
            Show("window_id", "Window", "id"), Show("deal", "Kind"), Show("kind", "What became"),
            Show("text", "Which"),
        ),
        context.run.ledger_findings,
    )  # fmt: skip


def proven(context: Context) -> str | None:
    """That nothing acknowledged is missing, in one sentence; None where that is not known."""
    if context.run.ledger.is_empty() or list(flaws(context)):
        return None
    totals = _totals(context)
    deals = listing([plural(n["acknowledged"], deal) for deal, n in totals.items()])
    doubt, found = (sum(n[key] for n in totals.values()) for key in ("in_doubt", "in_doubt_found"))
    verb = "was" if doubt == 1 else "were"
    doubts = f"; {count(doubt)} {verb} in doubt, {count(found)} of them found" if doubt else ""
    return f"Of {deals} that the ledgers hold as acknowledged none is missing{doubts}."


def flaws(context: Context) -> Iterator[str]:
    """What the ledgers show to be gone, and which of them prove nothing."""
    broken = context.run.ledger.filter(pl.any_horizontal(pl.col(*GONE) > 0))
    if not broken.is_empty():
        totals = {name: int(broken[name].sum()) for name in GONE}
        yield (
            f"ACKNOWLEDGED WORK IS GONE: the ledgers of "
            f"{plural(broken['window_id'].n_unique(), 'window')} show "
            f"{listing([f'{count(n)} {name}' for name, n in totals.items() if n])}."
        )
    because = context.run.window["ledger_unverified_because"].drop_nulls()
    if len(because):
        yield (
            f"{plural(len(because), 'ledger')} could not be compared with the database: "
            f"{because[0]}."
        )
    cut = context.run.window["ledger_problem"].drop_nulls()
    if len(cut):
        yield f"{plural(len(cut), 'ledger')} ended early: {cut[0]}."


def _totals(context: Context) -> dict[str, dict[str, int]]:
    """The counts of all windows together, by kind of transaction."""
    names = [name for name, _ in COUNTS]
    summed = context.run.ledger.group_by("deal", maintain_order=True).agg(pl.col(*names).sum())
    return {str(row.pop("deal")): row for row in summed.to_dicts()}


def _kept() -> pl.Expr:
    return pl.any_horizontal(
        pl.col("ledger_acknowledged", "ledger_unverified_because").is_not_null()
    )
