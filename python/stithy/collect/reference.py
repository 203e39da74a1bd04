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
    head = ["| metric | unit | meaning |", "| --- | --- | --- |"]
    rows = [f"| `{each.name}` | {each.unit} | {each.meaning} |" for each in metrics]
    return "\n".join([f"## {name}", "", doc.strip(), "", *head, *rows, ""])
