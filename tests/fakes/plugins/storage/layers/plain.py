"""A second layer: it hands its only device through, and leaves a note of it that goes with it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from stithy.storage.layer import LayerKind, Task


class Spec(BaseModel):
    """How much of the device it hands through."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    percent: int = Field(default=100, ge=50, le=100, description="The share.", examples=[90])
    note: Path = Field(default=Path("/dev/shm/stithy-plain"), description="Where the note lies.")


def members(_: Spec) -> tuple[int, int | None]:
    """One."""
    return 1, 1


def capacity_bytes(spec: Spec, sizes_bytes: Sequence[int]) -> int:
    """The share of it."""
    return sum(sizes_bytes) * spec.percent // 100


def redundancy(_spec: Spec, _count: int) -> float:
    """One copy."""
    return 1.0


def build(spec: Spec, devices: Sequence[str], task: Task) -> str:
    """Leave the note, and give the device as it is."""
    task.record("plain-note", {"path": str(spec.note)})
    spec.note.write_text(task.run_id)
    return devices[0]


def _remove_note(facts: Mapping[str, str]) -> None:
    Path(facts["path"]).unlink(missing_ok=True)


PLUGINS = (
    LayerKind(
        name="plain",
        keys=Spec,
        members=members,
        capacity_bytes=capacity_bytes,
        redundancy=redundancy,
        build=build,
        handlers={"plain-note": _remove_note},
    ),
)
