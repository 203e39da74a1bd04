"""The seam of faults: what one breaks, on which candidates, and what it explains."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from stithy.registry import Family, Plugin
from stithy.units import ShownSeconds, format_duration, limit_quantity

if TYPE_CHECKING:
    from stithy.run.context import Context
    from stithy.storage.provider import Volume
    from stithy.study.model import Study

NONE = "none"
"""The level without a fault."""

DAY_S = 86_400.0
Moment = Annotated[ShownSeconds, limit_quantity(0, DAY_S, format_duration)]


class FaultKeys(BaseModel):
    """The options of a fault in a study; all have these."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    at_s: Moment | None = Field(
        alias="at", default=None, json_schema_extra={"default": "`at` of all faults"},
        description="When it strikes, after the beginning of the measurement.", examples=["10 s"],
    )  # fmt: skip
    for_s: Moment | None = Field(
        alias="for", default=None, json_schema_extra={"default": "`heal` of all faults"},
        description="How long it lasts.", examples=["20 s"],
    )  # fmt: skip

    @property
    def has_times(self) -> bool:
        """Whether it has a time of its own."""
        return self.at_s is not None or self.for_s is not None


class TogetherKeys(FaultKeys):
    """Several faults at once, each with its options; when is said of all."""

    parts: Mapping[str, FaultKeys] = Field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    """What a fault breaks: a candidate of a run, while its users work; with the fault's notes."""

    context: "Context"
    candidate: str
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def volume(self) -> "Volume":
        """Its volume."""
        return self.context.volumes.of(self.candidate)


def is_durable(study: "Study", candidate: str) -> bool:
    """Whether no setting of a candidate's own database gives durability up."""
    from stithy.study.database import of_candidate

    return not of_candidate(study.given_up, candidate)


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

    explains: frozenset[str] = frozenset()
    """Flags of windows that it causes on purpose."""

    rank: int = 1
    """Of several at once, those of a lower rank are repaired first: what hangs, then storage, then
    what needs the storage."""

    examines: bool = False
    """Whether it may change what the storage holds: then the database is started anew, with cold
    caches, and checked by its own means before the ledger is compared."""

    room_share: float = 0.0
    """What its repair needs of the data's storage, relative to what the database may need."""

    def explain_refusal(self, study: "Study", candidate: str, keys: Any) -> str | None:
        """Say why a candidate cannot have it; None where it can."""
        raise NotImplementedError

    def list_taken(self, keys: Any) -> frozenset[int]:
        """Which drives it takes what they hold, by number, if only for its time."""
        return frozenset()

    def list_rules(self, keys: Any) -> frozenset[str]:
        """Name what it sets; where another fault sets the same, one of them ends the other."""
        return frozenset()

    def is_promised(self, study: "Study", candidate: str, keys: Any) -> bool:
        """Whether the candidate's policy promises to keep what was acknowledged through it."""
        return True

    def inject(self, target: Target, keys: Any) -> None:
        """Break it. Raises what the machine does."""
        raise NotImplementedError

    def fail_over(self, target: Target, keys: Any) -> None:
        """Do what whoever runs the database does at once, while it is broken."""
        return

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

    def is_noticeable(self, target: Target) -> bool:
        """Whether the storage can know of it."""
        return False

    def is_detected(self, target: Target) -> bool:
        """Whether the storage knows of it; asked only of one that it can notice."""
        raise NotImplementedError
