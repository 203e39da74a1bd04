"""Studies that never ran: blocks of known noise and known truth, judged as those of a real study.

Noise lies either in time or in a candidate. In time, the second window of a block has something
over the first, whichever candidate is in it: the order decides in whose favour that is. The order
is the plan's, or for comparison a coin for each block. In a candidate the order cannot help, as
with a drive that remembers.
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, partial

from stithy.analysis.statistics import BLOCKS_MOST, INTERIM_BLOCKS
from stithy.analysis.verdict import DIFFERENT, Call, Next, decide_next_step
from stithy.plan.steps import list_blocks
from stithy.point import Point

SEED = 20261121
STUDIES = 20_000

Noise = Callable[[random.Random], list[float]]
"""The noise of the blocks of one study, at the scale of its shape."""


def gaussian(draw: random.Random) -> list[float]:
    """Independent, normal, standard deviation 1."""
    return [draw.gauss(0, 1) for _ in range(BLOCKS_MOST)]


def heavy_tailed(draw: random.Random) -> list[float]:
    """Student's t with 3 degrees of freedom: a normal over the root of a mean of three squares."""
    return [
        draw.gauss(0, 1) / math.sqrt(sum(draw.gauss(0, 1) ** 2 for _ in range(3)) / 3)
        for _ in range(BLOCKS_MOST)
    ]


def correlated(draw: random.Random, rho: float = 0.3) -> list[float]:
    """Each block with a correlation of 0.3 to the one before, standard deviation 1: AR(1)."""
    found = [draw.gauss(0, 1)]
    for _ in range(BLOCKS_MOST - 1):
        found.append(rho * found[-1] + math.sqrt(1 - rho * rho) * draw.gauss(0, 1))
    return found


def alternating(draw: random.Random) -> list[float]:
    """What has a period of two blocks, such as another program's job: up in one, down in the next.

    A sixth of it is normal noise.
    """
    first = draw.choice((1, -1))
    return [first * (-1) ** block + draw.gauss(0, 1 / 6) for block in range(BLOCKS_MOST)]


def wave(draw: random.Random, blocks: int) -> list[float]:
    """A sine with a period of so many blocks, from a random phase; a sixth is normal noise."""
    phase = draw.random()
    return [
        math.cos(2 * math.pi * (block / blocks + phase)) + draw.gauss(0, 1 / 6)
        for block in range(BLOCKS_MOST)
    ]


SKEWED_SIGMA = 0.59
"""Chosen so that the boundaries alone mislead nearly 13 % of studies: no source names a shape, only
how much one misled. Shapes that are milder and harsher are in `OTHERS`."""


def skewed(draw: random.Random, sigma: float = SKEWED_SIGMA) -> list[float]:
    """A long tail on one side and none on the other, with mean 0: a log-normal less its mean."""
    mean = math.exp(sigma * sigma / 2)
    return [draw.lognormvariate(0, sigma) - mean for _ in range(BLOCKS_MOST)]


def gamma(draw: random.Random, shape: float) -> list[float]:
    """A gamma less its mean: 1 is the exponential, 0.5 a squared normal; the less, the harsher."""
    return [draw.gammavariate(shape, 1) - shape for _ in range(BLOCKS_MOST)]


NOISES: dict[str, Noise] = {
    "gaussian": gaussian,
    "heavy-tailed (t3)": heavy_tailed,
    "AR(1) 0.3": correlated,
    "one-sided skew": skewed,
}


OTHERS: dict[str, Noise] = {
    "one-sided: gamma, shape 2": partial(gamma, shape=2.0),
    "one-sided: gamma, shape 1.4": partial(gamma, shape=1.4),
    "one-sided: exponential": partial(gamma, shape=1.0),
    "one-sided: log-normal, sigma 1": partial(skewed, sigma=1.0),
    "one-sided: squared normal": partial(gamma, shape=0.5),
    "AR(1) 0.5": partial(correlated, rho=0.5),
    "AR(1) -0.5": partial(correlated, rho=-0.5),
    "a period of two blocks": alternating,
    "a sine over three blocks": partial(wave, blocks=3),
    "a sine over four blocks": partial(wave, blocks=4),
    "a sine over five blocks": partial(wave, blocks=5),
}
"""Noises for which no target was set, and which one should know."""


@dataclass(frozen=True)
class Outcome:
    """How one study ended."""

    call: Call
    blocks: int


@dataclass(frozen=True)
class Tally:
    """How many studies ended how; `blocks_mean` is the mean number of blocks they took."""

    studies: int
    calls: Counter[Call]
    blocks_mean: float

    @property
    def different_share(self) -> float:
        """The share of studies that claim a difference."""
        return sum(self.calls[call] for call in DIFFERENT) / self.studies

    def share(self, call: Call) -> float:
        """The share of studies with this verdict."""
        return self.calls[call] / self.studies


class Where(Enum):
    """Where noise lies, and for noise in time what draws the order."""

    BALANCED = "in time, the plan's order"
    COINS = "in time, coins"
    CANDIDATE = "in a candidate"


@dataclass(frozen=True)
class Truth:
    """What is true in the studies: the ratio of B to A, and the noise of a block's log ratio.

    `position_share`: by how much more the second window of a block does, whichever candidate it is.
    `drift_share`: how much of its speed the machine loses from the first window to the last one.
    """

    ratio: float = 1.0
    noise_share: float = 0.08
    position_share: float = 0.0
    drift_share: float = 0.0

    def logs(self, noise: Sequence[float], signs: Sequence[int], where: Where) -> list[float]:
        """The log ratios of a study's blocks; `signs` turn what lies in time to its candidate."""
        middle = math.log(self.ratio)
        shifts = [math.log1p(self.position_share) + each for each in self._drifts(len(noise))]
        turned = noise
        if where is not Where.CANDIDATE:
            turned = [n * s for n, s in zip(noise, signs, strict=True)]
        return [
            middle + self.noise_share * each + sign * shift
            for each, sign, shift in zip(turned, signs, shifts, strict=True)
        ]

    def _drifts(self, count: int) -> list[float]:
        """What drift alone gives the second window of each block over the first: less."""
        step = self.drift_share / (2 * count - 1)
        return [
            math.log((1 - step * (2 * each + 1)) / (1 - step * 2 * each)) for each in range(count)
        ]


@cache
def signs_of(seed: int, where: Where = Where.BALANCED) -> tuple[int, ...]:
    """For each block of a study 1 where B comes second, -1 where it comes first."""
    if where is Where.COINS:
        coin = random.Random(f"coins {seed}")
        return tuple(coin.choice((1, -1)) for _ in range(BLOCKS_MOST))
    found = list_blocks("ab", [(Point.of(users=8), BLOCKS_MOST)], seed)
    return tuple(1 if each.candidates[1] == "b" else -1 for each in found)


def end_of(logs: Sequence[float]) -> Outcome:
    """How a study with these blocks ends: it goes from look to look until told to stop."""
    for count in INTERIM_BLOCKS:
        progress = decide_next_step(logs[:count])
        if progress.step is not Next.ANOTHER_BLOCK:
            return Outcome(progress.verdict.call, count)
    raise ValueError(f"{len(logs)} blocks do not reach the limit")


def tally(
    noise: Noise,
    truth: Truth,
    where: Where,
    *,
    studies: int = STUDIES,
    end: Callable[[Sequence[float]], Outcome] = end_of,
) -> Tally:
    """How `studies` studies end; the same seed gives the same ones."""
    ends = list(_ends(noise, truth, where, studies, end))
    mean = sum(each.blocks for each in ends) / studies
    return Tally(studies, Counter(each.call for each in ends), mean)


def _ends(
    noise: Noise,
    truth: Truth,
    where: Where,
    studies: int,
    end: Callable[[Sequence[float]], Outcome],
) -> Iterator[Outcome]:
    draw = random.Random(SEED)
    for study in range(studies):
        yield end(truth.logs(noise(draw), signs_of(SEED + study, where), where))
