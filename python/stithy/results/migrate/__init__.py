"""From the form of an older schema version to the present one: a pure function for each step.

`vN_to_vM.py` holds one step: `manifest(document)`, `table(name, frame)`, and `NEW_TABLES`, which no
run of the older version has. What was read is given on from step to step; files are never changed.
"""

from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from stithy.results.migrate import v1_to_v2

if TYPE_CHECKING:
    import polars as pl

STEPS: Mapping[int, ModuleType] = {1: v1_to_v2}
"""By the version that each starts from."""

OLDEST = min(STEPS)


def manifest(document: dict[str, Any], version: int) -> dict[str, Any]:
    """A manifest's document in the present form; its `schema_version` stays as it was written."""
    for step in _steps(version):
        document = step.manifest(document)
    return document


def table(name: str, frame: "pl.DataFrame", version: int) -> "pl.DataFrame":
    """A table in the present form; the order of its columns does not matter."""
    for step in _steps(version):
        frame = step.table(name, frame)
    return frame


def absent(version: int) -> frozenset[str]:
    """The tables that a run of this version does not have."""
    return frozenset(name for step in _steps(version) for name in step.NEW_TABLES)


def _steps(version: int) -> list[ModuleType]:
    return [step for start, step in sorted(STEPS.items()) if start >= version]
