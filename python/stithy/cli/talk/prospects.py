"""How likely each answer of a study is, as `stithy plan` says it: whether it can end either way."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from stithy.analysis.decision import (
    ASSUMED_NOISE_SHARE,
    LIKELY_SHARE,
    STUDIES,
    Prospect,
    estimate_margin_needed,
    simulate_prospects,
)
from stithy.analysis.statistics import BLOCKS_LEAST
from stithy.analysis.verdict import Call, count_pairs_among
from stithy.cli.talk.render import make_table
from stithy.metrics import parse_quantity
from stithy.plan.steps import Question
from stithy.units import format_percent

SHOWN = {
    "better": Call.BETTER, "worse": Call.WORSE, "negligible": Call.NEGLIGIBLE,
    "equivalent": Call.EQUIVALENT, "undecided": Call.UNDECIDED,
}  # fmt: skip
"""The columns, and what they count."""


@dataclass(frozen=True)
class Outlook:
    """The answers to expect; `noise_runs` is of how many runs the noise is known, 0 if assumed.

    `margin_needed` is set where equals would end with equivalent less often than 80 of 100 times.
    """

    noise_share: float
    noise_runs: int
    margin_share: float
    prospects: tuple[Prospect, ...]
    margin_needed: float | None


def make_outlook(
    asked: Question | None, candidates: int, noise: Sequence[float], seed: int
) -> Outlook | None:
    """What to expect if equal, better by the margin, and by twice the margin.

    `noise`: of a block's log ratio in earlier runs on this machine. None where no verdict can come,
    and where the margin is no ratio.
    """
    if asked is None or asked.blocks_most < BLOCKS_LEAST:
        return None
    if parse_quantity(asked.metric).known.negligible is not None:
        return None
    share, limit = median(noise) if noise else ASSUMED_NOISE_SHARE, asked.blocks_most
    found = simulate_prospects(
        [1.0, 1 + asked.margin_share, 1 + 2 * asked.margin_share],
        share,
        asked.margin_share,
        limit,
        fixed=asked.blocks_least == limit,
        among=1 if asked.candidates else count_pairs_among(candidates),
        seed=seed,
    )
    likely = found[0].shares[Call.EQUIVALENT] >= LIKELY_SHARE
    needed = None if likely else estimate_margin_needed(share, limit, seed)
    return Outlook(share, len(noise), asked.margin_share, found, needed)


def make_text(known: Outlook) -> str:
    """A table of the answers, where the noise comes from, and what would mend a poor outlook."""
    rows = [
        [
            "equal" if prospect.ratio == 1 else f"better by {_percent(prospect.ratio - 1)}",
            *(_percent(prospect.shares[call]) for call in SHOWN.values()),
            f"{prospect.blocks_mean:.1f}",
        ]
        for prospect in known.prospects
    ]
    lines = [
        f"How likely each answer is: {STUDIES} simulated studies a line, {_describe_noise(known)}.",
        make_table(["if truly", *SHOWN, "blocks, mean"], rows, "<" + ">" * (len(SHOWN) + 1)),
    ]
    if known.margin_needed is not None:
        share = known.prospects[0].shares[Call.EQUIVALENT]
        lines.append(
            f"Equal candidates are found equivalent in {_percent(share)} of them. For "
            f"{_percent(LIKELY_SHARE)}, allow more blocks, or a margin of "
            f"{_percent(known.margin_needed)}."
        )
    return "\n".join(lines)


def _describe_noise(known: Outlook) -> str:
    text = f"block noise {_percent(known.noise_share)}"
    if not known.noise_runs:
        return f"{text}\n(assumed: no earlier run on this machine measured it)"
    runs = "an earlier run" if known.noise_runs == 1 else f"{known.noise_runs} earlier runs"
    return f"{text}\n(the median of {runs} on this machine)"


def _percent(share: float) -> str:
    return format_percent(round(share, 2 if share >= 0.1 else 3))


def make_values(known: Outlook) -> dict[str, object]:
    """The same for programs, with all digits."""
    return {
        "noise_share": known.noise_share,
        "noise_runs": known.noise_runs,
        "margin_needed": known.margin_needed,
        "studies": STUDIES,
        "answers": [
            {
                "ratio": prospect.ratio,
                "blocks_mean": prospect.blocks_mean,
                **{name: prospect.shares[call] for name, call in SHOWN.items()},
            }
            for prospect in known.prospects
        ],
    }
