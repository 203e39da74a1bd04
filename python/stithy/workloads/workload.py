"""The interface of a workload: sizes, transaction types, limits, and how the hammer is asked.

A workload is one module in `workloads/` whose `PLUGINS` has an instance of `Workload`. Whoever is
outside knows of its keys only what `WorkloadKeys` and `Workload` say: of its size the numbers by
name, and of what it can be asked to prove only what it declares.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, prod
from typing import ClassVar, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict

from stithy.errors import UserError
from stithy.metrics import TPM, Metric, Quantity
from stithy.registry import Family, Plugin, plugins
from stithy.units import make_rule_error
from stithy.wire.jobs import DataShape, WorkloadChoice

Option = str | int | float | bool | None
"""What a workload's own key says."""

Per = Literal["1/min", "1/s"]
"""By what time a workload counts its transactions."""

HEADLINE_COLUMNS: Mapping[Per, str] = {"1/min": "headline_per_min", "1/s": "headline_per_s"}
"""The columns of windows with the committed headline transactions in that time."""

Size = Mapping[str, int]
"""The numbers that make the size of a database, by the study's keys for them."""

Options = Mapping[str, Option]
"""The same of all its keys that say what users do, defaults resolved."""


def require(holds: Callable[[int], bool], what: str, right: str) -> AfterValidator:
    """Require of a number what holds; `what` is wrong with others, and what would be `right`."""

    def check(value: int) -> int:
        if not holds(value):
            raise make_rule_error(what, right)
        return value

    return AfterValidator(check)


@dataclass(frozen=True)
class TransactionType:
    """One transaction type, its share of the mix (0 to 1) and its times, seconds.

    `keying_s` and the mean of the think time are waited with keyed pace, in which `deferred` types
    are done behind the user's back; both are None of a workload that specifies no pauses. Types
    that are not `by_users` are begun by something else, such as a clock: nobody waits for them, and
    no draw decides how many there are.
    """

    name: str
    share: float
    keying_s: float | None = None
    think_mean_s: float | None = None
    deferred: bool = False
    by_users: bool = True

    @property
    def pause_s(self) -> float | None:
        """The mean pause of a keyed user in all; None without pauses."""
        if self.keying_s is None or self.think_mean_s is None:
            return None
        return self.keying_s + self.think_mean_s


class SizeNumber(NamedTuple):
    """One number of a size: the study's key for it, and what one of it is called."""

    key: str
    unit: str


@dataclass(frozen=True)
class Conditions:
    """Consistency conditions of the data: the time for each unit, of all and of the quick ones."""

    s_per_unit: float
    quick_s_per_unit: float


@dataclass(frozen=True)
class Workload(Plugin):
    """What planning and reporting must know of a workload; the hammer knows the rest.

    `size` declares the numbers of its size. Units, which users touch and by which everything is
    estimated, are what the last of them counts: their number is the product of all. `run_keys` are
    the keys of its section that only say what users do: all others make another database.
    `not_varied` are those that are the same at all points, with the reason and what to do.

    `bytes_fixed` and `bytes_per_unit` estimate the loaded database on disk, indexes included;
    `bytes_per_part` what each of several parts that units lie in (tables) takes besides, at most
    eight times as much.
    `bytes_spilled` is the share of the database that temporary files of checks take at most, where
    the room for its log does not hold them.
    `bytes_per_transaction` estimates its growth, write-ahead log apart; of that a transaction
    writes at most about `log_bytes_per_transaction`. `load_s_per_unit` is the time to load one.
    `warm_up_per_unit`: transactions of the read-only pass before each window. `headline`: the
    transaction type that stands for the work done; `metric` is what its commits per minute or per
    second are called. `throughput_per_unit_max`: what users with its pauses can do at most for each
    unit, by that metric; `throughput_per_unit_because` says why, in a sentence.

    What not every workload has: `conditions` None has no consistency conditions, `has_ledger` says
    whether a commit ledger can keep its transactions, `counts_headline` whether its data show how
    many transactions of the headline type were done. `is_divisible`: users need nothing of each
    other, so that several hosts can drive them.

    `is_default`: it is the one where none is named.
    """

    family: ClassVar = Family("workloads", interface=frozenset({"words", "workload"}))

    name: str
    keys: "type[WorkloadKeys]"
    """The study's section `workload`."""

    title: str
    size: tuple[SizeNumber, ...]
    transactions: tuple[TransactionType, ...]
    headline: str
    bytes_fixed: int
    bytes_per_unit: int
    bytes_per_transaction: int
    log_bytes_per_transaction: int
    load_s_per_unit: float
    warm_up_per_unit: float
    provenance: str
    deviations: str
    run_keys: frozenset[str] = frozenset()
    not_varied: Mapping[str, str] = field(default_factory=dict)
    bytes_per_part: int = 0
    bytes_spilled: float = 0.0
    throughput_per_unit_max: float | None = None
    throughput_per_unit_because: str = ""
    metric: Metric | None = None
    conditions: Conditions | None = None
    has_ledger: bool = False
    counts_headline: bool = False
    is_divisible: bool = True
    is_default: bool = False

    @property
    def throughput(self) -> Quantity:
        """What its users get done; all transactions per minute where it has no metric for it."""
        return Quantity(self.metric.name) if self.metric else TPM

    @property
    def rates(self) -> tuple[Quantity, ...]:
        """By what its users' work is counted: its throughput, and all transactions per minute."""
        return tuple(dict.fromkeys((self.throughput, TPM)))

    @property
    def is_per_second(self) -> bool:
        """Whether its transactions are counted by the second, and not by the minute."""
        return self.metric is not None and self.metric.unit == "1/s"

    @property
    def unit(self) -> str:
        """One of what users touch: what the last number of the size counts."""
        return self.size[-1].unit

    @property
    def units(self) -> str:
        return f"{self.unit}s"

    @property
    def begun_by_others(self) -> tuple[str, ...]:
        """The transaction types that no user begins."""
        return tuple(kind.name for kind in self.transactions if not kind.by_users)

    @property
    def shares(self) -> Mapping[str, float]:
        """The share of each type (0 to 1) in the transactions that users begin, in any profile."""
        begun = {kind.name: kind.share for kind in self.transactions if kind.by_users}
        total = sum(begun.values())
        return {name: share / total for name, share in begun.items()}

    @property
    def pause_s(self) -> float | None:
        """The mean pause of a keyed user between two transactions, seconds; None without pauses."""
        pauses = [(kind.share, kind.pause_s) for kind in self.transactions]
        if any(pause_s is None for _, pause_s in pauses):
            return None
        return sum(share * pause_s for share, pause_s in pauses if pause_s is not None)

    def data_bytes(self, size: Size) -> int:
        """The loaded database of a size, without its write-ahead log."""
        *parts, last = size.values()
        reserve = min(self.bytes_per_part, 8 * last * self.bytes_per_unit)
        return self.bytes_fixed + prod(parts) * (last * self.bytes_per_unit + reserve)

    def fit_size(self, units: int) -> Size:
        """The size of about so many units: the last number fits, the others are their examples."""
        fields, (*others, last) = self.keys.model_fields, self.size
        size = {number.key: int((fields[number.key].examples or [1])[0]) for number in others}
        return {**size, last.key: max(1, units // prod(size.values()))}

    def parse_size(self, text: str) -> Size:
        """`10`, or `tables=2,rows=1000` where the size has several numbers. Raises UserError."""
        keys = [number.key for number in self.size]
        pairs = [word.partition("=") for word in text.split(",")]
        if len(keys) == 1 and "=" not in text:
            pairs = [(keys[0], "=", text)]
        size = {key.strip(): int(value) for key, _, value in pairs if value.strip().isdecimal()}
        if size.keys() != set(keys) or len(pairs) != len(keys):
            shape = "a number" if len(keys) == 1 else ",".join(f"{key}=NUMBER" for key in keys)
            problem = f"{text!r} is not a size of {self.name}"
            raise UserError(problem, where="--size", remedy=f"give {shape}")
        return {key: size[key] for key in keys}

    def format_size(self, size: Size) -> str:
        """`6 rows`, `2 tables × 1,000 rows`; a key that it does not declare stays as it is."""
        names = dict(self.size)
        return " × ".join(
            f"{value:,} {key if value != 1 else names.get(key, key)}" for key, value in size.items()
        )

    def find_misfits(self, keys: "WorkloadKeys", driving: "Driving") -> Iterator["Misfit"]:
        """What does not go together with how users are driven: asks for what it has not, first."""
        if driving.is_keyed and self.pause_s is None:
            yield Misfit(
                "keyed pace of a workload without pauses",
                f"{self.name} specifies no keying and think times: write `think: 2s`, or `none`",
                "keyed",
                ("load", "pace"),
            )
        if driving.keeps_ledger and not self.has_ledger:
            yield Misfit(
                "a ledger of a workload without one",
                f"leave it out: no commit ledger can keep the transactions of {self.name}",
                True,
                ("load", "ledger"),
            )
        yield from keys.misfits(driving)

    def get_nominal_rate(self, size: Size) -> float | None:
        """The specified rate for a size, by its metric; None where the size specifies none."""
        return None

    def label(self, options: Options, size: Size) -> str | None:
        """What must stand beside every number of users with these options; None: nothing.

        It may rest only on keys that are the same at all points; numbers of a size that vary are
        not there.
        """
        return None

    def find_label(
        self, options: Options, sizes: Iterable[Size], varied: Collection[str]
    ) -> str | None:
        """Find the first label of some sizes, of which the numbers in `varied` are left out."""
        fixed = (
            {name: number for name, number in size.items() if name not in varied} for size in sizes
        )
        return next(filter(None, (self.label(options, size) for size in fixed)), None)

    def in_words(self, options: Options) -> Sequence[str]:
        """What users with these options do, a clause each; an option that varies is not there."""
        return ()

    def isolated(self, level: str) -> str:
        """In a sentence or two, what this isolation level means for it: `read committed`."""
        return f"Transactions ran at isolation level {level}."

    def defers(self, options: Options) -> bool:
        """Whether users leave something to be done behind their backs, on other connections."""
        return False

    def is_one_commit(self, options: Options, *, counts_statements: bool) -> bool:
        """Whether a server counts one commit for each of its transactions.

        `counts_statements`: it also counts a statement that is a transaction of its own.
        """
        return True

    def has_several_answers(self, options: Options) -> bool:
        """Whether a transaction waits for several answers of the server."""
        return False


def get_default_workload() -> Workload:
    """The workload where none is named."""
    return next(workload for workload in plugins(Workload).values() if workload.is_default)


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
    keeps_ledger: bool = False

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
    def size(self) -> Size:
        """The size of the database, each number that the workload declares by its key."""
        raise NotImplementedError

    @property
    def units(self) -> int:
        """The number of units: the product of all numbers of the size."""
        return prod(self.size.values())

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

    def count_connections(self, users: int) -> int:
        """The connections that it has besides those of its users."""
        return 0

    def misfits(self, driving: Driving) -> Iterator[Misfit]:
        """What does not go together with how users are driven."""
        yield from ()
