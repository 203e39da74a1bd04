"""The section `collect` of a study: what else is watched in windows, on other hosts."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from stithy.exporters.given import ExporterKeys
from stithy.exporters.metrics import EXPORTERS
from stithy.metrics import ALL
from stithy.study.problems import Violation

if TYPE_CHECKING:
    from stithy.study.model import Study

ExporterName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=40)]


class Collect(BaseModel):
    """What is watched beside what Stithy itself sees."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    exporters: Annotated[dict[ExporterName, ExporterKeys], Field(min_length=1, max_length=50)] = (
        Field(
            description=(
                "Prometheus exporters of other hosts by name, each an address or a mapping: see "
                "docs/how-to/watch-other-hosts.md."
            ),
            examples=[{"db": "http://db.example:9100/metrics"}],
        )
    )

    def narrow_to(self, candidate: str) -> "Collect | None":
        """Keep what is watched of one candidate, for every candidate that a study then has."""
        kept = {
            name: of.model_copy(update={"candidates": None})
            for name, of in self.exporters.items()
            if of.applies_to(candidate)
        }
        return self.model_copy(update={"exporters": kept}) if kept else None


def find_collect_problems(study: "Study") -> Iterator[Violation]:
    """Find what of the section does not fit the study, each at the key to change."""
    for name, of in study.collect.exporters.items() if study.collect else ():
        place = ("collect", EXPORTERS, name)
        if name == ALL:
            yield Violation("an exporter with a name that Stithy uses", "call it otherwise", name,
                            place)  # fmt: skip
        for other in of.candidates or ():
            if other not in study.candidates:
                known = ", ".join(study.candidates)
                yield Violation("a candidate that the study does not have", known, other,
                                (*place, "candidates"))  # fmt: skip
        if of.role == "database" and not study.by_url:
            what = "the database of this study runs on this machine, which is watched already"
            yield Violation(what, "use `storage` or `other`", of.role, (*place, "role"))
        if of.devices and not (study.by_url and of.role in (None, "database")):
            what = "devices under the database on a host without it"
            yield Violation(what, "leave it out, or use `role: database`", None,
                            (*place, "devices"))  # fmt: skip
