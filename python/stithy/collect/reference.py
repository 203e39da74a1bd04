"""The reference page of the collectors, derived from their modules."""

from collections.abc import Iterable

from stithy.collect import sampler
from stithy.collect.collector import Metric
from stithy.registry import plugins

_HEAD = """\
# The collectors

Written from `python/stithy/collect/collectors/`; do not edit. Each samples once a second, on the
second, while a window runs. The values are in the table `series` of each window (`results.md`).
What cannot be read is null with the reason. A share is between 0 and 1.

A study compares candidates by any of them (`primary.metric`, `thresholds`), under the name of its
collector and its own: `block.read_latency_s`. The value of a window is the mean over its
measurement, in which latencies are weighted by the requests of each second. A series has a subject,
such as a device, which may be named: `block.read_latency_s of sda`. Without a name the value is
that of the whole machine where there is one, else the largest, as devices lie on each other, or
where it says so the sum. "better" tells which direction is good; where it is empty neither is, and
a verdict says "higher" or "lower".
"""


def reference_page() -> str:
    """The page, as Markdown."""
    sections = [
        _section(name, module.__doc__ or "", module.METRICS)
        for name, module in plugins("collector").items()
    ]
    own = _section(sampler.NAME, sampler.__doc__ or "", sampler.METRICS)
    return "\n".join([_HEAD, *sections, own])


def _section(name: str, doc: str, metrics: Iterable[Metric]) -> str:
    head = ["| metric | unit | better | meaning |", "| --- | --- | --- | --- |"]
    rows = [
        f"| `{each.name}` | {each.unit} | {each.better or ''} | {_told(each)} |" for each in metrics
    ]
    return "\n".join([f"## {name}", "", doc.strip(), "", *head, *rows, ""])


def _told(metric: Metric) -> str:
    """The meaning, and how its subjects make one value where that is not as usual."""
    if not metric.compared:
        return f"{metric.meaning}; not compared"
    if metric.of_several is None:
        return f"{metric.meaning}; `of {'`, `of '.join(metric.subjects)}`"
    return f"{metric.meaning}; of several the sum" if metric.of_several == "sum" else metric.meaning
