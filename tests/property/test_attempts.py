"""Whatever is invalid and however often blocks were measured: pairs are of one attempt."""

import math

from hypothesis import given
from hypothesis import strategies as st

from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.validity.reasons import Flag, Reason
from stithy.metrics import NOPM

KEYS = st.tuples(st.sampled_from("ab"), st.integers(0, 5), st.integers(0, 1))


def window(candidate: str, block: int, attempt: int, *, valid: bool) -> Window:
    """A window whose throughput tells its block and attempt: a pair of one has the ratio 2."""
    nopm = (2.0 if candidate == "b" else 1.0) * math.exp(7 * block + 3 * attempt)
    row = {
        "window_id": f"w-{candidate}-u4-b{block}", "candidate": candidate, "users": 4,
        "block": block, "position": 0, "attempt": attempt, "missing_because": None, "tpm": nopm,
        "nopm": nopm,
    }  # fmt: skip
    return Window(row, {}, () if valid else (Reason(Flag.DRIVER_LATE),))


@given(st.dictionaries(KEYS, st.booleans()))
def test_pairs_are_never_formed_across_attempts(found: dict[tuple[str, int, int], bool]) -> None:
    """Nor across blocks: each has both windows valid, and there is one for each such attempt."""
    windows = tuple(window(*key, valid=valid) for key, valid in found.items())
    effect = Evidence(("a", "b"), (4,), windows).effect("a", "b", 4, NOPM)
    turns = {(block, attempt) for _, block, attempt in found}
    whole = [turn for turn in turns if found.get(("a", *turn)) and found.get(("b", *turn))]
    assert effect.pairs == len(whole)
    assert all(math.isclose(log, math.log(2), abs_tol=1e-9) for log in effect.logs)
