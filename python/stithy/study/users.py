"""The `load` section of a study: how many virtual users, when they act, what they share."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
    model_validator,
)

from stithy.search import Limit, Search, levels_within
from stithy.study.pace import Pace, PaceValue
from stithy.study.search import (
    EXAMPLE,
    LIMIT_EXAMPLE,
    USERS_MOST,
    LimitValue,
    SearchValue,
    Within,
)
from stithy.study.users_rules import HOME_USERS, ProfileName, warehouses_touched
from stithy.study.wrong import Wrong, refuse, within
from stithy.units import Percent, PerSecondOrNone, Seconds, format_duration, format_rate

DAY_S = 86_400.0
USERS_MAX = 100_000
CONNECTIONS_MAX = 10_000
REPEAT_MAX = 1000
RAMP_UP_S = 30.0
"""Own: until caches and log of most databases are as they stay; docs/explanation/verdicts.md."""
DURATION_S = 60.0
RATE_PER_S_MIN = 0.01
RATE_PER_S_MAX = 1e6

Level = Annotated[int, Field(ge=1, le=USERS_MAX)]
_STRICT = ConfigDict(extra="forbid", frozen=True, strict=True)


def _number(high: int) -> WithJsonSchema:
    """What an editor knows of a whole number that may be left out."""
    return WithJsonSchema({"type": "integer", "minimum": 1, "maximum": high})


def _ladder(users: tuple[int, ...]) -> tuple[int, ...]:
    repeated = {level for level in users if users.count(level) > 1}
    refuse(
        Wrong("a level given twice", "use `repeat` to measure a level more often", level, (i,))
        for i, level in enumerate(users)
        if level in repeated and level in users[:i]
    )
    return users


_SEARCHED = object()
"""Stands for levels that a study with a search may leave out."""


def _or_searched(users: Any, check: ValidatorFunctionWrapHandler) -> Any:
    return () if users is _SEARCHED else check(users)


def _levels_or_search(schema: dict[str, Any]) -> None:
    """What an editor knows of it: one of the two is needed."""
    schema["required"] = [name for name in schema["required"] if name != "users"]
    schema["anyOf"] = [{"required": ["users"]}, {"required": ["find"]}]


class Load(BaseModel):
    """The virtual users: how many, for how long, how often."""

    model_config = ConfigDict(**_STRICT, json_schema_extra=_levels_or_search)

    users: Annotated[
        tuple[Level, ...],
        Field(strict=False, min_length=1, max_length=100),
        AfterValidator(_ladder),
        WrapValidator(_or_searched),
    ] = Field(
        json_schema_extra={"default": "needed without a search"},
        description="The levels: numbers of virtual users, measured in the order written.",
        examples=[[1, 4, 13]],
    )
    find: SearchValue = Field(
        default=None,
        json_schema_extra={"default": "no search"},
        description=(
            "A search, beside the levels or instead of them: for each candidate the most users "
            "within a limit of response time, by doubling and bisection. The percentile is one of "
            "p50, p90, p95, p99 and p99.9, of a transaction type or of `all`."
        ),
        examples=[EXAMPLE],
    )
    find_within: Within = Field(
        default=None,
        json_schema_extra={
            "default": f"1 to {USERS_MOST}, or to as many as have homes, where these are fewer"
        },
        description="The levels between which is searched: it begins at the first of them.",
        examples=[[1, 500]],
    )
    limit: LimitValue = Field(
        default=None,
        json_schema_extra={"default": "that of the search; without one, none"},
        description=(
            "A limit of response time that is not searched for: the report draws it, and tells how "
            "many users of the levels each candidate serves within it. Percentile and transaction "
            "type as in `find`, which has the limit in it."
        ),
        examples=[LIMIT_EXAMPLE],
    )
    connections: Annotated[
        int | None, Field(ge=1, le=CONNECTIONS_MAX), _number(CONNECTIONS_MAX)
    ] = Field(
        default=None,
        json_schema_extra={"default": "one for each user"},
        description=(
            "Connections that all users share, each for one transaction at a time, as a "
            "transaction monitor would. At a rate there are as many as users by default."
        ),
        examples=[64],
    )
    pace: PaceValue = Field(
        default=Pace(),
        json_schema_extra={"default": "none"},
        description=(
            "When users act. `none`: back to back. `keyed`: with the keying and think times of "
            "the specification, each user at home in one district, deliveries deferred. "
            "`{think: 2 s}`: with exponential think times of this mean, cut at ten times it."
        ),
        examples=["keyed", {"think": "2 s"}],
    )
    rate_per_s: Annotated[PerSecondOrNone, within(RATE_PER_S_MIN, RATE_PER_S_MAX, format_rate)] = (
        Field(
            alias="rate",
            default=None,
            json_schema_extra={"default": "that of the users"},
            description=(
                "An open loop: so many transactions are due, whether those before are answered or "
                "not. It takes the place of `pace`."
            ),
            examples=["500/s"],
        )
    )
    arrivals: Literal["poisson", "constant"] = Field(
        default="poisson",
        description="How the transactions of a `rate` follow each other.",
        examples=["constant"],
    )
    delivery: Annotated[
        Literal["awaited", "deferred"] | None,
        WithJsonSchema({"type": "string", "enum": ["awaited", "deferred"]}),
    ] = Field(
        default=None,
        json_schema_extra={"default": "`deferred` with keyed pace, else `awaited`"},
        description=(
            "Whether users wait for deliveries. `deferred`, as specified: a delivery is queued and "
            "its user answered at once. Its response time is that of queueing; its execution is "
            "timed apart, as service time and as wait in the queue."
        ),
        examples=["deferred"],
    )
    users_per_warehouse: Annotated[int | None, Field(ge=1, le=USERS_MAX), _number(USERS_MAX)] = (
        Field(
            default=None,
            json_schema_extra={"default": f"{HOME_USERS} with keyed pace, else nobody has a home"},
            description=(
                "Users at home in each warehouse, in one district after the other. Users without a "
                "home draw warehouse and district anew for each transaction."
            ),
            examples=[1500],
        )
    )
    touch_percent: Annotated[Percent, within(1, 100, lambda share: f"{share:.0f}%")] = Field(
        alias="touch",
        default=100,
        json_schema_extra={"default": "100%"},
        description=(
            "Share of the warehouses that users reach, rounded up to whole ones: it chooses the "
            "working set. The others stay on the storage, untouched."
        ),
        examples=["30%"],
    )
    profile: ProfileName = Field(
        default="specification",
        description=(
            "Mix and keys. `hammerdb`: the mix and the uniform keys of HammerDB, to relate to "
            "numbers measured with it; every output says so."
        ),
        examples=["hammerdb"],
    )
    ramp_up_s: Annotated[Seconds, within(0, DAY_S, format_duration)] = Field(
        alias="ramp_up",
        default=RAMP_UP_S,
        json_schema_extra={"default": format_duration(RAMP_UP_S)},
        description=(
            "Time under load before each measurement starts. What a shorter one costs is told by "
            "`stithy plan` and in the report."
        ),
        examples=["10 s"],
    )
    duration_s: Annotated[Seconds, within(1, 7 * DAY_S, format_duration)] = Field(
        alias="duration",
        default=DURATION_S,
        json_schema_extra={"default": format_duration(DURATION_S)},
        description=(
            "Time that each window is measured, at least 1 s. What a shorter one costs is told by "
            "`stithy plan` and in the report."
        ),
        examples=["20 s"],
    )
    repeat: Annotated[int | None, Field(ge=1, le=REPEAT_MAX), _number(REPEAT_MAX)] = Field(
        default=None,
        json_schema_extra={"default": "one; at the level of the question until it is decided"},
        description=(
            "Blocks at each level, so many whatever they show. A block is one window of every "
            "candidate; every second one is the one before it reversed. A verdict needs at least "
            "4; with 2 or 3 there is a plain interval and no verdict."
        ),
        examples=[3],
    )
    checkpoint: bool = Field(
        default=True,
        description="Whether a checkpoint is forced just before each window.",
        examples=[True],
    )
    procedures: bool = Field(
        default=True,
        description="Transactions as procedures in the server; false: as plain prepared SQL.",
        examples=[False],
    )
    isolation: Literal["read-committed", "repeatable-read", "serializable"] = Field(
        default="read-committed",
        description=(
            "Transaction isolation. The specification asks for `repeatable-read` or "
            "`serializable`, in which transactions that conflict are repeated. `read-committed` is "
            "less, and what most applications use."
        ),
        examples=["repeatable-read"],
    )
    ledger: bool = Field(
        default=False,
        description=(
            "Whether each window keeps a ledger: what was meant and what was acknowledged, in a "
            "file of the run's directory, which should lie on another device than the "
            "candidates. After the window it is compared with the database: a window in which "
            "something acknowledged is gone is invalid. It costs about 1% of the throughput."
        ),
        examples=[True],
    )
    calibrate: bool = Field(
        default=True,
        description=(
            "Whether the study finds out, once before the first window, what the driver can do on "
            "this host, in about 20 seconds. A window that asks for more than half of it is told "
            "of; without it the driver's head-room is not proven."
        ),
        examples=[False],
    )
    error_limit: int = Field(
        default=100,
        ge=0,
        le=10**9,
        description="Unexpected errors of the database after which a window is given up.",
        examples=[100],
    )

    @model_validator(mode="before")
    @classmethod
    def _may_be_searched(cls, section: Any) -> Any:
        """With a search the levels may be left out."""
        if isinstance(section, dict) and "find" in section and "users" not in section:
            return {**section, "users": _SEARCHED}
        return section

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        refuse(self._without_levels())
        return self

    def _without_levels(self) -> Iterator[Wrong]:
        """What asks for levels or a search that is not there, each at the key to change."""
        if self.find is None and self.find_within is not None:
            right = f"add `find: {EXAMPLE}`, or leave it out"
            ends = list(self.find_within)
            yield Wrong("the ends of a search without one", right, ends, ("find_within",))
        if not self.users and self.find is not None and self.repeat is not None:
            right = "leave it out, or add `users`: a search measures each end of its bracket twice"
            yield Wrong("blocks at each level without levels", right, self.repeat, ("repeat",))
        if self.limit is not None and self.find is not None:
            # Two that agree would say one thing twice, and two that differ would be two limits.
            right = "leave it out: the limit of `find` is the study's"
            yield Wrong("a limit beside a search", right, self.limit.text, ("limit",))

    @property
    def response_limit(self) -> Limit | None:
        """The limit of response time, searched for or not; None where the study has none."""
        return self.find or self.limit

    @property
    def pauses(self) -> bool:
        """Whether users wait between two transactions."""
        return self.rate_per_s is None and self.pace.kind != "none"

    @property
    def deferred_delivery(self) -> bool:
        """Whether users leave deliveries to be done behind their backs."""
        return self.delivery == "deferred" or self.pace.kind == "keyed"

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

    def search(self, warehouses: int) -> Search | None:
        """The search, whose usual end is where homes end; None where nothing is searched for."""
        if self.find is None:
            return None
        least, most = self._searched
        if self.find_within is None and self.home_users is not None:
            reach = warehouses_touched(self.touch_percent, warehouses)
            most = min(most, reach * self.home_users)
        return Search(self.find, least, most, levels_within(self.users, least, most))

    @property
    def home_users(self) -> int | None:
        """Users at home in each warehouse; None where nobody has a home."""
        if self.users_per_warehouse is None and self.pace.kind == "keyed":
            return HOME_USERS
        return self.users_per_warehouse

    def reach(self, warehouses: int) -> int | None:
        """Warehouses that users reach; None where it is all of them."""
        reached = warehouses_touched(self.touch_percent, warehouses)
        return None if reached == warehouses else reached
