"""What other hosts say of themselves: pages of Prometheus exporters that a study names.

A subject is the exporter's name in the study, such as `db`, with the device, interface, database or
metric after a colon, as far as it has one: `db:nvme0n1`. Times are those of this machine: a sample
is of the time between two readings, by the middle of each request. A page that is the same as the
last one was not made anew: it is no reading. After a reading that failed, rates begin again.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import TYPE_CHECKING

from stithy.clock import Clock
from stithy.collectors.collector import Collector, LiveCollector, Sample, Scope, Unavailable
from stithy.exporters.metrics import EXPORTERS, METRICS, OFFSET, TOOK

if TYPE_CHECKING:
    from stithy.exporters.page import PageReading
    from stithy.exporters.seen import SeenExporter

WAIT_S = 0.8
"""Own: within its second; one that takes longer is read meanwhile, and has its sample later."""
PATIENCE_SHARE, PATIENCE_MOST_S = 0.9, 10.0


class ExporterReadings(LiveCollector):
    """The exporters of a window, each read in a thread of its own."""

    def __init__(self, exporters: "Mapping[str, SeenExporter]", clock: Clock) -> None:
        self._clock, self._primed = clock, False
        self._pool = ThreadPoolExecutor(len(exporters), "exporter")
        self._watches = [_Watch(name, of, clock, self._pool) for name, of in exporters.items()]

    def sample(self) -> Sequence[Sample]:
        now_s = self._clock.monotonic_s()
        for watch in self._watches:
            watch.begin(now_s)
        wait([each.asked for each in self._watches if each.asked is not None], WAIT_S)
        found = [sample for watch in self._watches for sample in watch.finish(now_s)]
        first, self._primed = not self._primed, True
        return [] if first else found

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


class _Watch:
    """One exporter: the page that is asked for, and the last one that came."""

    def __init__(
        self, name: str, of: "SeenExporter", clock: Clock, pool: ThreadPoolExecutor
    ) -> None:
        self._name, self._of, self._clock, self._pool = name, of, clock, pool
        self._last: PageReading | None = None
        self._due_s = 0.0
        self.asked: Future[PageReading] | None = None

    def begin(self, now_s: float) -> None:
        if self.asked is None and now_s >= self._due_s - 0.1:
            self._due_s = now_s + self._of.every_s
            patience_s = min(PATIENCE_MOST_S, PATIENCE_SHARE * self._of.every_s)
            self.asked = self._pool.submit(self._of.read, self._clock, patience_s)

    def finish(self, now_s: float) -> Iterator[Sample]:
        """Samples of a page that has come, or why it has not; the first one only begins counters.

        A sample is as old as the middle of its time is before that of the second that ends now.
        """
        from stithy.exporters.derive import derive_samples
        from stithy.exporters.page import NoPage

        if self.asked is None or not self.asked.done():
            return
        asked, self.asked = self.asked, None
        try:
            now = asked.result()
        except NoPage as reason:
            self._last = None
            yield Sample(self._name, TOOK, None, str(reason))
            return
        last = self._last
        if last is None or now.body != last.body:
            self._last = now
        yield Sample(self._name, TOOK, now.took_s)
        if last is None or now.body == last.body:
            return
        if now.offset_s is not None:
            yield Sample(self._name, OFFSET, now.offset_s)
        age_s = max(0.0, now_s - now.at_s + (now.at_s - last.at_s - 1) / 2)
        for sample in derive_samples(self._name, self._of.keys, self._of.map, last, now):
            yield replace(sample, age_s=age_s)


def create(scope: Scope) -> ExporterReadings:
    """The collector; Unavailable where the study names none that is read in the window."""
    if not scope.exporters:
        raise Unavailable("the study names no exporter to be read")
    return ExporterReadings(scope.exporters, scope.clock)


PLUGINS = (
    Collector(name=EXPORTERS, subject="other hosts", metrics=METRICS, create=create, blocks=True),
)
