"""Samples every collector once a second, on the second, and keeps what they say.

Collectors that only read the kernel's files share one thread. One that asks a server (`BLOCKS`)
has a thread of its own, so that a stalled database does not silence the others. The sampler
records its own lateness and cost as readings of collector `sampler`. A collector that dies leaves a
null with the reason for each of its series, and is not asked again.

Cost, measured over 60 s beside a PostgreSQL 15 under load: 0.12 % of a core here, 0.04 % in the
server; every run records it anew.
"""

import math
import threading
from collections.abc import Mapping, Sequence
from types import ModuleType

from stithy.clock import thread_cpu_s
from stithy.collect.collector import (
    Collector,
    Metric,
    Reading,
    Sample,
    Scope,
    Unavailable,
)
from stithy.errors import InfrastructureError
from stithy.registry import plugins
from stithy.results.tables import STOPPED, UNANSWERED

NAME = "sampler"
SAMPLES = "Stithy's sampling"

METRICS = (
    Metric("lateness_s", "s", "how long after its second the sampler began", "lower"),
    Metric("duration_s", "s", "how long all collectors of a thread took", "lower"),
    Metric("cpu_s", "s", "CPU time that they took", "lower", noun=f"CPU time of {SAMPLES}"),
)

LEAVE_PATIENCE_S = 5.0
"""How long `stop` waits for a collector that asks a server which no longer answers."""


class Sampler:
    """All collectors of a window; `start` once, `stop` once."""

    def __init__(self, scope: Scope, modules: Mapping[str, ModuleType] | None = None) -> None:
        """`modules` are the collectors by name; default: all there are."""
        chosen = plugins("collector") if modules is None else modules
        quick = [module for module in chosen.values() if not getattr(module, "BLOCKS", False)]
        slow = [module for module in chosen.values() if getattr(module, "BLOCKS", False)]
        self._stop = threading.Event()
        self._rounds = [
            _Rounds(subject, modules, scope, self._stop)
            for subject, modules in [("", quick), *((module.NAME, [module]) for module in slow)]
            if modules
        ]

    def start(self) -> None:
        """Begin; the first readings come with the next whole second."""
        for each in self._rounds:
            each.start()

    def stop(self) -> tuple[Reading, ...]:
        """End, and return all readings in the order of their time."""
        self._stop.set()
        readings = [reading for each in self._rounds for reading in each.leave()]
        return tuple(sorted(readings, key=lambda reading: reading.at_s))


class _Rounds(threading.Thread):
    """One thread with some collectors, and what they said."""

    def __init__(
        self, subject: str, modules: Sequence[ModuleType], scope: Scope, stop: threading.Event
    ) -> None:
        super().__init__(name=f"sampler-{subject or 'kernel'}", daemon=True)
        self._subject = subject
        self._scope = scope
        self._clock = scope.clock
        self._ended = stop
        self._watched = [_Watched(module) for module in modules]
        self._readings: list[Reading] = []

    def run(self) -> None:
        """Once a second until told to stop."""
        self._prime()
        due_s = math.floor(self._clock.now_s()) + 1.0
        while not self._ended.wait(max(0.0, due_s - self._clock.now_s())):
            self._round(due_s)
            # A round that took longer than a second leaves out the seconds it slept through.
            due_s = max(due_s, math.floor(self._clock.now_s())) + 1.0
        for each in self._watched:
            each.close()

    def leave(self) -> list[Reading]:
        """What was read; a thread that hangs is left behind, and its series say so."""
        self.join(LEAVE_PATIENCE_S)
        readings = list(self._readings)
        if self.is_alive():
            now_s = self._clock.now_s()
            why = f"it did not answer for {LEAVE_PATIENCE_S:.0f} s"
            readings += [lost for each in self._watched for lost in each.left_behind(now_s, why)]
        return readings

    def _prime(self) -> None:
        at_s = self._clock.now_s()
        for each in self._watched:
            self._readings += each.prime(self._scope, at_s)

    def _round(self, due_s: float) -> None:
        at_s, begin_s, cpu_s = self._clock.now_s(), self._clock.monotonic_s(), thread_cpu_s()
        for each in self._watched:
            self._readings += each.read(at_s)
        own = (at_s - due_s, self._clock.monotonic_s() - begin_s, thread_cpu_s() - cpu_s)
        self._readings += [
            Reading(at_s, NAME, metric.unit, Sample(self._subject, metric.name, value))
            for metric, value in zip(METRICS, own, strict=True)
        ]


class _Watched:
    """One collector: its module, itself while it lives, and which series it has begun."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._name: str = module.NAME
        self._units = {metric.name: metric.unit for metric in module.METRICS}
        self._collector: Collector | None = None
        self._series: set[tuple[str, str]] = set()

    def prime(self, scope: Scope, at_s: float) -> list[Reading]:
        """Make the collector and take its first reading."""
        try:
            self._collector = self._module.create(scope)
        except Unavailable as reason:
            return self.lost(at_s, str(reason))
        except Exception as error:  # noqa: BLE001 the others must go on; the series tell what died
            return self.lost(at_s, self._why(error))
        return self.read(at_s)

    def read(self, at_s: float) -> list[Reading]:
        """What the collector says now; nothing once it is dead."""
        if self._collector is None:
            return []
        try:
            samples = self._collector.sample()
            readings = [Reading(at_s, self._name, self._units[s.metric], s) for s in samples]
        except Exception as error:  # noqa: BLE001 the others must go on; the series tell what died
            self.close()
            return self.lost(at_s, self._why(error))
        self._series.update((sample.subject, sample.metric) for sample in samples)
        return readings

    def lost(self, at_s: float, why: str) -> list[Reading]:
        """A null with the reason for each series it has begun, or for each metric if none."""
        series = sorted(self._series) or [("", metric) for metric in self._units]
        return [
            Reading(at_s, self._name, self._units[metric], Sample(subject, metric, None, why))
            for subject, metric in series
        ]

    def left_behind(self, at_s: float, why: str) -> list[Reading]:
        """What is lost of a collector that does not come back."""
        return self.lost(at_s, f"{UNANSWERED if self._is_under_test else STOPPED}{why}")

    def _why(self, error: Exception) -> str:
        silent = self._is_under_test and isinstance(error, InfrastructureError)
        return f"{UNANSWERED if silent else STOPPED}{_text(error)}"

    @property
    def _is_under_test(self) -> bool:
        return bool(getattr(self._module, "UNDER_TEST", False))

    def close(self) -> None:
        """Let the collector give up what it holds."""
        collector, self._collector = self._collector, None
        try:
            if collector is not None:
                collector.close()
        except Exception:  # noqa: BLE001 it is given up; a connection that will not close is gone
            return


def _text(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0] or type(error).__name__
