"""Where the primary question stands after some blocks."""

import math
from dataclasses import replace

from stithy.analysis.answers.standing import standing
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.verdict.asked import Asked
from stithy.analysis.verdict.decide import Call
from stithy.analysis.verdict.progress import Next
from stithy.metrics import P95

ASKED = Asked(users=4, pair=("a", "b"), blocks_most=6)


def window(candidate: str, block: int, nopm: float, users: int = 4) -> Window:
    """A valid window with this throughput and response times to match."""
    row = {
        "window_id": f"w-{candidate}-u{users}-b{block}", "candidate": candidate, "users": users,
        "block": block, "position": 0, "missing_because": None, "tpm": 2 * nopm,
        "nopm": nopm,
    }  # fmt: skip
    return Window(row, {"all": {"response_p95_s": 1 / nopm, "committed": 5000}}, ())


def evidence(logs: list[float], asked: Asked = ASKED, users: int = 4) -> Evidence:
    """Two candidates, of which B does so much more in each block."""
    windows = [window("a", block, 1000.0, users) for block in range(len(logs))]
    windows += [window("b", block, 1000.0 * (1 + each), users) for block, each in enumerate(logs)]
    return Evidence(("a", "b"), (1, 4), tuple(windows), asked=asked)


CLEAR = [0.50, 0.51, 0.49, 0.50, 0.52, 0.50]
NOISY = [0.50, -0.30, 0.40, -0.20, 0.30, -0.10]


def test_a_clear_difference_is_decided_at_the_first_look() -> None:
    """And at no number of blocks before or between looks."""
    steps = [standing(evidence(CLEAR[:count])).progress.step for count in range(2, 6)]
    another = Next.ANOTHER_BLOCK
    assert steps == [another, another, Next.DECIDED, another]
    stands = standing(evidence(CLEAR[:4]))
    assert stands.progress.verdict.call is Call.BETTER
    assert (stands.blocks, stands.blocks_needed) == (4, None)


def test_looks_are_at_their_numbers_of_blocks_and_at_the_limit() -> None:
    """Between them nothing is decided, however clear it is."""
    at = [standing(evidence(CLEAR[:count])).is_look for count in range(7)]
    assert at == [True, True, True, True, True, False, True]
    odd = replace(ASKED, blocks_most=5)
    assert standing(evidence(CLEAR[:5], odd)).is_look
    assert standing(evidence([], ASKED)).blocks == 0


def test_noise_goes_on_to_the_limit_with_a_forecast() -> None:
    """None where the limit will not do."""
    stands = standing(evidence(NOISY[:4]))
    assert (stands.progress.step, stands.blocks_needed) == (Next.ANOTHER_BLOCK, None)
    assert standing(evidence(NOISY)).progress.step is Next.LIMIT_REACHED
    assert standing(evidence([0.5, 0.2, 0.6], ASKED)).blocks_needed == 6


def test_response_times_are_better_when_shorter() -> None:
    """The same windows, asked about by p95."""
    asked = replace(ASKED, metric=P95)
    assert standing(evidence(CLEAR[:4], asked)).progress.verdict.call is Call.BETTER


def test_blocks_of_another_level_answer_nothing() -> None:
    """The report may tell them; the question stays open."""
    stands = standing(evidence(CLEAR[:4], users=1))
    assert (stands.compared, stands.blocks) == (None, 0)
    assert stands.progress.step is Next.ANOTHER_BLOCK


def test_a_wider_margin_is_kept_sooner() -> None:
    """The margin is the study's."""
    small = [0.008, -0.007, 0.006, -0.008]
    assert not standing(evidence(small)).progress.verdict.decided
    wide = standing(evidence(small, replace(ASKED, margin_share=0.05)))
    assert wide.progress.verdict.call is Call.EQUIVALENT


def test_a_pair_chosen_among_many_must_differ_more_to_end_a_study() -> None:
    """As the report will judge it, so that no study ends with an undecided question; a pair that
    was named before need not.
    """
    logs = (0.052, 0.019, 0.061, 0.044, 0.023, 0.046)
    two = evidence([math.exp(log) - 1 for log in logs], replace(ASKED, pair=None, blocks_most=20))
    others = [window(name, block, 1000.0) for name in "cdef" for block in range(6)]
    many = replace(two, candidates=tuple("abcdef"), windows=(*two.windows, *others))
    assert standing(two).progress.step is Next.DECIDED
    assert standing(many).progress.step is Next.ANOTHER_BLOCK
    named = replace(many, asked=replace(many.asked, pair=("a", "b")))
    assert standing(named).progress.step is Next.DECIDED


def test_a_lost_window_drops_its_block() -> None:
    """A block counts where both windows are valid."""
    whole = evidence(CLEAR[:5])
    lost = replace(whole, windows=tuple(w for w in whole.windows if w.id != "w-b-u4-b2"))
    assert (standing(whole).blocks, standing(lost).blocks) == (5, 4)
    assert standing(lost).progress.step is Next.DECIDED
