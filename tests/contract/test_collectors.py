"""Every collector keeps its interface, on this machine; a new file is tested at once."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.drives import serving
from stithy.collectors.collector import (
    Collector,
    InstanceScope,
    LiveCollector,
    Sample,
    Scope,
    Unavailable,
)
from stithy.registry import plugins
from stithy.wire.drive.messages import AnswerStats
from support.drive_counters import counters

COLLECTORS = plugins(Collector)
OF_MACHINE = [name for name in COLLECTORS if name != "database"]
"""What engines give of their servers, tests/conformance asks them."""


@pytest.fixture(scope="module")
def scope() -> Iterator[Scope]:
    """This machine, its root file system, and a drive that answers."""
    with tempfile.TemporaryDirectory() as folder:
        control = Path(folder) / "control"
        with serving(control, lambda _: AnswerStats(**dict(counters()))):
            drives = {"data": control}
            # A control group to look at: that of the whole machine, where it can be read.
            files = ("memory/memory.usage_in_bytes", "memory.current")
            paths = [Path("/sys/fs/cgroup", file) for file in files]
            group = next((path.parent for path in paths if path.exists()), None)
            one = InstanceScope(memory_cgroup=group)
            yield Scope((Path("/"),), (one,), drives=drives)


def created(kind: Collector, scope: Scope) -> LiveCollector:
    """The collector, of the scope's first server where it looks at one."""
    if kind.create is not None:
        return kind.create(scope)
    assert kind.create_for is not None
    return kind.create_for(scope, scope.instances[0])


def second_sample(module: Collector, scope: Scope) -> list[Sample]:
    """What a collector says when it is asked for the second time."""
    try:
        collector = created(module, scope)
    except Unavailable as reason:
        pytest.skip(f"not on this machine: {reason}")
    try:
        assert list(collector.sample()) == [], "the first sample only takes the reading"
        time.sleep(0.05)  # rates need some time between two readings
        return list(collector.sample())
    finally:
        collector.close()


@pytest.mark.parametrize("name", OF_MACHINE)
def test_a_collector_delivers_what_it_declares(name: str, scope: Scope) -> None:
    """Every metric it declares and no other; never neither, never both; and each series once."""
    module = COLLECTORS[name]
    samples = second_sample(module, scope)
    declared = {metric.name for metric in module.metrics}
    delivered = {sample.metric for sample in samples}
    assert delivered == declared
    for sample in samples:
        assert (sample.value is None) == (sample.missing_because is not None), sample
    series = [(sample.subject, sample.metric) for sample in samples]
    assert len(set(series)) == len(series)


@pytest.mark.parametrize("name", COLLECTORS)
def test_a_collector_declares_its_metrics_in_full(name: str) -> None:
    """Name, unit in the name or none, meaning in a sentence; shares and counts have no unit."""
    units = {
        "bytes": "B",
        "bytes_per_s": "B/s",
        "_per_s": "1/s",
        "_s": "s",
        "_w": "W",
        "_share": "",
    }
    names = [metric.name for metric in COLLECTORS[name].metrics]
    assert len(set(names)) == len(names)
    assert COLLECTORS[name].subject
    for metric in COLLECTORS[name].metrics:
        assert metric.meaning
        ending = next((each for each in units if metric.name.endswith(each)), None)
        assert metric.unit == (units[ending] if ending else ""), metric


@pytest.mark.parametrize("name", COLLECTORS)
def test_without_its_source_it_is_unavailable(name: str, tmp_path: Path) -> None:
    """It says so when it is made, with a reason; it does not give zeros."""
    nothing = Scope((), (InstanceScope(),), proc=tmp_path, sys=tmp_path)
    with pytest.raises((Unavailable, OSError)):
        created(COLLECTORS[name], nothing)
