"""Windows with response times of one's choice, for tests of searches."""

from collections.abc import Iterable, Sequence

from stithy.analysis.capacity import Trial
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.verdict import PrimaryComparison
from stithy.point import Point
from stithy.search import ResponseTarget, Search
from stithy.validity import Flag, Reason

LIMIT = ResponseTarget("p95", "new-order", 1.0)
SEARCH = Search(LIMIT, 1, 256)


def one_more(trial: Trial, said: bool | None) -> Trial:
    """A trial with one window more; None: it says nothing."""
    return Trial(
        trial.level,
        trial.obeyed + (said is True),
        trial.missed + (said is False),
        trial.silent + (said is None),
    )


def window(
    candidate: str,
    users: int,
    values: Sequence[float | None],
    *,
    flags: Sequence[Flag] = (),
    tried: bool = True,
) -> list[Window]:
    """Windows at a level, a block each, whose p95 of new-order has these values, seconds."""
    return [
        _window(candidate, users, block, value, flags, tried=tried)
        for block, value in enumerate(values)
    ]


def _window(
    candidate: str,
    users: int,
    block: int,
    value: float | None,
    flags: Sequence[Flag],
    *,
    tried: bool,
) -> Window:
    row = {
        "window_id": f"w-{candidate}-u{users}-b{block}", "candidate": candidate,
        "point": str(Point.of(users=users)),
        "block": block, "position": 0, "tried": tried, "missing_because": None,
        "activity": "hammer", "tpm": 200.0,
        "headline_per_min": 90.0,
    }  # fmt: skip
    counts = {"committed": 2000, "rolled_back": 20}
    each = {"new-order": {**counts, "response_p95_s": value}} if value is not None else {}
    everything = {"all": {**counts, "response_p95_s": value or 0.1}}
    reasons = tuple(Reason(flag, {}) for flag in flags)
    return Window(row, {**each, **everything}, reasons)


def evidence(
    windows: Iterable[Window], search: Search = SEARCH, asked: PrimaryComparison | None = None
) -> Evidence:
    """The evidence of a run with these windows and this search."""
    known = tuple(windows)
    return Evidence(
        candidates=tuple(dict.fromkeys(each.candidate for each in known)),
        points=tuple(sorted({each.point for each in known})),
        windows=known,
        primary=asked or PrimaryComparison(),
        search=search,
    )
