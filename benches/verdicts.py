"""How often verdicts are wrong, and how many blocks they take: 20,000 simulated studies a line.

No server and no storage: the functions that judge a study judge blocks of known noise, in the
orders of the planner. The first two tables hold studies in which nothing differs. In the first
the second window of a block does more than the first, or the machine drifts. In the second the
noise is so large that "equivalent" ends no study early, which is the worst case. `--quick` takes
2,000 studies a line.
"""

import math
import sys
from collections.abc import Callable, Sequence

from simulated_studies import (
    NOISES,
    OTHERS,
    SEED,
    STUDIES,
    Noise,
    Outcome,
    Truth,
    Where,
    end_of,
    gaussian,
    signs_of,
    tally,
)
from stithy.analysis.statistics import (
    BLOCKS_LEAST,
    BLOCKS_MOST,
    INTERIM_BLOCKS,
    find_critical,
    find_critical_t,
)
from stithy.analysis.verdict import Call, decide

ALLOWED_SHARE = {"gaussian": 0.055, "heavy-tailed (t3)": 0.055}
ALLOWED_OTHERS_SHARE = 0.07
ALLOWED_BALANCED_SHARE = 0.01
"""Of noise in time that has a place for its mean: own, a fifth of what is allowed at all."""
BLOCKS_ALLOWED = 6.0

PLACES = {
    "3 % more": Truth(noise_share=0.005, position_share=0.03),
    "1 % more": Truth(noise_share=0.005, position_share=0.01),
    "a drift of 20 % over 20 blocks": Truth(noise_share=0.005, drift_share=0.2),
}

EFFECTS = (
    *((1.05, noise) for noise in (0.01, 0.02, 0.04, 0.08)),
    *((1.02, noise) for noise in (0.01, 0.02)),
    *((1.0, noise) for noise in (0.01, 0.02)),
)


def main(arguments: Sequence[str]) -> int:
    """Print the tables; 99 where a target is missed."""
    studies = 2_000 if "--quick" in arguments else STUDIES
    good = orders(studies)
    good &= nulls(studies)
    good &= effects(studies)
    others(studies)
    return 0 if good else 99


def orders(studies: int) -> bool:
    """Studies in which nothing differs but the place in a block: coins against balanced orders."""
    same = sum(len({*signs_of(SEED + each, Where.COINS)[:4]}) == 1 for each in range(studies))
    print(f"coins give all of four blocks the same order: {same / studies:.2%} of seeds")
    print(f"\n{studies:,} studies in which nothing differs; wrong: a difference is claimed\n")
    print("| what the second window of a block has | noise | coins | balanced | equivalent |")
    print("| --- | --- | --- | --- | --- |")
    good = True
    for text, truth in PLACES.items():
        for name, noise in (*NOISES.items(), ("AR(1) 0.5", OTHERS["AR(1) 0.5"])):
            coins = tally(noise, truth, Where.COINS, studies=studies)
            plan = tally(noise, truth, Where.BALANCED, studies=studies)
            good &= plan.different_share <= ALLOWED_BALANCED_SHARE
            print(f"| {text} | {name} | {coins.different_share:.2%} | {plan.different_share:.2%} | "
                  f"{plan.share(Call.EQUIVALENT):.0%} |")  # fmt: skip
    return good


def nulls(studies: int) -> bool:
    """Studies in which nothing differs."""
    print(f"\n{studies:,} studies in which nothing differs; wrong: a difference is claimed\n")
    print(
        "| noise of the block | allowed | in time, coins | in time | in a candidate | no caution |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    good = True
    for name, noise in NOISES.items():
        allowed = ALLOWED_SHARE.get(name, ALLOWED_OTHERS_SHARE)
        good &= null(name, noise, studies, f"{allowed:.1%}") <= allowed
    for name, noise in OTHERS.items():
        null(name, noise, studies, "none set")
    return good


def null(name: str, noise: Noise, studies: int, allowed: str) -> float:
    """One line of the table; returns the larger share of the plan's order and of a candidate."""
    coins, *shares = [
        tally(noise, Truth(), where, studies=studies).different_share
        for where in (Where.COINS, Where.BALANCED, Where.CANDIDATE)
    ]
    bare = tally(noise, Truth(), Where.CANDIDATE, studies=studies, end=bare_end).different_share
    print(f"| {name} | {allowed} | {coins:.2%} | {shares[0]:.2%} | {shares[1]:.2%} | {bare:.1%} |")
    return max(shares)


def bare_end(logs: Sequence[float]) -> Outcome:
    """The boundaries without widening: what the caution is measured against."""
    return _crossing(logs, find_critical)


def naive_end(logs: Sequence[float]) -> Outcome:
    """A plain t test at 5 % at every look: what the boundaries are measured against."""
    return _crossing(logs, lambda count: find_critical_t(count - 1))


def _crossing(logs: Sequence[float], value: Callable[[int], float]) -> Outcome:
    for count in INTERIM_BLOCKS:
        part = logs[:count]
        mean = math.fsum(part) / count
        error = math.sqrt(math.fsum((d - mean) ** 2 for d in part) / (count - 1) / count)
        if abs(mean) > value(count) * error:
            return Outcome(Call.BETTER if mean > 0 else Call.WORSE, count)
    return Outcome(Call.UNDECIDED, BLOCKS_MOST)


def effects(studies: int) -> bool:
    """Studies of known effects under normal noise."""
    print("\n| true ratio | noise of a block | blocks, mean | difference claimed | equivalent |")
    print("| --- | --- | --- | --- | --- |")
    good = True
    for ratio, noise_share in EFFECTS:
        found = tally(gaussian, Truth(ratio, noise_share), Where.CANDIDATE, studies=studies)
        print(f"| {ratio} | {noise_share:.0%} | {found.blocks_mean:.2f} | "
              f"{found.different_share:.1%} | {found.share(Call.EQUIVALENT):.1%} |")  # fmt: skip
        if (ratio, noise_share) == (1.05, 0.02):
            good &= found.blocks_mean <= BLOCKS_ALLOWED
    return good


def others(studies: int) -> None:
    """What no target was set for, and one should know."""
    naive = tally(gaussian, Truth(), Where.CANDIDATE, studies=studies, end=naive_end)
    print(f"\na plain t test at every look, normal noise: {naive.different_share:.1%} wrong")
    every = tally(gaussian, Truth(), Where.CANDIDATE, studies=studies, end=look_always)
    print(f"a look after every block from the {BLOCKS_LEAST}th on, normal noise: "
          f"{every.different_share:.2%} wrong")  # fmt: skip
    for noise_share in (0.01, 0.02):
        edge = tally(gaussian, Truth(1.02, noise_share), Where.CANDIDATE, studies=studies)
        print(f"a true difference of 2 % called equivalent, noise {noise_share:.0%}: "
              f"{edge.share(Call.EQUIVALENT):.2%}")  # fmt: skip


def look_always(logs: Sequence[float]) -> Outcome:
    """A study that ends at any number of blocks."""
    for count in range(BLOCKS_LEAST, BLOCKS_MOST + 1):
        verdict = decide(logs[:count])
        if verdict.decided:
            return Outcome(verdict.call, count)
    return end_of(logs)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
