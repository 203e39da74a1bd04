"""Published ratios of storage beside those of its scale models: the same direction, or not?

    python tools/papers.py DIRECTORY

DIRECTORY has a run for each study `studies/papers/block-*.yaml`, called as the study.
"""

import math
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from stithy.analysis.evidence import Evidence
from stithy.cli.talk.render import UNKNOWN, Align, table
from stithy.metrics import Quantity
from stithy.report.context import context_of
from stithy.results.read import read_run

PUBLISHED = Path(__file__).parent.parent / "studies/papers/block.toml"
UNITS = {"_us": 1e-6, "_ms": 1e-3, "_gb_s": 1e9, "_mb_s": 1e6}
"""Of a key's ending; the review's GB/s are 1000 MiB/s, which no ratio shows."""

HEADER = ("study", "profile", "metric", "first", "second", "published", "here", "95 % interval",
          "direction")  # fmt: skip
ALIGN: tuple[Align, ...] = ("left",) * 5 + ("right",) * 3 + ("left",)
Direction = Literal["agrees", "differs", "undecided"]


@dataclass(frozen=True)
class Own:
    """How many times better the first candidate was here, with the plain 95 % interval."""

    ratio: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Row:
    """A published ratio: how many times better the first candidate is."""

    study: str
    profile: str
    metric: str
    candidates: tuple[str, str]
    ratio: float


def published(known: Mapping[str, Any]) -> Iterator[Row]:
    """Every ratio of `block.toml`, damaged numbers by their probable values."""
    results = {
        each["id"]: {**each["results"], **each.get("probable", {})} for each in known["experiment"]
    }
    for point in known["point"]:
        for each in point.get("ratios", ()):
            names = tuple(point["experiments"])
            values = [results[name] for name in point["experiments"].values()]
            ratio = each.get("stated") or _ratio(each, values)
            yield Row(point["study"], point["profile"], each["metric"], names, ratio)


def _ratio(asked: Mapping[str, Any], values: Sequence[Mapping[str, Any]]) -> float:
    keys = asked.get("keys") or [asked["key"]] * len(values)
    first, second = (_plain(key, each[key]) for key, each in zip(keys, values, strict=True))
    return first / second if is_rate(asked["metric"]) else second / first


def _plain(key: str, number: float) -> float:
    return next((number * factor for end, factor in UNITS.items() if key.endswith(end)), number)


def is_rate(metric: str) -> bool:
    """Whether more of it is better."""
    return Quantity(metric).known.better == "higher"


def direction(ratio: float, own: Own) -> Direction:
    """Whether the interval lies on the published side of 1, on the other, or on both."""
    if own.low is None or own.high is None or own.low <= 1 <= own.high:
        return "undecided"
    return "agrees" if (own.low > 1) == (ratio > 1) else "differs"


def measured(evidence: Evidence, row: Row) -> Own:
    """The same ratio in a run: of valid windows, paired by block."""
    first, second = row.candidates
    ends = (second, first) if is_rate(row.metric) else (first, second)
    for point in evidence.points:
        if str(point.values["profile"]) == row.profile:
            effect = evidence.effect(*ends, point, Quantity(row.metric))
            low, high = effect.plain_bounds or (None, None)
            return Own(effect.ratio, low, high)
    return Own(None, None, None)


def cells(row: Row, own: Own) -> tuple[str, ...]:
    """A line of the table."""
    interval = UNKNOWN if own.low is None or own.high is None else f"{own.low:.2f}–{own.high:.2f}"
    here = UNKNOWN if own.ratio is None else f"{own.ratio:.2f}"
    return (
        row.study, row.profile, row.metric, *row.candidates, f"{row.ratio:.2f}", here, interval,
        direction(row.ratio, own),
    )  # fmt: skip


def main(directory: Path) -> None:
    """Print all of it; a study that did not run is said."""
    rows = list(published(tomllib.loads(PUBLISHED.read_text())))
    assert all(math.isfinite(each.ratio) and each.ratio > 0 for each in rows)
    shown = []
    for study in dict.fromkeys(each.study for each in rows):
        place = directory / study.removesuffix(".yaml")
        if not (place / "manifest.json").is_file():
            print(f"{study} has no run in {directory}")
            continue
        evidence = context_of(read_run(place)).evidence
        shown += [cells(row, measured(evidence, row)) for row in rows if row.study == study]
    print("How many times better the first candidate is: rates first/second, latencies inverse.")
    print(table(HEADER, shown, ALIGN))
    ends = [each[-1] for each in shown]
    print("; ".join(f"{name}: {ends.count(name)}" for name in ("agrees", "differs", "undecided")))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
