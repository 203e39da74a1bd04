"""A second layer: it hands its only device through, and leaves a note of it that goes with it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import Field

from stithy.storage.layer import BuildTask, LayerKeys, LayerKind


class PlainKeys(LayerKeys):
    """How much of the device it hands through."""

    percent: int = Field(default=100, ge=50, le=100, description="The share.", examples=[90])
    note: Path = Field(default=Path("/dev/shm/stithy-plain"), description="Where the note lies.")

    def limit_members(self) -> tuple[int, int | None]:
        """One."""
        return 1, 1

    def count_capacity_bytes(self, sizes_bytes: Sequence[int]) -> int:
        """The share of it."""
        return sum(sizes_bytes) * self.percent // 100

    def count_redundancy(self, count: int) -> float:
        """One copy."""
        return 1.0

    def build(self, devices: Sequence[str], task: BuildTask) -> str:
        """Leave the note, and give the device as it is."""
        task.record("plain-note", {"path": str(self.note)})
        self.note.write_text(task.run_id)
        return devices[0]


def _remove_note(facts: Mapping[str, str]) -> None:
    Path(facts["path"]).unlink(missing_ok=True)


PLUGINS = (LayerKind(name="plain", keys=PlainKeys, handlers={"plain-note": _remove_note}),)
