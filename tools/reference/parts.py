"""Pages of the reference that are written from collectors and from the I/O profiles."""

import inspect
from collections.abc import Iterable, Iterator

from stithy.collectors.collector import Collector
from stithy.fio import library
from stithy.fio.profile import IoProfile, Pattern, Stream, format_size
from stithy.metrics import SAMPLER, SAMPLER_METRICS, CollectedMetric
from stithy.registry import plugins
from stithy.run import sampler

COLLECTORS = """\
# The collectors

Written from `python/stithy/collectors/`; do not edit. Each collector samples once per
second, on the second, while a window runs. The values are in the table `series` of each window
(`results.md`). A value that cannot be read is null, with the reason. A share is between 0 and 1,
unless it is one of a single CPU: programs that use several have more.

A study may compare candidates by any of these metrics (`primary.metric`, `thresholds`). Its name is
that of the collector and of the metric: `block.read_latency_s`. The value of a window is the mean
over its measurement. Latencies are weighted by the requests of each second.

A series has a subject, such as a device. A study may name it: `block.read_latency_s of sda`.
Without a name the value is that of the whole machine if there is one. Otherwise it is the largest
value, because devices are stacked, or the sum where the table says so.

Some collectors look at one database server. If several tenants share a candidate, each tenant's
server has series of its own, and the column `instance` has the name of the tenant. A study names it
as a subject: `database.active_sessions of tenant-2`, or with a subject of the series
`database.waiting_sessions of tenant-2:Lock`. Nothing adds up or averages the servers of tenants.

The column "better" says which direction is good. If it is empty, neither is, and a verdict says
"higher" or "lower". Metrics whose best value is 0 are compared as a difference, not as a ratio.
"""


def collectors_page() -> str:
    """The page, as Markdown."""
    sections = [
        _section(name, _describe(collector), collector.metrics)
        for name, collector in plugins(Collector).items()
    ]
    own = _section(SAMPLER, sampler.__doc__ or "", SAMPLER_METRICS)
    return "\n".join([COLLECTORS, *sections, own])


def _describe(collector: Collector) -> str:
    more = "" if collector.create else "\n\nEach tenant's server has its own."
    module = inspect.getmodule(collector.create or collector.create_for)
    return str(getattr(module, "__doc__", "")).strip() + more


def _section(name: str, doc: str, metrics: Iterable[CollectedMetric]) -> str:
    head = ["| metric | unit | better | meaning |", "| --- | --- | --- | --- |"]
    rows = [
        f"| `{each.name}` | {each.unit} | {each.better or ''} | {_told(each)} |" for each in metrics
    ]
    return "\n".join([f"## {name}", "", doc.strip(), "", *head, *rows, ""])


def _told(metric: CollectedMetric) -> str:
    """The meaning, and how subjects make one value and values are compared if not as usual."""
    if not metric.compared:
        return f"{metric.meaning}; not compared"
    told = [metric.meaning]
    if metric.of_several is None:
        told.append(f"`of {'`, `of '.join(metric.subjects)}`")
    elif metric.of_several == "sum":
        told.append("the sum of several subjects")
    if metric.negligible is not None:
        told.append(f"compared as a difference, of which {metric.negligible:g} is negligible")
    return "; ".join(told)


PROFILES = """# The I/O profiles

Written from `python/stithy/fio/profiles/`; do not edit. A study runs them with the scenario
`block-io`: `scenario: {block-io: {profiles: [four-corners, sql]}}`. Each pattern of a profile is
measured by itself; its streams run together. `profile/pattern` names one pattern. Each file says
where its numbers come from, and which are assumed.
"""


def profiles_page() -> str:
    """The page, as Markdown."""
    return "\n".join(
        [PROFILES, *(_profile(library.load_shipped(name)) for name in library.list_names())]
    )


def _profile(profile: IoProfile) -> str:
    workers = f" {profile.workers} workers on each volume, each with a part of it." * (
        profile.workers > 1
    )
    head = [f"## {profile.name}", "", f"{profile.title}.{workers}", ""]
    table = [
        "| pattern | stream | reads | block sizes | random | submission | outstanding | sync |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    rows = (_row(pattern, each) for pattern in profile.patterns for each in pattern.streams)
    return "\n".join([*head, *table, *rows, ""])


def _row(pattern: Pattern, stream: Stream) -> str:
    cells = (
        f"`{pattern.name}`", stream.name, f"{stream.read_share:.0%}", ", ".join(_sizes(stream)),
        f"{stream.random_share:.0%}", stream.submission, str(stream.outstanding), stream.sync,
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _sizes(stream: Stream) -> Iterator[str]:
    """Sizes with their shares, reads before writes where they differ."""
    sides = {"reads": stream.read_sizes, "writes": stream.write_sizes}
    known = {name: sizes for name, sizes in sides.items() if sizes}
    alike = len({tuple(sizes.items()) for sizes in known.values()}) == 1
    for name, sizes in list(known.items())[: 1 if alike else 2]:
        whose = "" if alike else f"{name} "
        for size, share in sizes.items():
            text = size if isinstance(size, str) else format_size(size)
            yield f"{whose}{text}" if share == 1 else f"{whose}{text} {share:.0%}"
