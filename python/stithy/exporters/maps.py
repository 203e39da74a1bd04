"""What the names of an exporter's page mean, in terms of the collector: a data file for each kind.

A map takes nothing that its page does not have: each metric is a counter that becomes a rate, the
ratio of two, a gauge, or the number of series. Several series of one subject are added up.
"""

import re
import tomllib
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError, model_validator

from stithy.errors import UserError, give_reason
from stithy.exporters.given import ExporterKeys
from stithy.exporters.metrics import METRICS
from stithy.names import suggest_instead
from stithy.units import FrozenModel

NAMES = [metric.name for metric in METRICS]
FOLDER = Path(__file__).parent / "maps"


class SeriesTerm(FrozenModel):
    """Series of one name, as far as their labels fit: `where` each matches, `unless` one does."""

    name: str
    where: dict[str, str] = Field(default_factory=dict)
    unless: dict[str, str] = Field(default_factory=dict)

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether a series is among them; patterns are of the whole value."""
        return all(
            re.fullmatch(pattern, labels.get(label, "")) for label, pattern in self.where.items()
        ) and not any(
            re.fullmatch(pattern, labels.get(label, "")) for label, pattern in self.unless.items()
        )


class MappedMetric(SeriesTerm):
    """A metric of the collector, and what it is on the page.

    `by`: the label that names its subject, empty where it is of the host. `per`: its growth is
    divided by that of another counter, not by time. `rest`: what is left of 1.
    """

    metric: str
    kind: Literal["counter", "gauge", "count"] = "counter"
    by: str = ""
    per: SeriesTerm | None = None
    scale: float = 1.0
    rest: bool = False

    @model_validator(mode="after")
    def _check_words(self) -> "MappedMetric":
        if self.metric not in NAMES:
            raise ValueError(f"no metric {self.metric}: {suggest_instead(self.metric, NAMES)}")
        if self.per and self.kind != "counter":
            raise ValueError("only a counter has `per`")
        for term in self.terms:
            for pattern in (*term.where.values(), *term.unless.values()):
                re.compile(pattern)
        return self

    @property
    def terms(self) -> tuple[SeriesTerm, ...]:
        """All that is read for it."""
        return (self, self.per) if self.per else (self,)


class ExporterMap(FrozenModel):
    """A map: `recognised_by` are names of which its page has one, `version` the series whose label
    of that name tells its version, `clock` a gauge of its host's Unix time.
    """

    recognised_by: tuple[str, ...] = Field(min_length=1)
    version: str = ""
    clock: str = ""
    every_s: float = Field(default=1.0, ge=1, le=60)
    metrics: tuple[MappedMetric, ...]

    @property
    def names(self) -> frozenset[str]:
        """All names that it reads of a page."""
        terms = (term.name for metric in self.metrics for term in metric.terms)
        return frozenset([*terms, *self.recognised_by, self.version, self.clock]) - {""}


@cache
def list_maps() -> Mapping[str, ExporterMap]:
    """List the shipped maps by name."""
    return {path.stem: read_map(path) for path in sorted(FOLDER.glob("*.toml"))}


def read_map(path: Path) -> ExporterMap:
    """Read a map. Raises UserError for a file that is none."""
    try:
        return ExporterMap.model_validate(tomllib.loads(path.read_text("utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        why: Exception = error
        what = f"it cannot be read: {give_reason(error)}"
    except (tomllib.TOMLDecodeError, re.error) as error:
        why, kind = error, "pattern" if isinstance(error, re.error) else "TOML"
        what = f"it is no {kind}: {error}"
    except ValidationError as error:
        why, first = error, error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        what = f"{place}: {first['msg'].removeprefix('Value error, ')}"
    remedy = "correct it: docs/how-to/watch-other-hosts.md shows one"
    raise UserError(f"the map {path}: {what}", where="map", remedy=remedy) from why


NOTHING = ExporterMap(recognised_by=("",), metrics=())
"""Of a page of which a study names what is kept."""


def choose_map(keys: ExporterKeys, there: Collection[str], folder: Path) -> tuple[str, ExporterMap]:
    """Choose the map that a study names, or one whose names a page has. Raises UserError.

    A path is relative to `folder`, that of the study.
    """
    known, name = list_maps(), keys.map
    if name is None:
        fits = (of for of, each in known.items() if not {*each.recognised_by}.isdisjoint(there))
        name = next(fits, None)
        if name is None and not keys.metrics:
            few = ", ".join(sorted(there)[:3])
            remedy = "name a map (`map: mine.toml`), or what of it is kept (`metrics: [...]`)"
            raise UserError(f"no shipped map knows this page ({few}, …)", where="", remedy=remedy)
        return (name, known[name]) if name else ("", NOTHING)
    if name not in known and not name.endswith(".toml"):
        remedy = f"name the path of a map (`.toml`), or a shipped one: {', '.join(known)}"
        raise UserError(f"there is no map {name}", where="map", remedy=remedy)
    return name, known.get(name) or read_map(folder / Path(name).expanduser())
