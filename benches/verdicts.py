"""How often verdicts are wrong, and how many blocks they take: 20,000 simulated studies a line.

No server and no storage: the functions that judge a study judge blocks of known noise. The first
table holds studies in which nothing differs; its noise is so large that "equivalent" ends none
of them early, which is the worst case. `--quick` takes 2,000 studies a line.
"""

import math
import sys
from collections.abc import Sequence

from simulated_studies import (
    NOISES,
    STUDIES,
    Outcome,
    Truth,
    end_of,
    exponential,
    gaussian,
    tally,
)
from stithy.analysis.verdict.boundaries import BLOCKS_LEAST, BLOCKS_MOST, LOOKS, critical
from stithy.analysis.verdict.decide import Call, decide

ALLOWED_SHARE = {"gaussian": 0.055, "heavy-tailed (t3)": 0.055}
ALLOWED_OTHERS_SHARE = 0.07
BLOCKS_ALLOWED = 6.0

EFFECTS = (
    *((1.05, noise) for noise in (0.01, 0.02, 0.04, 0.08)),
    *((1.02, noise) for noise in (0.01, 0.02)),
    *((1.0, noise) for noise in (0.01, 0.02)),
)


def main(arguments: Sequence[str]) -> int:
    """Print the tables; 99 where a target is missed."""
    studies = 2_000 if "--quick" in arguments else STUDIES
    good = nulls(studies)
    good &= effects(studies)
    others(studies)
    return 0 if good else 99


def nulls(studies: int) -> bool:
    """Studies in which nothing differs."""
    print(f"{studies:,} studies in which nothing differs; wrong: a difference is claimed\n")
    print("| noise of the block | allowed | in time | in a candidate | no caution |")
    print("| --- | --- | --- | --- | --- |")
    good = True
    for name, noise in NOISES.items():
        allowed = ALLOWED_SHARE.get(name, ALLOWED_OTHERS_SHARE)
        shares = [
            tally(noise, Truth(), in_time=True, studies=studies).different_share,
            tally(noise, Truth(), in_time=False, studies=studies).different_share,
        ]
        bare = tally(noise, Truth(), in_time=False, studies=studies, end=bare_end)
        print(f"| {name} | {allowed:.1%} | {shares[0]:.2%} | {shares[1]:.2%} | "
              f"{bare.different_share:.1%} |")  # fmt: skip
        good &= max(shares) <= allowed
    return good


def bare_end(logs: Sequence[float]) -> Outcome:
    """The boundaries without widening: what the caution is measured against."""
    for count in LOOKS:
        part = logs[:count]
        mean = math.fsum(part) / count
        error = math.sqrt(math.fsum((d - mean) ** 2 for d in part) / (count - 1) / count)
        if abs(mean) > critical(count) * error:
            return Outcome(Call.BETTER if mean > 0 else Call.WORSE, count)
    return Outcome(Call.UNDECIDED, BLOCKS_MOST)


def effects(studies: int) -> bool:
    """Studies of known effects under normal noise."""
    print("\n| true ratio | noise of a block | blocks, mean | difference claimed | equivalent |")
    print("| --- | --- | --- | --- | --- |")
    good = True
    for ratio, noise_share in EFFECTS:
        found = tally(gaussian, Truth(ratio, noise_share), in_time=False, studies=studies)
        print(f"| {ratio} | {noise_share:.0%} | {found.blocks_mean:.2f} | "
              f"{found.different_share:.1%} | {found.share(Call.EQUIVALENT):.1%} |")  # fmt: skip
        if (ratio, noise_share) == (1.05, 0.02):
            good &= found.blocks_mean <= BLOCKS_ALLOWED
    return good


def others(studies: int) -> None:
    """What no target was set for, and one should know."""
    harsh = [
        tally(exponential, Truth(), in_time=in_time, studies=studies).different_share
        for in_time in (True, False)
    ]
    print(f"\nexponential skew: {harsh[0]:.2%} wrong in time, {harsh[1]:.2%} in a candidate")
    every = tally(gaussian, Truth(), in_time=False, studies=studies, end=look_always)
    print(f"a look after every block from the {BLOCKS_LEAST}th on, normal noise: "
          f"{every.different_share:.2%} wrong")  # fmt: skip
    for noise_share in (0.01, 0.02):
        edge = tally(gaussian, Truth(1.02, noise_share), in_time=False, studies=studies)
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
