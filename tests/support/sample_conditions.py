"""Rows of consistency conditions that a synthetic run has verified, all of which hold."""

from collections.abc import Sequence
from typing import Any


def condition(candidate: str, window: str | None, moment: str, number: int) -> dict[str, Any]:
    """One row of CONDITIONS."""
    return {
        "candidate": candidate, "window_id": window, "moment": moment, "number": number,
        "text": f"condition {number} holds", "holds": True, "violations": 0, "example": None,
        "duration_s": 0.1,
    }  # fmt: skip


def full_checks(candidates: Sequence[str]) -> list[dict[str, Any]]:
    """All twelve after the load, and all but the costly one at each candidate's end."""
    load = [condition(candidates[0], None, "load", number) for number in range(1, 13)]
    end = [
        condition(candidate, None, "end", number)
        for candidate in candidates
        for number in range(1, 13)
        if number != 11
    ]
    return load + end
