"""Published ratios of storage beside those of its scale models: the same direction, or not?

    python tools/papers.py DIRECTORY STUDY…

DIRECTORY has a run for each STUDY, called as the study. What was published, and which candidates
stand for it, is in the files `studies/papers/*.toml`: each `point` that compares names a `study` by
its way from there, two published tests by the candidates that stand for them (`experiments`;
`ends` where one candidate stands for both, each end `at` a point of its own, or of some of its
`tenants`), and `ratios`.
"""

import math
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from stithy.analysis.analyze import measure
from stithy.analysis.capacity import count_users_within
from stithy.analysis.evidence import Evidence
from stithy.analysis.statistics import estimate_plain_interval
from stithy.cli.talk.render import UNKNOWN, make_table
from stithy.metrics import Quantity, find
from stithy.plan.steps import name_instance
from stithy.point import Point
from stithy.report.context import Context, make_context
from stithy.report.sections.storage import sum_held_bytes
from stithy.results.files import read_run

STUDIES = Path(__file__).parent.parent / "studies/papers"
UNITS = {"_us": 1e-6, "_ms": 1e-3, "_gb_s": 1e9, "_mb_s": 1e6}
"""Of a key's ending; the review's GB/s are 1000 MiB/s, which no ratio shows."""

HEADER = ("study", "at", "metric", "first", "second", "published", "here", "between",
          "direction")  # fmt: skip
SIDES = "<<<<<>>><"
NOTE = """\
How many times better the first candidate is: rates first/second, latencies and space inverse.
Between: plain 95 % intervals; users within the target lie between levels; bytes are counted.
Published as equal (=): the direction agrees if the interval lies within the study's margin.
Confounded: more than this differed between the published tests, so that no direction follows."""
Direction = Literal["agrees", "differs", "undecided", "confounded"]
DIRECTIONS: tuple[Direction, ...] = ("agrees", "differs", "undecided", "confounded")


@dataclass(frozen=True)
class Own:
    """How many times better the first candidate was here, and between which bounds."""

    ratio: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class End:
    """A candidate where it stands for a published test; `at`: factors of its point.

    `tenants`: by number, where it stands for some of several alone.
    """

    candidate: str
    experiment: str
    at: Mapping[str, Any]
    tenants: tuple[int, ...] = ()

    @property
    def called(self) -> str:
        """The candidate, and its point or tenants where they are its own."""
        numbers = "+".join(map(str, self.tenants))
        own = [f"tenants {numbers}"] if numbers else []
        return ", ".join([self.candidate, *map(str, self.at.values()), *own])


@dataclass(frozen=True)
class Row:
    """A published ratio: how many times better the first end is.

    `at`: factors of the point of both. `equal`: the authors call both the same. `confounded`: both
    tests differ in more, and by that the ratio is the wrong way round.
    """

    study: str
    at: Mapping[str, Any]
    metric: str
    ends: tuple[End, End]
    ratio: float
    equal: bool = False
    confounded: bool = False

    @property
    def candidates(self) -> tuple[str, str]:
        """Their names."""
        return self.ends[0].candidate, self.ends[1].candidate

    @property
    def called(self) -> str:
        """The study's file, wherever it lies."""
        return Path(self.study).name


def published(known: Mapping[str, Any]) -> Iterator[Row]:
    """Every ratio of a file, damaged numbers by their probable values."""
    tests = (*known.get("experiment", ()), *known.get("test", ()))
    results = {each["id"]: each.get("results", {}) | each.get("probable", {}) for each in tests}
    for point in known.get("point", ()):
        for each in point.get("ratios", ()):
            first, second = _ends(point)
            values = [results[end.experiment] for end in (first, second)]
            ratio = each.get("stated") or _ratio(each, values)
            yield Row(point["study"], point.get("at", {}), each["metric"], (first, second), ratio,
                      each.get("equal", False), each.get("confounded", False))  # fmt: skip


def _ends(point: Mapping[str, Any]) -> Iterator[End]:
    for each in point.get("ends", ()):
        tenants = tuple(each.get("tenants", ()))
        yield End(each["candidate"], each["experiment"], each.get("at", {}), tenants)
    for candidate, experiment in point.get("experiments", {}).items():
        yield End(candidate, experiment, {})


def _ratio(asked: Mapping[str, Any], values: Sequence[Mapping[str, Any]]) -> float:
    keys = asked.get("keys") or [asked["key"]] * len(values)
    first, second = (
        sum(_plain(key, each[key]) for key in ([of] if isinstance(of, str) else of))
        for of, each in zip(keys, values, strict=True)
    )
    return first / second if is_rate(asked["metric"]) else second / first


def _plain(key: str, number: float) -> float:
    return next((number * factor for end, factor in UNITS.items() if key.endswith(end)), number)


def is_rate(metric: str) -> bool:
    """Whether more of it is better."""
    return metric != SPACE if metric in COUNTED else Quantity(metric).known.better == "higher"


def direction(row: Row, own: Own, margin_share: float) -> Direction:
    """Whether the bounds lie on the published side of 1, on the other, or on both.

    Of what was published as equal: whether they lie within the margin, outside of it, or on both.
    """
    if row.confounded:
        return "confounded"
    if own.low is None or own.high is None:
        return "undecided"
    if row.equal:
        margin = 1 + margin_share
        if 1 / margin < own.low and own.high < margin:
            return "agrees"
        return "differs" if own.low > margin or own.high < 1 / margin else "undecided"
    if own.low <= 1 <= own.high:
        return "undecided"
    return "agrees" if (own.low > 1) == (row.ratio > 1) else "differs"


def measured(context: Context, row: Row) -> Own:
    """The same ratio in a run."""
    if (counted := COUNTED.get(row.metric)) is not None:
        return counted(context, row)
    return _paired(context, row)


def _paired(context: Context, row: Row) -> Own:
    """Of valid windows, paired by block."""
    evidence, quantity = context.evidence, Quantity(row.metric)
    found = (point_of(evidence, {**row.at, **end.at}) for end in row.ends)
    points = [each for each in found if each is not None]
    if len(points) < 2:
        return Own()
    more = measure(context.run, evidence, context.sampled, [quantity])
    evidence = replace(evidence, measures={**evidence.measures, **more})
    both = [*zip(row.candidates, points, strict=True)]
    (a, against), (b, point) = reversed(both) if is_rate(row.metric) else both
    elsewhere = against if against != point else None
    effect = evidence.effect(a, b, point, quantity, elsewhere)
    return Own(effect.ratio, *(effect.plain_bounds or (None, None)))


def point_of(evidence: Evidence, at: Mapping[str, Any]) -> Point | None:
    """The last point with these factors; None where there is none."""
    asked = {(name, str(value)) for name, value in at.items()}
    found = (p for p in evidence.points if asked <= {(n, str(v)) for n, v in p.factors})
    return max(found, default=None)


def _space(context: Context, row: Row) -> Own:
    """Bytes on the drives, without the log."""
    held = sum_held_bytes(context.run.space)
    first, second = (held.get(name) for name in row.candidates)
    if not first or not second:
        return Own()
    return Own(second / first, second / first, second / first)


def _users(context: Context, row: Row) -> Own:
    """Users within the response-time target of the study, which lie between two levels."""
    evidence, limit = context.evidence, context.limit
    if limit is None:
        return Own()
    first, second = (count_users_within(evidence, name, limit) for name in row.candidates)
    if first.level is None or second.level is None or first.not_at is second.not_at is None:
        return Own()  # of two that may serve more than was tried there is no ratio
    # The upper level misses the target, so that neither bound is ever met.
    low = first.level / second.not_at if second.not_at else 0.0
    high = first.not_at / second.level if first.not_at else math.inf
    high = math.nextafter(high, 0.0) if math.isfinite(high) else high
    return Own(first.level / second.level, math.nextafter(low, math.inf), high)


def _tenants(context: Context, row: Row) -> Own:
    """Throughput of some tenants by that of others, of the same windows."""
    logs = []
    for window in context.evidence.windows:
        if window.valid and window.candidate == row.candidates[0]:
            sums = [
                sum(window.values["tenant.tpm", name_instance(n)]["value"] for n in end.tenants)
                for end in row.ends
            ]
            logs.append(math.log(sums[0] / sums[1]))
    between = estimate_plain_interval(logs) if len(logs) > 1 else None
    low, high = map(math.exp, between) if between else (None, None)
    return Own(math.exp(fmean(logs)), low, high) if logs else Own()


SPACE, USERS, TENANTS = "space", "users within target", "throughput of tenants"
COUNTED: Mapping[str, Callable[[Context, Row], Own]] = {
    SPACE: _space, USERS: _users, TENANTS: _tenants,
}  # fmt: skip
"""What is not compared by metrics of windows."""


def cells(row: Row, own: Own, margin_share: float) -> tuple[str, ...]:
    """A line of the table."""
    here = UNKNOWN if own.ratio is None else f"{own.ratio:.2f}"
    return (
        row.called, ", ".join(map(str, row.at.values())), row.metric,
        *(end.called for end in row.ends), f"{'= ' if row.equal else ''}{row.ratio:.2f}",
        here, _between(own), direction(row, own, margin_share),
    )  # fmt: skip


def _between(own: Own) -> str:
    if own.low is None or own.high is None:
        return UNKNOWN
    return f"{own.low:.2f}–{own.high:.2f}" if math.isfinite(own.high) else f"≥ {own.low:.2f}"


def all_rows() -> list[Row]:
    """Every published ratio of every file, each of a metric that is known."""
    files = sorted(STUDIES.glob("*.toml"))
    rows = [row for each in files for row in published(tomllib.loads(each.read_text()))]
    for row in rows:
        assert math.isfinite(row.ratio), row
        assert row.ratio > 0, row
        assert row.metric in COUNTED or find(row.metric), row
    return rows


def main(directory: Path, studies: Sequence[str]) -> None:
    """Print all of it; a study that did not run is said."""
    shown = []
    for study, rows in ((each, [r for r in all_rows() if r.called == each]) for each in studies):
        place = directory / study.removesuffix(".yaml")
        if rows and not (place / "manifest.json").is_file():
            print(f"{study} has no run in {directory}")
        elif rows:
            context = make_context(read_run(place))
            margin_share = context.evidence.primary.margin_share
            shown += [cells(row, measured(context, row), margin_share) for row in rows]
    print(NOTE)
    print(make_table(HEADER, shown, SIDES))
    ends = [each[-1] for each in shown]
    print("; ".join(f"{name}: {ends.count(name)}" for name in DIRECTIONS))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
