"""Exact shares as the whole percents that fio knows, with the least change."""

from collections.abc import Mapping, Sequence


def whole_percents(shares: Sequence[float]) -> list[int]:
    """Percents that sum to 100, by largest remainder. Shapes: as `shares`, which sum to 1.

    Of equal remainders the earlier one wins.
    """
    exact = [100 * each for each in shares]
    # A share of 0.29 is 28.999…: what is whole but for the error of a float is whole.
    floors = [int(each + 1e-6) for each in exact]
    order = sorted(range(len(exact)), key=lambda at: floors[at] - exact[at])
    for at in order[: 100 - sum(floors)]:
        floors[at] += 1
    return floors


def whole_sizes(sizes: Mapping[int, float]) -> dict[int, int]:
    """Block sizes in rising order with whole percents; what rounds to 0 is left out.

    To fio a percentage of 0 means whatever remains.
    """
    ordered = dict(sorted(sizes.items()))
    percents = whole_percents(list(ordered.values()))
    return {size: each for size, each in zip(ordered, percents, strict=True) if each}


def mixed_percent(share: float) -> int:
    """The percent of a mix of two, of which neither may vanish."""
    return min(99, max(1, round(100 * share)))
