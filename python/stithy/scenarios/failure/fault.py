"""The seam of faults: what one breaks, on which candidates, and what it explains."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from stithy.registry import Family, Plugin

if TYPE_CHECKING:
    from stithy.run.context import Context
    from stithy.storage.provider import Volume
    from stithy.study.model import Study

NONE = "none"
"""The level without a fault."""


class FaultKeys(BaseModel):
    """The options of a fault in a study."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True)
class Target:
    """What a fault breaks: a candidate of a run, while its users work."""

    context: "Context"
    candidate: str

    @property
    def volume(self) -> "Volume":
        """Its volume."""
        return self.context.volumes.of(self.candidate)


class FaultKind(Plugin):
    """A kind of fault.

    In a window it is the activity `fault-<name>`. What was injected must be gone after `heal`,
    which is also called when a run is stopped, and more than once.
    """

    family = Family("scenarios.failure.faults")
    keys: type[FaultKeys] = FaultKeys

    text: str = ""
    """What happens, as in `with {a host cut off}`."""

    expects: frozenset[str] = frozenset()
    """Classes of errors that users may get from it."""

    is_noticeable: bool = False
    """Whether the storage can know of it."""

    explains: frozenset[str] = frozenset()
    """Flags of windows that it causes on purpose."""

    def explain_refusal(self, study: "Study", candidate: str, keys: Any) -> str | None:
        """Say why a candidate cannot have it; None where it can."""
        raise NotImplementedError

    def promises(self, study: "Study", candidate: str, keys: Any) -> bool:
        """Whether the candidate's policy promises to keep what was acknowledged through it."""
        return True

    def inject(self, target: Target, keys: Any) -> None:
        """Break it. Raises what the machine does."""
        raise NotImplementedError

    def heal(self, target: Target, keys: Any) -> None:
        """Repair it; redundancy is restored by what follows. Idempotent."""
        raise NotImplementedError

    def find_loss(self, target: Target, keys: Any) -> str | None:
        """Ask the storage, after `heal`, what of the volume is lost for good; None where nothing.

        Where something is, requests of the volume fail at once: none waits for ever. The volume
        is then made anew before the next window.
        """
        return None

    def rebuild(self, target: Target, keys: Any) -> str | None:
        """Restore redundancy after `heal`; say what came of it, None where there is none."""
        return None

    def is_detected(self, target: Target) -> bool:
        """Whether the storage knows of it; asked only of one that it can notice."""
        raise NotImplementedError
