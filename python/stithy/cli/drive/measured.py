"""What the commands that measure drives show: steps while they go on, tables when they are done."""

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stithy.cli.talk.render import UNKNOWN, rate_text, say, table, time_text

if TYPE_CHECKING:
    from stithy.drives.measure.compare import Compared
    from stithy.drives.measure.measurement import MeasuredPoint, Measurement
    from stithy.drives.measure.measuring import Watch
    from stithy.fio.output import Served

SAID_PARTS = 20
"""How often a long measurement says how far it is."""


def steps(stop: threading.Event) -> "Watch":
    """Says what is done now, about twenty times in all."""
    from stithy.drives.measure.measuring import Watch

    said: set[tuple[int, int]] = set()

    def tell(what: str, done: int, total: int) -> None:
        mark = (total, SAID_PARTS * done // max(1, total))
        if mark not in said:
            said.add(mark)
            say(f"{what} ({done} of {total})" if total > 1 else what)

    return Watch(tell, stop)


def table_of(measurement: "Measurement") -> str:
    """A row for each kind of request at each point."""
    head = ["point", "of", "IOPS", "MB/s", "p50", "p99", "p99.9", "rounds"]
    rows = [row for each in measurement.matrix for row in _rows(each)]
    return table(head, rows, "<<>>>>>>")


def _rows(measured: "MeasuredPoint") -> Iterator[list[str]]:
    from stithy.drives.measure.measuring import point_of

    name = point_of(measured).name
    for kind in ("read", "write", "flush"):
        served: Served | None = getattr(measured.answer, kind)
        if served is not None:
            times = [time_text(served.latency.quantile_s(share)) for share in (0.5, 0.99, 0.999)]
            megabytes = f"{served.bytes_per_s / 1e6:,.1f}" if served.moved_bytes else UNKNOWN
            iops = measured.iops_by_round
            mean = sum(iops) / len(iops)
            # How far the rounds lie apart, as a share of their mean.
            apart = (max(iops) - min(iops)) / 2 / mean if len(iops) > 1 and mean else None
            spread = "-" if apart is None else f"±{apart:.0%}"
            yield [name, kind, f"{served.iops:,.0f}", megabytes, *times, spread]
            name = ""


def comparison(rows: tuple["Compared", ...]) -> str:
    """Real against emulated: each figure with the ratio, and whether it is within its tolerance."""
    head = ["point", "of", "IOPS", "emulated", "ratio", "p50", "emulated", "ratio", "p99"]
    shown = [
        [
            each.point,
            each.kind,
            *_pair(each, "iops"),
            *_pair(each, "p50_s"),
            *_pair(each, "p99_s"),
            "yes" if not each.missed() else f"NO: {', '.join(map(_word, each.missed()))}",
        ]
        for each in rows
    ]
    return table([*head, "emulated", "ratio", "within"], shown, "<<>>>>>>>>><")


def _pair(row: "Compared", figure: str) -> list[str]:
    real, emulated = getattr(row.real, figure), getattr(row.emulated, figure)
    ratio = row.ratio(figure)
    text = rate_text if figure == "iops" else time_text
    return [text(real), text(emulated), UNKNOWN if ratio is None else f"{ratio:.2f}"]


def _word(figure: str) -> str:
    return {"iops": "IOPS", "p50_s": "p50", "p99_s": "p99"}[figure]
