"""The interface of a workload: sizes, transaction types, limits, and how the hammer is asked.

A workload is one module in `workloads/` whose `PLUGINS` has an instance of `Workload`. Whoever is
outside knows of its keys only what `WorkloadKeys` and `Workload` say.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict

from stithy.metrics import TPM, Metric, Quantity
from stithy.registry import Family, Plugin
from stithy.wire.jobs import DataShape, WorkloadChoice

Option = str | int | float | bool | None
"""What a workload's own key says."""

HEADLINE_PER_MIN = "headline_per_min"
"""The column of windows with the committed headline transactions per minute."""

Options = Mapping[str, Option]
"""The same of all its keys that say what users do, defaults resolved."""


@dataclass(frozen=True)
class TransactionType:
    """One transaction type, its share of the mix (0 to 1) and its times, seconds.

    `keying_s` and the mean of the think time are waited with keyed pace, in which `deferred` types
    are done behind the user's back.
    """

    name: str
    share: float
    keying_s: float
    think_mean_s: float
    deferred: bool = False

    @property
    def pause_s(self) -> float:
        """What a keyed user waits in all, on average."""
        return self.keying_s + self.think_mean_s


@dataclass(frozen=True)
class Workload(Plugin):
    """What planning and reporting must know of a workload; the hammer knows the rest.

    `unit` is one of what its size counts, such as a row; the study's key for the size is its
    plural. `run_keys` are the keys of its section that only say what users do: all others make
    another database. `not_varied` are those that are the same at all points, with the reason and
    what to do.

    `bytes_fixed` and `bytes_per_unit` estimate the loaded database on disk, indexes included.
    `bytes_per_transaction` estimates its growth, write-ahead log apart; of that a transaction
    writes at most about `log_bytes_per_transaction`. The times of a unit are those of loading, of
    all consistency conditions, and of the quick ones. `warm_up_per_unit`: transactions of the
    read-only pass before each window. `headline`: the transaction type that stands for the work
    done; `metric` is what its commits per minute are called. `throughput_per_unit_max`: what users
    with its pauses can do at most for each unit of the size; `throughput_per_unit_because` says
    why, in a sentence.
    """

    family: ClassVar = Family("workloads", interface=frozenset({"words", "workload"}))

    name: str
    keys: "type[WorkloadKeys]"
    """The study's section `workload`."""

    title: str
    unit: str
    transactions: tuple[TransactionType, ...]
    headline: str
    bytes_fixed: int
    bytes_per_unit: int
    bytes_per_transaction: int
    log_bytes_per_transaction: int
    load_s_per_unit: float
    check_s_per_unit: float
    quick_check_s_per_unit: float
    warm_up_per_unit: float
    provenance: str
    deviations: str
    run_keys: frozenset[str] = frozenset()
    not_varied: Mapping[str, str] = field(default_factory=dict)
    throughput_per_unit_max: float | None = None
    throughput_per_unit_because: str = ""
    metric: Metric | None = None

    @property
    def throughput(self) -> Quantity:
        """What its users get done; all transactions per minute where it has no metric for it."""
        return Quantity(self.metric.name) if self.metric else TPM

    @property
    def rates(self) -> tuple[Quantity, ...]:
        """By what its users' work is counted: its throughput, and all transactions per minute."""
        return tuple(dict.fromkeys((self.throughput, TPM)))

    @property
    def units(self) -> str:
        """More than one of what its size counts: the study's key for it."""
        return f"{self.unit}s"

    @property
    def shares(self) -> Mapping[str, float]:
        """The share of each transaction type (0 to 1) in the mix of every profile."""
        return {each.name: each.share for each in self.transactions}

    @property
    def pause_s(self) -> float:
        """What a keyed user waits on average between two transactions, seconds."""
        return sum(each.share * each.pause_s for each in self.transactions)

    def data_bytes(self, units: int) -> int:
        """The loaded database of a size, without its write-ahead log."""
        return self.bytes_fixed + units * self.bytes_per_unit

    def label(self, options: Options) -> str | None:
        """What must stand beside every number of users with these options; None: nothing.

        It may rest only on keys that are the same at all points.
        """
        return None

    def in_words(self, options: Options) -> Sequence[str]:
        """What users with these options do, a clause each; an option that varies is not there."""
        return ()

    def isolated(self, level: str) -> str:
        """In a sentence or two, what this isolation level means for it: `read committed`."""
        return f"Transactions ran at isolation level {level}."

    def defers(self, options: Options) -> bool:
        """Whether users leave something to be done behind their backs, on other connections."""
        return False

    def answers_several(self, options: Options) -> bool:
        """Whether a transaction waits for several answers of the server."""
        return False


@dataclass(frozen=True)
class Driving:
    """How users are to be driven, as far as a workload must know it.

    `users_most` is the most of any level, and `most_at` the key that asks for so many.
    """

    users_most: int = 1
    most_at: tuple[str | int, ...] = ("load", "users")
    is_keyed: bool = False
    is_open: bool = False
    touch_percent: int = 100

    def touched(self, units: int) -> int:
        """The units that users touch: the share rounded up, at least one."""
        return max(1, ceil(units * self.touch_percent / 100))


class Misfit(NamedTuple):
    """Something that a section and a load say against each other: what is wrong and what is right.

    `loc` is the key to change, from the top of the study; `value` is what it says.
    """

    what: str
    right: str
    value: object
    loc: tuple[str | int, ...]


class WorkloadKeys(BaseModel):
    """What the `workload` section of a study says, whatever the workload."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str

    @property
    def units(self) -> int:
        """The size of the database."""
        raise NotImplementedError

    def shape(self) -> DataShape:
        """What the generated text is to be like."""
        return DataShape()

    def choice(self, driving: Driving) -> WorkloadChoice:
        """What each job of the hammer says to this workload; the same on the same database."""
        raise NotImplementedError

    def options(self, driving: Driving) -> Options:
        """What its own keys say of the users, defaults resolved; size and data are said apart."""
        return {}

    def users_max(self, driving: Driving) -> int | None:
        """The most users that it has room for; None without a bound."""
        return None

    def misfits(self, driving: Driving) -> Iterator[Misfit]:
        """What does not go together with how users are driven."""
        yield from ()
