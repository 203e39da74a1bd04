"""What delays do to metrics at most, and how often verdicts are wrong where windows are delayed.

No server and no storage. The first part draws transactions that wait for requests, delays the
requests in several ways by the same share in the mean, and says how many times as much each metric
changes: `AMPLIFIED` and `QUEUE_FACTOR` of `analysis/instruments.py` must be as large. The second
part judges made-up studies with delayed windows by the functions that judge real ones. `--quick`
takes a tenth of both.
"""

import heapq
import math
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from simulated_studies import SEED
from stithy.analysis.instruments import (
    AMPLIFIED,
    INVALID_SHARES,
    NOTED_SHARE,
    QUEUE_FACTOR,
    Delayed,
    bound_pair,
)
from stithy.analysis.statistics import BLOCKS_MOST
from stithy.analysis.verdict import DIFFERENT, Call, Next, decide, decide_next_step
from stithy.metrics import P95, TPM, Quantity

TRANSACTIONS, STUDIES = 50_000, 4_000
REQUEST_S, CPU_S = 600e-6, 1e-3
SHARES = (0.03, 0.1, 0.25)
PERCENTS = (50.0, 90.0, 95.0, 99.0, 99.9)
WRONG_MOST = 0.07
"""Source: docs/adr/0007-verdicts-that-expect-bad-noise.md."""
CONNECTIONS = ((24, 0.8), (24, 0.9), (4, 0.5), (4, 0.8), (4, 0.9))

Shape = Callable[[random.Random], list[float]]
"""The requests of a transaction, seconds each."""


def wide(draw: random.Random) -> list[float]:
    """From 1 to 16 reads and a commit, with a tail like that of gp3."""
    return [_request_s(draw, 0.52) for _ in range(1 + draw.choice((1, 8, 8, 16)))]


def narrow(draw: random.Random) -> list[float]:
    """Always 16 reads and a commit, which hardly scatter."""
    return [_request_s(draw, 0.2) for _ in range(17)]


def few(draw: random.Random) -> list[float]:
    """A commit, and in three of ten transactions a read."""
    return [_request_s(draw, 0.52) for _ in range(1 + (draw.random() < 0.3))]


def _request_s(draw: random.Random, sigma: float) -> float:
    return draw.lognormvariate(math.log(REQUEST_S), sigma)


SHAPES = (wide, narrow, few)
COUNTS = {"all requests alike": 1, "one of 10": 10, "one of 30": 30, "one of 1,000": 1000}
STALLS_S = {"stalls of 1 ms": 1e-3, "stalls of 20 ms": 0.02}
RARE = {"one of 1,000", "stalls of 20 ms"}
"""Not bounded: they come by chance, to whoever is measured, and are noise of blocks."""


def delayed_s(took_s: float, kind: str, share: float, draw: random.Random) -> float:
    """What a request takes with a delay of `share` in the mean.

    One of so many is delayed by so much more; in a stall nothing proceeds.
    """
    if kind in COUNTS:
        count = COUNTS[kind]
        if count == 1:
            return took_s * (1 + share)
        return took_s + (count * share * REQUEST_S if draw.random() * count < 1 else 0.0)
    stall_s = STALLS_S[kind]
    period_s = stall_s + (stall_s + stall_s**2 / (2 * REQUEST_S)) / share
    phase_s = draw.uniform(0, period_s)
    waits_s = max(0.0, stall_s - phase_s)
    beyond_s = took_s - (period_s - max(phase_s, stall_s))
    if beyond_s > 0:
        waits_s += stall_s * (1 + beyond_s // (period_s - stall_s))
    return took_s + waits_s


def services_s(shape: Shape, kind: str, share: float, count: int) -> tuple[list[float], float]:
    """How long transactions take, and by which share their requests were delayed in the mean."""
    draw, chance = random.Random(f"work {SEED}"), random.Random(f"delay {SEED}")
    found, plain_s, whole_s = [], 0.0, 0.0
    for _ in range(count):
        work = shape(draw)
        took = [delayed_s(each, kind, share, chance) for each in work] if share else work
        plain_s, whole_s = plain_s + sum(work), whole_s + sum(took)
        found.append(CPU_S + sum(took))
    return found, whole_s / plain_s - 1


def values(times_s: Sequence[float]) -> dict[float, float]:
    """The percentiles, and the mean as 0."""
    ordered = sorted(times_s)
    mean_s = sum(ordered) / len(ordered)
    return {0.0: mean_s} | {each: ordered[int(each / 100 * len(ordered))] for each in PERCENTS}


def factors(plain: Sequence[float], delayed: Sequence[float], share: float) -> dict[float, float]:
    """How many times the share of the delay each value changed by."""
    before, after = values(plain), values(delayed)
    return {each: (after[each] / before[each] - 1) / share for each in before}


def responses_s(
    took_s: Sequence[float], gap_s: float, connections: int
) -> tuple[list[float], float]:
    """Response times behind a pool with Poisson arrivals, and what share of them was the queue."""
    draw, free, at_s = random.Random(f"arrivals {SEED}"), [0.0] * connections, 0.0
    found, waited_s = [], 0.0
    for each_s in took_s:
        at_s += draw.expovariate(1 / gap_s)
        begin_s = max(at_s, heapq.heappop(free))
        heapq.heappush(free, begin_s + each_s)
        found.append(begin_s + each_s - at_s)
        waited_s += begin_s - at_s
    return found, waited_s / sum(found)


def tails(count: int) -> bool:
    """Users who wait for nobody: the most that each kind of delay does to each value."""
    print("\n| delay | mean | p50 | p90 | p95 | p99 | p99.9 |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    worst: dict[float, float] = {}
    for kind in (*COUNTS, *STALLS_S):
        most: dict[float, float] = {}
        for shape in SHAPES:
            plain, _ = services_s(shape, kind, 0.0, count)
            for share in SHARES:
                slow, seen = services_s(shape, kind, share, count)
                for each, factor in factors(plain, slow, seen).items():
                    most[each] = max(most.get(each, 0.0), factor)
        print(f"| {kind} | {' | '.join(f'{each:.1f}' for each in most.values())} |")
        if kind not in RARE:
            worst = {each: max(factor, worst.get(each, 0.0)) for each, factor in most.items()}
    allowed = [AMPLIFIED.get(each, 1.0) for each in worst]
    print(f"| allowed for | {' | '.join(f'{each:g}' for each in allowed)} |")
    return all(seen <= most for seen, most in zip(worst.values(), allowed, strict=True))


def queues(count: int) -> bool:
    """Users who queue for connections: how many times as much mean and 95th percentile change."""
    print(
        "\n| connections | busy | response that is queue | mean | p95 | allowed for, mean | p95 |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    good = True
    for connections, busy in CONNECTIONS:
        plain, _ = services_s(wide, "one of 30", 0.0, count)
        gap_s = sum(plain) / count / (busy * connections)
        before, queue = responses_s(plain, gap_s, connections)
        seen = [
            factors(before, responses_s(slow, gap_s, connections)[0], share)
            for slow, share in (
                services_s(wide, kind, 0.03, count) for kind in COUNTS if kind not in RARE
            )
        ]
        mean, tail = (max(each[of] for each in seen) for of in (0.0, 95.0))
        allowed = 1 + QUEUE_FACTOR * queue
        good &= mean <= allowed and tail <= allowed * AMPLIFIED[95.0]
        print(f"| {connections} | {busy:.0%} | {queue:.0%} | {mean:.1f} | {tail:.1f} | "
              f"{allowed:.1f} | {allowed * AMPLIFIED[95.0]:.1f} |")  # fmt: skip
    return good


Delays = Callable[[random.Random], tuple[float, float]]
"""By which shares a block's windows of A and of B are delayed."""


def of_b(low: float, high: float, often: float = 1.0) -> Delays:
    """B alone, by something between two shares, in so many of its windows."""
    return lambda draw: (0.0, draw.uniform(low, high) * (draw.random() < often))


def of_both(low: float, high: float) -> Delays:
    """Both, each by something between two shares."""
    return lambda draw: (draw.uniform(low, high), draw.uniform(low, high))


Takes = Callable[[random.Random, float], float]
"""What part of its bound a delay takes, given the noise of its block."""

TAKES: dict[str, Takes] = {
    "all": lambda _, __: 1.0,
    "any": lambda draw, _: draw.random(),
    "where noise favours B": lambda _, noise: float(noise > 0),
}


@dataclass(frozen=True)
class Case:
    """Made-up studies: the true ratio of B to A, the delays, and what part of bounds they take."""

    name: str
    ratio: float
    delays: Delays
    takes: str = "any"
    metric: Quantity = TPM


CASES = (
    Case("equal, nothing delayed", 1.0, of_b(0, 0)),
    Case("equal, both by up to 2 %: not noted", 1.0, of_both(0, 0.02)),
    Case("equal, B alone by 1.9 %: not noted", 1.0, of_b(0.019, 0.019)),
    Case("equal, B alone by 10 %", 1.0, of_b(0.1, 0.1), "all"),
    Case("equal, B alone by 10 %, by p95", 1.0, of_b(0.1, 0.1), "all", P95),
    Case("equal, B alone by 10 %", 1.0, of_b(0.1, 0.1), "where noise favours B"),
    Case("equal, B alone by 0 to 60 %", 1.0, of_b(0, 0.6)),
    Case("equal, B alone by 20 % in one window of three", 1.0, of_b(0.2, 0.2, 1 / 3), "all"),
    Case("equal, both by 5 to 25 %", 1.0, of_both(0.05, 0.25)),
    Case("B 10 % slower, nothing delayed", 0.9, of_b(0, 0)),
    Case("B 10 % slower, both by up to 2 %", 0.9, of_both(0, 0.02)),
    Case("B 10 % slower, A by 3 to 7 %", 0.9, lambda draw: of_b(0.03, 0.07)(draw)[::-1]),
    Case("B 10 % slower, B by 3 to 7 %", 0.9, of_b(0.03, 0.07)),
    Case("B three times as slow, both by 15 to 45 %", 1 / 3, of_both(0.15, 0.45)),
)


def study(case: Case, draw: random.Random, noise_share: float) -> tuple[Call, int]:
    """How one study ends; a second attempt at a block is delayed as its first one."""
    logs: list[float] = []
    bounds: list[tuple[float, float]] = []
    verdict = decide(logs)
    for _ in range(BLOCKS_MOST):
        noise, delays = draw.gauss(0, noise_share), case.delays(draw)
        if max(delays) > INVALID_SHARES[1]:
            continue
        down, up = bound_pair(case.metric, *(Delayed(each, each, 1.0) for each in delays))
        down, up = (each * TAKES[case.takes](draw, noise) for each in (down, up))
        logs.append(math.log(case.ratio) + noise + down - up)
        noted = (each if each > NOTED_SHARE else 0.0 for each in delays)
        bounds.append(bound_pair(case.metric, *(Delayed(each, each, 1.0) for each in noted)))
        progress = decide_next_step(logs, bounds=bounds)
        verdict = progress.verdict
        if progress.step is not Next.ANOTHER_BLOCK:
            break
    return verdict.call, len(logs)


def verdicts(studies: int) -> bool:
    """Each case, with a noise of 2 % in a block."""
    print("\n| studies | of its bound | claimed | equivalent | undecided | blocks, mean |")
    print("| --- | --- | --- | --- | --- | --- |")
    good = True
    for case in CASES:
        draw = random.Random(f"{SEED} {case.name}")
        ends = [study(case, draw, 0.02) for _ in range(studies)]
        calls = [call for call, _ in ends]
        claimed = sum(call in DIFFERENT for call in calls) / studies
        shares = [calls.count(call) / studies for call in (Call.EQUIVALENT, Call.UNDECIDED)]
        blocks = sum(count for _, count in ends) / studies
        print(f"| {case.name} | {case.takes} | {claimed:.1%} | {shares[0]:.1%} | "
              f"{shares[1]:.1%} | {blocks:.1f} |")  # fmt: skip
        if case.ratio == 1 and "1.9" not in case.name:
            good &= claimed <= WRONG_MOST
    return good


def main(arguments: Sequence[str]) -> int:
    """Print the tables; 99 where a target is missed."""
    part = 10 if "--quick" in arguments else 1
    good = tails(TRANSACTIONS // part)
    good &= queues(TRANSACTIONS)
    good &= verdicts(STUDIES // part)
    return 0 if good else 99


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
