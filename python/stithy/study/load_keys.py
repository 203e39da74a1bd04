"""The `load` section of a study: how many virtual users, when they act, what they share."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    StringConstraints,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
    model_validator,
)

from stithy.search import WIDTH_PERCENT, ResponseTarget, Search, list_levels_within
from stithy.study.load_values import (
    EXAMPLE,
    LIMIT_EXAMPLE,
    USERS_MAX,
    USERS_MOST,
    Levels,
    LimitValue,
    LoadOptions,
    Pace,
    PaceValue,
    SearchValue,
    Users,
    Within,
)
from stithy.study.network import NetworkValue
from stithy.study.problems import Violation, refuse
from stithy.units import (
    PerSecondOrNone,
    PositivePercent,
    Seconds,
    format_duration,
    format_rate,
    limit_quantity,
    parse_bit_rate,
)
from stithy.workloads.words import LOCAL

DAY_S = 86_400.0
CONNECTIONS_MAX = 10_000
REPEAT_MAX = 1000
AGENTS_MAX = 1000
AgentName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]
AgentNames = Annotated[tuple[AgentName, ...], Field(strict=False, max_length=AGENTS_MAX)]
RAMP_UP_S = 30.0
"""Until caches and log of most databases are as they stay; docs/explanation/verdicts.md."""
DURATION_S = 60.0
RATE_PER_S_MIN = 0.01
RATE_PER_S_MAX = 1e6

LEVELS_KEY = "load.users"
"""The key that lists the levels."""

NOT_VARIED = {
    "find": "a search is made at every point of `vary`",
    "find_within": "a search is made at every point of `vary`, within the same bounds",
    "find_width": "a search is made at every point of `vary`, equally finely",
    "limit": "a response-time target is drawn, and changes no number",
    "ramp_up": "windows of different kinds cannot be compared: run a second study",
    "duration": "windows of different lengths cannot be compared: run a second study",
    "precondition": "the loaded database is worked on once",
    "repeat": "all points have as many blocks as their comparison needs",
    "checkpoint": "windows of different kinds cannot be compared: run a second study",
    "ledger": "windows of different kinds cannot be compared: run a second study",
    "agents": "windows of different drivers cannot be compared: run a second study",
    "calibrate": "the driver is calibrated once",
    "error_limit": "it only says when a window ends",
}
"""Keys of the load that are the same at all points, with the reason and what to do."""

_STRICT = ConfigDict(extra="forbid", frozen=True, strict=True)


def describe_integer(high: int) -> WithJsonSchema:
    """What an editor knows of a whole number that may be left out."""
    return WithJsonSchema({"type": "integer", "minimum": 1, "maximum": high})


def _read_ladder(users: tuple[int, ...]) -> tuple[int, ...]:
    refuse(
        Violation("a level given twice", "use `repeat` to measure a level more often", level, (i,))
        for i, level in enumerate(users)
        if level in users[:i]
    )
    return users


_SEARCHED = object()
"""Stands for levels that a study with a search may leave out."""

NOBODY = object()
"""Stands for the level of a study without users: none at work."""

SAME = ("users", "find", "find_within", "find_width", "limit")
"""Fields that a null study has otherwise than its file."""


def drop_users(section: Any) -> Any:
    """The section of a study in which nobody works: only the rest of it may be written.

    Levels that are written stay, and are refused by the scenario.
    """
    if section is not None and not isinstance(section, Mapping):
        return section
    # There is nobody for whom the driver would be calibrated.
    return {"users": NOBODY, "calibrate": False, **(section or {})}


def _read_or_search(users: Any, check: ValidatorFunctionWrapHandler) -> Any:
    if users is NOBODY:
        return (0,)
    return () if users is _SEARCHED else check(users)


def _leave_out_users(schema: dict[str, Any]) -> None:
    """What an editor knows of it: the scenario says whether levels or a search are needed."""
    schema["required"].remove("users")


class Precondition(BaseModel):
    """Users who work on the loaded database before it is kept."""

    model_config = _STRICT

    users: Annotated[Users, describe_integer(USERS_MAX)] = Field(
        description="How many work, at most as many as any level has.", examples=[32]
    )
    for_s: Annotated[Seconds, limit_quantity(1, 7 * DAY_S, format_duration)] = Field(
        alias="for", description="How long they work.", examples=["6 h"]
    )

    def __str__(self) -> str:
        """`32 users for 6 h`."""
        return (
            f"{self.users:,} user{'s' if self.users > 1 else ''} for {format_duration(self.for_s)}"
        )


class Load(Levels, BaseModel):
    """The virtual users: how many, how busy, and for how long."""

    model_config = ConfigDict(**_STRICT, json_schema_extra=_leave_out_users)

    users: Annotated[
        tuple[Users, ...],
        Field(strict=False, min_length=1, max_length=100),
        AfterValidator(_read_ladder),
        WrapValidator(_read_or_search),
    ] = Field(
        json_schema_extra={"default": "required without a search, if anybody works"},
        description=(
            "The levels: numbers of virtual users. They are measured in this order, the level of "
            "the primary question last unless there is `repeat`. With `vary`, and in scenarios "
            "that measure in rounds, the order is random."
        ),
        examples=[[1, 4, 13]],
    )
    find: SearchValue = Field(
        default=None,
        json_schema_extra={"default": "no search"},
        description=(
            "A saturation search, with or without `users`: for each candidate it finds the most "
            "users within a response-time target, by doubling and bisection. The percentile is "
            "p50, p90, p95, p99 or p99.9, of a transaction type or of `all`."
        ),
        examples=[EXAMPLE],
    )
    find_within: Within = Field(
        default=None,
        json_schema_extra={
            "default": f"1 to {USERS_MOST}, at most the users that the workload has room for"
        },
        description="The lowest and the highest level of the search; it begins at the lowest.",
        examples=[[1, 500]],
    )
    find_width: PositivePercent = Field(
        default=WIDTH_PERCENT,
        json_schema_extra={"default": f"{WIDTH_PERCENT}%"},
        description=(
            "How far apart the two levels are between which the search ends, as a share of the "
            "lower one, and at least one user. A wider bracket takes fewer windows."
        ),
        examples=["10%"],
    )
    limit: LimitValue = Field(
        default=None,
        json_schema_extra={"default": "the target of find, if any"},
        description=(
            "A response-time target without a search: the report draws it, and says how many of "
            "the listed users each candidate keeps within it. The percentile and the "
            "transaction type are written as in `find`, which has its own target."
        ),
        examples=[LIMIT_EXAMPLE],
    )
    connections: Annotated[
        int | None, Field(ge=1, le=CONNECTIONS_MAX), describe_integer(CONNECTIONS_MAX)
    ] = Field(
        default=None,
        json_schema_extra={"default": "one per user"},
        description=(
            "Size of the connection pool that all users share, as behind a transaction monitor. "
            "A connection serves one transaction at a time. With `rate` the default is as many "
            "connections as users."
        ),
        examples=[64],
    )
    agents: AgentNames = Field(
        default=(),
        json_schema_extra={"default": "none: this host drives all users"},
        description=(
            "Agents that drive the users together, by name: hosts on which `stithy agent` runs. "
            "Each has every so many-th user, connection and arrival. `stithy run --scheduler` "
            "says where agents meet. The driver is not calibrated then."
        ),
        examples=[["host-a", "host-b"]],
    )
    network: NetworkValue = Field(
        default=LOCAL,
        description=(
            "Where users come from. `local`: the server's machine, by its socket. A rate, such as "
            "`1 Gbit/s`: a network namespace of this machine, over a link that is limited to it in "
            "each direction. That needs root, and a server of PostgreSQL or MariaDB that Stithy "
            "starts. `vary` may list several; the report has the round trip of each."
        ),
        examples=["1 Gbit/s"],
    )
    pace: PaceValue = Field(
        default=Pace(),
        json_schema_extra={"default": "none"},
        description=(
            "When users act in a closed loop. `none`: back to back. `keyed`: with the keying "
            "and think times that the workload specifies, and as it specifies for such users. "
            "`{think: 2 s}`: with exponential think times of this mean, at most ten times the "
            "mean."
        ),
        examples=["keyed", {"think": "2 s"}],
    )
    rate_per_s: Annotated[
        PerSecondOrNone, limit_quantity(RATE_PER_S_MIN, RATE_PER_S_MAX, format_rate)
    ] = Field(
        alias="rate",
        default=None,
        json_schema_extra={"default": "a closed loop"},
        description=(
            "An open loop: transactions arrive at this rate, whether or not earlier ones were "
            "answered. It replaces `pace`."
        ),
        examples=["500/s"],
    )
    arrivals: Literal["poisson", "constant"] = Field(
        default="poisson",
        description="With `rate`: how the intervals between arrivals are distributed.",
        examples=["constant"],
    )
    touch_percent: PositivePercent = Field(
        alias="touch",
        default=100,
        json_schema_extra={"default": "100%"},
        description=(
            "Share of the data that users touch, rounded up to whole units of the workload; it "
            "sets the working set. The rest stays on the storage, and is not accessed."
        ),
        examples=["30%"],
    )
    ramp_up_s: Annotated[Seconds, limit_quantity(0, DAY_S, format_duration)] = Field(
        alias="ramp_up",
        default=RAMP_UP_S,
        json_schema_extra={"default": format_duration(RAMP_UP_S)},
        description=(
            "Time under load before each measurement. `stithy plan` and the report say what a "
            "shorter time costs."
        ),
        examples=["10 s"],
    )
    duration_s: Annotated[Seconds, limit_quantity(1, 7 * DAY_S, format_duration)] = Field(
        alias="duration",
        default=DURATION_S,
        json_schema_extra={"default": format_duration(DURATION_S)},
        description=(
            "Length of each measurement, at least 1 s. `stithy plan` and the report say what a "
            "shorter time costs."
        ),
        examples=["20 s"],
    )
    precondition: Precondition | None = Field(
        default=None,
        json_schema_extra={"default": "none"},
        description=(
            "Users who work on the loaded database once, unmeasured, before its master copy is "
            "made: tables, indexes and log are then those of a database in use. They act as in "
            "windows. It needs `restore: files`."
        ),
        examples=[{"users": 32, "for": "6 h"}],
    )
    repeat: Annotated[int | None, Field(ge=1, le=REPEAT_MAX), describe_integer(REPEAT_MAX)] = Field(
        default=None,
        json_schema_extra={"default": "1; at the level of the question, until it is decided"},
        description=(
            "A fixed number of blocks at each level. A block is one window of every candidate; "
            "every second block reverses the order of the block before it. A verdict needs at "
            "least 4 blocks; with 2 or 3 there is a plain interval and no verdict."
        ),
        examples=[3],
    )
    checkpoint: bool = Field(
        default=True,
        description="Whether Stithy forces a checkpoint just before each window.",
        examples=[True],
    )
    isolation: Literal["read-committed", "repeatable-read", "serializable"] = Field(
        default="read-committed",
        description=(
            "Transaction isolation. The specification requires `repeatable-read` or "
            "`serializable`; conflicting transactions are then repeated. `read-committed` is "
            "weaker, and is what most applications use. SQLite is always `serializable`."
        ),
        examples=["repeatable-read"],
    )
    ledger: bool = Field(
        default=False,
        description=(
            "Whether each window keeps a commit ledger: a file in the run's directory of what "
            "was sent and what was acknowledged. Put that directory on another device than the "
            "candidates. After the window Stithy compares the ledger with the database. If "
            "something acknowledged is missing, the window is invalid. A ledger costs about 1% "
            "of the throughput."
        ),
        examples=[True],
    )
    calibrate: bool = Field(
        default=True,
        description=(
            "Whether Stithy calibrates the load driver on this host, once before the first "
            "window, in about 20 seconds. Windows that need more than half of that capacity are "
            "flagged. Without calibration the driver headroom is not proven."
        ),
        examples=[False],
    )
    error_limit: int = Field(
        default=100,
        ge=0,
        le=10**9,
        description="Number of unexpected database errors after which a window ends.",
        examples=[100],
    )

    _at_shares: bool = PrivateAttr(default=False)

    @model_validator(mode="before")
    @classmethod
    def _drive_elsewhere(cls, section: Any) -> Any:
        if isinstance(section, dict) and section.get("agents"):
            return {"calibrate": False, **section}
        return section

    @model_validator(mode="before")
    @classmethod
    def _may_be_searched(cls, section: Any) -> Any:
        if isinstance(section, dict) and "find" in section and "users" not in section:
            return {**section, "users": _SEARCHED}
        return section

    @model_validator(mode="after")
    def _require_fit(self) -> Self:
        refuse(self._without_levels())
        return self

    def _without_levels(self) -> Iterator[Violation]:
        """What asks for levels or a search that is not there, each at the key to change."""
        asked = self.precondition
        if asked is not None and (self.is_idle or asked.users > self.users_max):
            right = f"at most {self.users_max:,}, the most of any level"
            yield Violation("too many users", right, asked.users, ("precondition", "users"))
        right = f"add `find: {EXAMPLE}`, or leave it out"
        if self.find is None and self.find_within is not None:
            ends = list(self.find_within)
            yield Violation("bounds of a search, but no search", right, ends, ("find_within",))
        if self.find is None and self.find_width != WIDTH_PERCENT:
            width = f"{self.find_width}%"
            yield Violation("width of a search, but no search", right, width, ("find_width",))
        if not self.users and self.find is not None and self.repeat is not None:
            right = "leave it out, or add `users`: a search measures each end of its bracket twice"
            yield Violation("blocks at each level, but no levels", right, self.repeat, ("repeat",))
        if self.limit is not None and self.find is not None:
            # Two that agree would say one thing twice, and two that differ would be two limits.
            right = "leave it out: the response-time target is that of `find`"
            yield Violation(
                "a response-time target beside a search", right, self.limit.text, ("limit",)
            )

    @property
    def response_limit(self) -> ResponseTarget | None:
        """The limit of response time, searched for or not; None where the study has none."""
        return self.find or self.limit

    def mark_shares(self) -> None:
        """Say of this load that its rates are shares of what the study measures first."""
        self._at_shares = True

    @property
    def link_bits_per_s(self) -> float | None:
        """How fast the network of the load driver is; None where it is local."""
        return None if self.network == LOCAL else parse_bit_rate(self.network)

    @property
    def at_shares(self) -> bool:
        """Whether rates are shares of a maximum that the study measures first."""
        return self._at_shares

    @property
    def is_open(self) -> bool:
        """Whether transactions arrive at a rate, whether or not earlier ones were answered."""
        return self.rate_per_s is not None or self._at_shares

    @property
    def pauses(self) -> bool:
        """Whether users wait between two transactions."""
        return not self.is_open and self.pace.kind != "none"

    @property
    def users_max(self) -> int:
        """The most users that any level may have."""
        return max((*self.users, *self._searched))

    @property
    def _searched(self) -> tuple[int, ...]:
        """The ends of the search as written, or as usual; none without one."""
        return () if self.find is None else self.find_within or (1, USERS_MOST)

    @property
    def connections_max(self) -> int:
        """The most connections that any level has."""
        return self.connections or self.users_max

    def search(self, users_max: int | None) -> Search | None:
        """The search; None where nothing is searched for.

        Its usual end is where a workload has room for no more users; None has no such bound.
        """
        if self.find is None:
            return None
        least, most = self._searched
        if self.find_within is None and users_max is not None:
            most = min(most, users_max)
        listed = list_levels_within(self.users, least, most)
        return Search(self.find, least, most, listed, self.find_width)

    def asked(self, find_most: int | None = None) -> LoadOptions:
        """What rules over several keys are about; `find_most` is where a search ends."""
        return LoadOptions(
            users=self.users,
            given=frozenset(self.model_fields_set),
            connections=self.connections,
            keyed=self.pace.kind == "keyed",
            rate_per_s=self.rate_per_s,
            at_shares=self._at_shares,
            touch_percent=self.touch_percent,
            find_most=find_most,
            ledger=self.ledger,
        )
