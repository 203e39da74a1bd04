"""Sums that must come out: a check of the measurement by laws that do not depend on the storage."""

from dataclasses import dataclass

from stithy.analysis.evidence import Window

TOLERANCE_SHARE = 0.05
"""Own: ramp-up and drain leak into a short window by a transaction a user."""


@dataclass(frozen=True)
class Identity:
    """One law at one window: both sides, and whether they agree within the tolerance.

    `left`, `right`, `off_share` are None with a reason where a side is not known.
    """

    name: str
    window_id: str
    left: float | None
    right: float | None
    off_share: float | None
    holds: bool | None
    missing_because: str | None = None


def users_in_closed_loop(window: Window) -> Identity:
    """Little's law: virtual users = transactions per second x mean response time, back to back.

    Source: Little (1961); holds for `pace: none`, where a user is always within a transaction.
    """
    name = "users = throughput × mean response time"
    mean_s = window.value("response_mean_s")
    total, length_s = window.value("transactions"), window.measured_s
    if mean_s is None or total is None or not length_s:
        return Identity(name, window.id, None, None, None, None, "the window has no mean response")
    return _compare(name, window.id, float(window.users), total / length_s * mean_s)


def parts_and_whole(window: Window) -> Identity:
    """TPM = sum of all transaction types per minute of measurement.

    Own: the merged count must equal the sum of its parts exactly; 5 % is only for rounding of time.
    """
    name = "TPM = sum over the transaction types"
    parts = [row for kind, row in window.transactions.items() if kind != "all"]
    tpm, length_s = window.value("tpm"), window.measured_s
    if not parts or tpm is None or not length_s:
        return Identity(name, window.id, None, None, None, None, "the window has no transactions")
    total = sum(row["committed"] + row["rolled_back"] for row in parts)
    return _compare(name, window.id, tpm, total / (length_s / 60))


def _compare(name: str, window_id: str, left: float, right: float) -> Identity:
    if left == 0:
        return Identity(name, window_id, left, right, None, right == 0, "the left side is 0")
    off = right / left - 1
    return Identity(name, window_id, left, right, off, abs(off) <= TOLERANCE_SHARE)


def check(window: Window) -> tuple[Identity, ...]:
    """All identities of one window that has numbers.

    Own: the list of laws in this module.
    """
    return (users_in_closed_loop(window), parts_and_whole(window)) if window.measured else ()
