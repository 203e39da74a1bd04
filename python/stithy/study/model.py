"""The study file as types: every key with its meaning, bounds and an example.

Everything else is derived from here: the messages about a wrong file (`locate`), the JSON Schema
for editors (`schema`) and the reference page (`reference`). Validation never looks at the machine.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    StringConstraints,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from stithy.metrics import check
from stithy.study.primary import Primary
from stithy.study.sections import (
    Candidate,
    WorkloadSpec,
    owned_settings,
    read_candidate,
    read_candidates,
    read_engine,
    read_workload,
    transactions_of,
)
from stithy.study.thresholds import EXAMPLE, read_thresholds
from stithy.study.users import Load
from stithy.study.users_rules import Asked, conflicts
from stithy.study.wrong import Wrong, refuse, within, wrong
from stithy.thresholds import Threshold
from stithy.units import Bytes, format_size

MIB = 2**20


def _question(text: str) -> str:
    if not text.strip():
        raise wrong("an empty question", "say in a sentence what the study is to answer")
    return " ".join(text.split())


def _setting(value: Any) -> str:
    """A setting's value as the server reads it: `on` and `off` for booleans, numbers as text."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if not isinstance(value, str | int | float):
        raise wrong("not a setting's value", "a text, a number, true or false")
    if any(ord(each) < 32 for each in str(value)):
        raise wrong("a setting's value with control characters", "one line of plain text")
    return str(value)


CandidateName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=40)]
SettingName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_.]*$", max_length=63)]
_STRICT = ConfigDict(extra="forbid", frozen=True, strict=True)


class Database(BaseModel):
    """The database that each candidate carries, the same for all of them."""

    model_config = _STRICT

    engine: Annotated[str, AfterValidator(read_engine)] = Field(
        description="The database product.", examples=["postgresql"]
    )
    memory_bytes: Annotated[Bytes, within(64 * MIB, 2**50, format_size)] = Field(
        alias="memory",
        description=(
            "All the memory that the server may use, the page cache of its files included, at "
            "least 64 MiB. Without this limit a small database never reaches its storage."
        ),
        examples=["1 GiB"],
    )
    cpus: Annotated[int | None, Field(ge=1, le=4096)] = Field(
        default=None,
        json_schema_extra={
            "default": "all; with emulated drives three quarters, all but one of fewer than eight"
        },
        description=(
            "CPUs of this machine that the server may use. What drives users and emulates drives "
            "gets the others, and only them: a server that takes all feels their delay as the "
            "storage's."
        ),
        examples=[4],
    )
    settings: Mapping[SettingName, Annotated[str, BeforeValidator(_setting)]] = Field(
        default={},
        description=(
            "Settings of the engine, passed through as they are. Stithy chooses those itself that "
            "say where files and sockets are."
        ),
        examples=[{"shared_buffers": "384MB"}],
    )

    @field_validator("settings")
    @classmethod
    def _settings_are_the_studys(
        cls, settings: Mapping[str, str], info: ValidationInfo
    ) -> Mapping[str, str]:
        owned = owned_settings(info.data.get("engine", ""))
        refuse(
            Wrong("a setting given twice", "keep one; case makes no difference", name, (name,))
            for i, name in enumerate(settings)
            if name.lower() in [each.lower() for each in list(settings)[:i]]
        )
        refuse(
            Wrong(
                "a setting that Stithy chooses itself",
                f"leave it out: {owned[name.lower()]}",
                name,
                (name,),
            )
            for name in settings
            if name.lower() in owned
        )
        return settings


class Study(BaseModel):
    """One study: a question, its candidates, database, workload and levels."""

    model_config = _STRICT

    study: Annotated[str, AfterValidator(_question)] = Field(
        max_length=500,
        description="The question that the study answers; the report starts with it.",
        examples=["Does this database feel the difference between disk and memory?"],
    )
    candidates: Annotated[
        dict[CandidateName, Annotated[Candidate, PlainValidator(read_candidate)]],
        Field(min_length=1, max_length=50),
        AfterValidator(read_candidates),
    ] = Field(
        description=(
            "The storage options under comparison, by name (small letters, digits, hyphens). The "
            "first is the one that the others are compared with."
        ),
        examples=[{"disk": {"path": "/var/tmp/stithy"}}],
    )
    database: Database = Field(description="The database that each candidate carries.")
    workload: Annotated[WorkloadSpec, PlainValidator(read_workload)] = Field(
        description="What the virtual users do.",
        examples=[{"name": "order-entry", "warehouses": 10}],
    )
    load: Load = Field(description="How many virtual users, for how long, how often.")
    primary: Primary = Field(
        default=Primary(),
        json_schema_extra={"default": "derived"},
        description="The one question that the study decides; the report answers it first.",
        examples=[{"users": 4, "metric": "nopm", "margin": "2%"}],
    )
    seed: int = Field(
        default=1,
        ge=0,
        lt=2**63,
        description=(
            "Seed of the data, of every draw of the virtual users and of the order of windows. "
            "The same study and seed give the same plan."
        ),
        examples=[1],
    )
    thresholds: Annotated[
        tuple[Threshold, ...],
        PlainValidator(read_thresholds),
        WithJsonSchema({"type": "array", "items": {"type": "string"}}),
    ] = Field(
        default=(),
        description=(
            "What must hold of the measured values, each as `candidate.metric_at_level`; if one "
            "does not, `stithy run` ends with exit code 99. See docs/how-to/use-it-in-ci.md."
        ),
        examples=[[EXAMPLE, "nvme.p95_at_13 <= 5 ms"]],
    )

    @model_validator(mode="after")
    def _load_fits_the_workload(self) -> Self:
        load = self.load
        search = load.search(self.workload.warehouses)
        asked = Asked(
            users=load.users,
            given=frozenset(load.model_fields_set),
            connections=load.connections,
            keyed=load.pace.kind == "keyed",
            rate_per_s=load.rate_per_s,
            users_per_warehouse=load.home_users,
            touch_percent=load.touch_percent,
            profile=load.profile,
            warehouses=self.workload.warehouses,
            find_most=search.users_most if search else None,
            delivery=load.delivery,
        )
        found = [*conflicts(asked), *self._unknown_transaction()]
        refuse(each._replace(loc=("load", *each.loc)) for each in found)
        return self

    def _unknown_transaction(self) -> Iterator[Wrong]:
        """A limit for a type of transaction that the workload does not have."""
        load, types = self.load, transactions_of(self.workload)
        for key, limit in (("find", load.find), ("limit", load.limit)):
            problem = check(limit.quantity, types) if limit else None
            if limit is not None and problem is not None:
                text = str(limit) if key == "find" else limit.text
                yield Wrong(problem.what, problem.right, text, (key,))

    @model_validator(mode="after")
    def _question_fits_the_study(self) -> Self:
        load, names = self.load, list(self.candidates)
        types = transactions_of(self.workload)
        found = self.primary.conflicts(load.users, names, types, load.repeat)
        refuse(each._replace(loc=("primary", *each.loc)) for each in found)
        return self
