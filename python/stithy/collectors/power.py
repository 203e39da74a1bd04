"""What each meter of the study shows, in watts; without a meter nothing.

Subjects are the meters' names. A counter of energy gives the mean since its last reading. A meter
that is a file is read after the window, so that its samples have the times of its rows.
"""

from collections.abc import Sequence

from stithy.collectors.collector import Collector, LiveCollector, Sample, Scope, Unavailable
from stithy.meters.meter import LiveMeter, Unreadable, require_watts
from stithy.metrics import CollectedMetric

NAME = "power"
DRAW = CollectedMetric(
    "draw_w", "W", "power that the meter shows", "lower", of_several=None, compared=False
)

BEGUN = "its counter is read for the first time after it could not be read"
EARLY_S = 0.1
"""Own: the sampler is late by less, so that a meter of one second is asked each second."""


class MeterReadings(LiveCollector):
    """The meters of a window, asked one after the other."""

    def __init__(self, scope: Scope) -> None:
        """Open all; what is not there says so in its samples."""
        self._clock = scope.clock
        self._meters = {name: of for name, of in scope.meters.items() if not of.plugin.is_record}
        self._open: dict[str, LiveMeter | str] = {}
        for name, given in self._meters.items():
            try:
                self._open[name] = given.plugin.open(given.keys, scope)
            except Unreadable as reason:
                self._open[name] = str(reason)
        self._due_s = dict.fromkeys(self._meters, 0.0)
        self._primed = False

    def sample(self) -> Sequence[Sample]:
        now_s = self._clock.monotonic_s()
        asked = [name for name, due_s in self._due_s.items() if now_s >= due_s - EARLY_S]
        for name in asked:
            due_s, every_s = self._due_s[name], self._meters[name].keys.every_s
            # From when it was due: each 2.5 s means after 3 s, then after 2 s.
            self._due_s[name] = every_s + (due_s if now_s - due_s < every_s else now_s)
        found = [self._read(name) for name in asked]
        first, self._primed = not self._primed, True
        return [] if first else found

    def _read(self, name: str) -> Sample:
        meter = self._open[name]
        try:
            watts = None if isinstance(meter, str) else meter.read_w()
            if watts is None:
                # Said, so that the next sample covers the time since this one.
                why = meter if isinstance(meter, str) else BEGUN
                return Sample(name, DRAW.name, None, why)
            return Sample(name, DRAW.name, require_watts(watts))
        except Unreadable as reason:
            return Sample(name, DRAW.name, None, str(reason))

    def close(self) -> None:
        pass  # nothing is held


def create(scope: Scope) -> MeterReadings:
    """The collector; Unavailable where the study names no meter that is asked live."""
    if all(of.plugin.is_record for of in scope.meters.values()):
        raise Unavailable("the study names no meter to be asked")
    return MeterReadings(scope)


PLUGINS = (Collector(name=NAME, subject="the meters", metrics=(DRAW,), create=create, blocks=True),)
