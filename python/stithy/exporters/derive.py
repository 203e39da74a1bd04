"""What two readings of a page say: rates of counters, ratios of two, gauges, numbers of series.

A counter that began anew, or of which other series are there than before, has no rate: it is
missing, with the reason, and the next reading begins again.
"""

from collections.abc import Iterator, Mapping

from stithy.collectors.collector import Sample
from stithy.exporters.given import ExporterKeys
from stithy.exporters.maps import ExporterMap, MappedMetric, SeriesTerm
from stithy.exporters.page import Labels, PageReading

RESET = "its counter began anew"
CHANGED = "other series are there than at the last reading"
NOTHING_THERE = "nothing of it happened in this time"

GAUGE, RATE = "value", "count_per_s"
"""Metrics of what a study names as the page does."""

Growth = float | str
"""By how much a counter grew, or why that is not known."""

Series = Mapping[Labels, float]


def derive_samples(
    name: str, keys: ExporterKeys, of: ExporterMap, last: PageReading, now: PageReading
) -> Iterator[Sample]:
    """All samples of an exporter between two readings; gauges are those of the second."""
    for metric in of.metrics:
        for subject, value in _derive(metric, last, now):
            yield _make_sample(f"{name}:{subject}" if subject else name, metric.metric, value)
    for asked in keys.metrics:
        yield from _derive_named(f"{name}:{asked}", asked, last, now)


def _make_sample(subject: str, metric: str, value: Growth) -> Sample:
    missing = value if isinstance(value, str) else None
    return Sample(subject, metric, None if isinstance(value, str) else value, missing)


def _derive(
    metric: MappedMetric, last: PageReading, now: PageReading
) -> Iterator[tuple[str, Growth]]:
    before, found = (_select(page, metric, metric.by) for page in (last, now))
    bases = [_select(page, metric.per or metric, metric.by) for page in (last, now)]
    for subject, series in found.items():
        if metric.kind == "count":
            yield subject, float(len(series))
        elif metric.kind == "gauge":
            yield subject, _finish(metric, sum(series.values()))
        elif subject in before:  # of a new one the next reading has the rate
            grown = measure_growth(before[subject], series)
            per: Growth = now.at_s - last.at_s
            if metric.per:
                per = measure_growth(*(base.get(subject, {}) for base in bases))
            if isinstance(grown, str) or isinstance(per, str):
                yield subject, grown if isinstance(grown, str) else per
            else:
                yield subject, _finish(metric, grown / per) if per > 0 else NOTHING_THERE


def _finish(metric: MappedMetric, value: float) -> float:
    value *= metric.scale
    if metric.rest:
        value = 1 - value
    # Counters are read at slightly different moments: no share exceeds the whole.
    return min(1.0, max(0.0, value)) if metric.metric.endswith("_share") else value


def _select(reading: PageReading, term: SeriesTerm, by: str) -> dict[str, dict[Labels, float]]:
    found: dict[str, dict[Labels, float]] = {}
    for labels, value in reading.page.series.get(term.name, {}).items():
        known = dict(labels)
        if term.matches(known):
            found.setdefault(known.get(by, "") if by else "", {})[labels] = value
    return found


def measure_growth(last: Series, now: Series) -> Growth:
    """Add up by how much each series grew, or say why that is not known."""
    if last.keys() != now.keys():
        return CHANGED
    if any(now[labels] < value for labels, value in last.items()):
        return RESET
    return sum(now.values()) - sum(last.values())


def _derive_named(subject: str, name: str, last: PageReading, now: PageReading) -> Iterator[Sample]:
    before = last.page.series.get(name, {})
    for labels, value in now.page.series.get(name, {}).items():
        shown = ",".join(f"{key}={text}" for key, text in labels)
        whole = f"{subject}{{{shown}}}" if shown else subject
        if name not in now.page.counters:
            yield Sample(whole, GAUGE, value)
        elif labels in before:
            grown = measure_growth({labels: before[labels]}, {labels: value})
            rate = grown if isinstance(grown, str) else grown / (now.at_s - last.at_s)
            yield _make_sample(whole, RATE, rate)
