"""An exporter of a study as it was found: its map, its version, and whether it tells anything."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stithy.clock import Clock
from stithy.errors import PreconditionError, UserError
from stithy.exporters.given import ExporterKeys, Role
from stithy.exporters.maps import ExporterMap, choose_map
from stithy.exporters.metrics import OFFSET_LEAST_S
from stithy.exporters.page import NoPage, PageReading, read_page
from stithy.names import suggest_instead

FIRST_PATIENCE_S = 10.0


@dataclass(frozen=True)
class SeenExporter:
    """One that was read once. `map_name`: empty where the study alone names what is kept."""

    keys: ExporterKeys
    map_name: str
    map: ExporterMap
    version: str
    role: Role
    first: PageReading

    @property
    def every_s(self) -> float:
        return self.keys.every_s or self.map.every_s

    def read(self, clock: Clock, patience_s: float) -> PageReading:
        """Read what is kept of its page now. Raises NoPage."""
        names = self.map.names.union(self.keys.metrics)
        return read_page(self.keys, clock, patience_s, names, self.map.clock)

    def list_subjects(self) -> list[str]:
        """List the devices, interfaces and databases that its map takes of the page."""
        labels = {
            dict(labels).get(metric.by, "")
            for metric in self.map.metrics
            if metric.by
            for labels in self.first.page.series.get(metric.name, {})
            if metric.matches(dict(labels))
        }
        return sorted(labels - {""})


def see_exporter(
    name: str, keys: ExporterKeys, folder: Path, clock: Clock, role: Role
) -> SeenExporter:
    """Read an exporter once, and find its map; `role`: where the study gives none.

    Raises UserError for what the study says wrong of it, PreconditionError where it cannot be read.
    The place of an error is the key below the exporter that is to be changed, or empty.
    """
    keys.read_token()  # one that is missing is another problem than a page that is not there
    try:
        first = read_page(keys, clock, FIRST_PATIENCE_S)
        map_name, found = choose_map(keys, first.page.names, folder)
        first = read_page(keys, clock, FIRST_PATIENCE_S, time_name=found.clock)
    except NoPage as reason:
        remedy = f"start the exporter and let this machine reach it: curl {keys.url}"
        raise PreconditionError(f"exporter {name} cannot be read: {reason}", where="url",
                                remedy=remedy) from reason  # fmt: skip
    told = next(iter(first.page.series.get(found.version, {})), ())
    seen = SeenExporter(
        keys, map_name, found, dict(told).get("version", ""), keys.role or role, first
    )
    _refuse_absent(name, seen)
    return seen


def _refuse_absent(name: str, seen: SeenExporter) -> None:
    there, keys = seen.first.page.names, seen.keys
    mapped = [metric.name for metric in seen.map.metrics]
    if mapped and there.isdisjoint(mapped):
        few = ", ".join(sorted(there)[:3])
        raise UserError(f"the map {seen.map_name} finds none of its metrics on the page of {name} "
                        f"({few}, …)", where="map",
                        remedy="leave `map` out, or name the one that fits")  # fmt: skip
    for key, asked, known in (
        ("metrics", keys.metrics, sorted(seen.first.page.series)),
        ("devices", keys.devices, seen.list_subjects()),
    ):
        for absent in (each for each in asked if each not in known):
            remedy = suggest_instead(absent, known[:20]) if known else "leave it out"
            raise UserError(f"the page of {name} has no {absent}", where=key, remedy=remedy)


def describe_doubts(name: str, seen: SeenExporter, window_s: float) -> Iterator[str]:
    """What may make its samples worth less: one sentence each."""
    first, every_s = seen.first, seen.every_s
    if first.offset_s is not None and abs(first.offset_s) > OFFSET_LEAST_S:
        where = "ahead" if first.offset_s > 0 else "behind"
        yield (
            f"the clock of exporter {name} is {abs(first.offset_s):.1f} s {where}: samples have "
            "this machine's time, but other records of that host are shifted; synchronise it (NTP)"
        )
    if window_s < READINGS_LEAST * every_s:
        yield (
            f"exporter {name} is read every {every_s:g} s, so that a window of {window_s:g} s has "
            f"hardly {READINGS_LEAST} readings: lengthen `load.duration`"
        )


READINGS_LEAST = 5
