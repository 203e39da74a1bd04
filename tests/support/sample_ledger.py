"""What the ledger of a synthetic window came to: all is there, but for what a test takes away."""

from typing import Any

Row = dict[str, Any]


def ledger_rows(window_id: str, orders: int, lost: int) -> list[Row]:
    """Rows of the `ledger` table: `orders` acknowledged, `lost` of them gone; as many payments."""
    well = {
        "acknowledged": orders, "lost": 0, "differing": 0, "refused": 2, "returned": 0,
        "in_doubt": 0, "in_doubt_found": 0, "unknown": 0,
    }  # fmt: skip
    return [
        {"window_id": window_id, "deal": "order", **well, "lost": lost},
        {"window_id": window_id, "deal": "payment", **well, "in_doubt": 3, "in_doubt_found": 1},
    ]


def finding_rows(window_id: str, lost: int) -> list[Row]:
    """Rows of the `ledger_findings` table."""
    what = "order {} of district 4 of warehouse 1, dated 2026-07-21 12:00:03.250017+00"
    return [
        {"window_id": window_id, "deal": "order", "kind": "lost", "text": what.format(3000 + each)}
        for each in range(lost)
    ]
