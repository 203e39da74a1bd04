"""Where the primary question stands after some blocks."""

import math
from dataclasses import replace

from stithy.analysis.answers.findings import decision_status
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.verdict.decide import Call, Next, PrimaryComparison
from stithy.metrics import P95

ASKED = PrimaryComparison(users=4, pair=("a", "b"), blocks_most=6)


def window(candidate: str, block: int, nopm: float, users: int = 4) -> Window:
    """A valid window with this throughput and response times to match."""
    row = {
        "window_id": f"w-{candidate}-u{users}-b{block}", "candidate": candidate, "users": users,
        "block": block, "position": 0, "missing_because": None, "tpm": 2 * nopm,
        "nopm": nopm,
    }  # fmt: skip
    return Window(row, {"all": {"response_p95_s": 1 / nopm, "committed": 5000}}, ())


def evidence(logs: list[float], asked: PrimaryComparison = ASKED, users: int = 4) -> Evidence:
    """Two candidates, of which B does so much more in each block."""
    windows = [window("a", block, 1000.0, users) for block in range(len(logs))]
    windows += [window("b", block, 1000.0 * (1 + each), users) for block, each in enumerate(logs)]
    return Evidence(("a", "b"), (1, 4), tuple(windows), primary=asked)


CLEAR = [0.50, 0.51, 0.49, 0.50, 0.52, 0.50]


def test_response_times_are_better_when_shorter() -> None:
    """The same windows, asked about by p95."""
    asked = replace(ASKED, metric=P95)
    assert decision_status(evidence(CLEAR[:4], asked)).progress.verdict.call is Call.BETTER


def test_blocks_of_another_level_answer_nothing() -> None:
    """The report may tell them; the question stays open."""
    stands = decision_status(evidence(CLEAR[:4], users=1))
    assert (stands.compared, stands.blocks) == (None, 0)
    assert stands.progress.step is Next.ANOTHER_BLOCK


def test_a_pair_chosen_among_many_must_differ_more_to_end_a_study() -> None:
    """As the report will judge it, so that no study ends with an undecided question; a pair that
    was named before need not.
    """
    logs = (0.052, 0.019, 0.061, 0.044, 0.023, 0.046)
    two = evidence([math.exp(log) - 1 for log in logs], replace(ASKED, pair=None, blocks_most=20))
    others = [window(name, block, 1000.0) for name in "cdef" for block in range(6)]
    many = replace(two, candidates=tuple("abcdef"), windows=(*two.windows, *others))
    assert decision_status(two).progress.step is Next.DECIDED
    assert decision_status(many).progress.step is Next.ANOTHER_BLOCK
    named = replace(many, primary=replace(many.primary, pair=("a", "b")))
    assert decision_status(named).progress.step is Next.DECIDED


def test_a_lost_window_drops_its_block() -> None:
    """A block counts where both windows are valid."""
    whole = evidence(CLEAR[:5])
    lost = replace(whole, windows=tuple(w for w in whole.windows if w.id != "w-b-u4-b2"))
    assert (decision_status(whole).blocks, decision_status(lost).blocks) == (5, 4)
    assert decision_status(lost).progress.step is Next.DECIDED
