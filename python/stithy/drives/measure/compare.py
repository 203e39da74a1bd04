"""Two measurements of the same matrix side by side: a real drive and the emulated one.

Pure. IOPS and medians may differ by a tenth and the 99th percentile by a fifth.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from stithy.drives.measure.measurement import Measurement, Served
from stithy.drives.measure.measuring import point_of

TOLERANCES = {"iops": 0.10, "p50_s": 0.10, "p99_s": 0.20}
"""By how much each figure may differ, as a share of the real one."""

KINDS = ("read", "write", "flush")


@dataclass(frozen=True)
class Figures:
    """What is compared of one kind of request at one point; seconds. None: nothing to compare."""

    iops: float | None
    p50_s: float | None
    p99_s: float | None


@dataclass(frozen=True)
class Compared:
    """One kind of request at one point, real and emulated."""

    point: str
    kind: str
    real: Figures
    emulated: Figures

    def ratio(self, figure: str) -> float | None:
        """Emulated over real of one figure of `TOLERANCES`; None where one of them is not known."""
        real, emulated = getattr(self.real, figure), getattr(self.emulated, figure)
        return None if not real or emulated is None else float(emulated / real)

    def missed(self) -> tuple[str, ...]:
        """The figures that are out of their tolerance."""
        return tuple(
            figure
            for figure, most in TOLERANCES.items()
            if (ratio := self.ratio(figure)) is not None and abs(ratio - 1) > most
        )


def compared(real: Measurement, emulated: Measurement) -> tuple[Compared, ...]:
    """Every point that both have, in the order of the real one's matrix."""
    return tuple(_rows(real, emulated))


def _rows(real: Measurement, emulated: Measurement) -> Iterator[Compared]:
    others = emulated.by_point()
    for key, one in real.by_point().items():
        if (other := others.get(key)) is None:
            continue
        for kind in KINDS:
            first, second = getattr(one.answer, kind), getattr(other.answer, kind)
            if first is not None and second is not None:
                is_flush = kind == "flush"
                yield Compared(
                    point_of(one).name,
                    kind,
                    figures(first, with_rate=not is_flush),
                    figures(second, with_rate=not is_flush),
                )


def figures(served: Served, *, with_rate: bool = True) -> Figures:
    """The figures of one kind of request; the rate of flushes is that of their writes."""
    latency = served.latency
    rate = served.iops if with_rate else None
    return Figures(rate, latency.quantile_s(0.5), latency.quantile_s(0.99))
