"""The `load` section of a study: how many virtual users, when they act, what they share."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

from stithy.study.pace import Pace, PaceValue
from stithy.study.users_rules import HOME_USERS, ProfileName, warehouses_touched
from stithy.study.wrong import Wrong, refuse, within
from stithy.units import Percent, PerSecondOrNone, Seconds, format_duration, format_rate

DAY_S = 86_400.0
USERS_MAX = 100_000
CONNECTIONS_MAX = 10_000
REPEAT_MAX = 1000
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


class Load(BaseModel):
    """The virtual users: how many, for how long, how often."""

    model_config = _STRICT

    users: Annotated[
        tuple[Level, ...],
        Field(strict=False, min_length=1, max_length=100),
        AfterValidator(_ladder),
    ] = Field(
        description="The levels: numbers of virtual users, measured in the order written.",
        examples=[[1, 4, 13]],
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
        default=5.0,
        json_schema_extra={"default": "5 s"},
        description="Time under load before each measurement starts.",
        examples=["5 s"],
    )
    duration_s: Annotated[Seconds, within(1, 7 * DAY_S, format_duration)] = Field(
        alias="duration",
        description="Time that each window is measured, at least 1 s.",
        examples=["20 s"],
    )
    repeat: Annotated[int | None, Field(ge=1, le=REPEAT_MAX), _number(REPEAT_MAX)] = Field(
        default=None,
        json_schema_extra={"default": "one; at the level of the question until it is decided"},
        description=(
            "Blocks at each level, so many whatever they show. A block is one window of every "
            "candidate, in random order. A verdict needs at least 4; with 2 or 3 there is a plain "
            "interval and no verdict."
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
    isolation: Literal["read-committed", "repeatable-read"] = Field(
        default="read-committed",
        description="Transaction isolation.",
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

    @property
    def pauses(self) -> bool:
        """Whether users wait between two transactions."""
        return self.rate_per_s is None and self.pace.kind != "none"

    @property
    def connections_max(self) -> int:
        """The most connections that any level has."""
        return self.connections or max(self.users)

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
