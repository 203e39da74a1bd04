"""Names and seeds that the same study always gets again: a journal is matched to a plan by them."""

import hashlib


def window_id(candidate: str, users: int, block: int, *, attempt: int = 0) -> str:
    """The id of a window, also the name of its directory: `w-disk-u4-b0`.

    That of its block's second attempt is `w-disk-u4-b0-again`.
    """
    return f"w-{candidate}-u{users}-b{block}{'-again' if attempt else ''}"


def step_id(kind: str, subject: str | None = None) -> str:
    """The id of a step that is not a window: its kind, then whom it concerns."""
    return kind if subject is None else f"{kind}-{subject}"


def derive_seed(seed: int, *purpose: str | int) -> int:
    """A seed for one purpose, 0 to 2^63 - 1: different purposes draw independently of each other.

    Own: SHA-256 over the purpose in words. Python's `random` promises no stable sequence over
    versions, and adding to a seed gives neighbours the same draws.
    """
    text = "/".join(str(each) for each in (seed, *purpose))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
