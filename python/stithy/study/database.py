"""The database of a study, and what of it a candidate may have of its own.

Settings of the engine that give durability up, and how everything says so.
A database that need not keep what it acknowledged hardly uses its storage: candidates then come out
alike. That is a question one may ask, but its answer must never be taken for the other one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    StringConstraints,
    TypeAdapter,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)

from stithy.engines.engine import DEMO_ENGINE, Engine, get_engine
from stithy.names import suggest_instead
from stithy.registry import plugins
from stithy.restores.method import DEFAULT_RESTORE, RestoreMethod
from stithy.study.problems import Violation, refuse, require_plugin
from stithy.units import Bytes, format_size, limit_quantity, make_rule_error

MIB = 2**20


def _read_setting(value: Any) -> str:
    """A setting's value as the server reads it: `on` and `off` for booleans, numbers as text."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if not isinstance(value, str | int | float):
        raise make_rule_error("not a setting's value", "a text, a number, true or false")
    if any(ord(each) < 32 for each in str(value)):
        raise make_rule_error("a setting's value with control characters", "one line of plain text")
    return str(value)


SETTING_NAME = r"^[A-Za-z_][A-Za-z0-9_.]*$"
SettingName = Annotated[str, StringConstraints(pattern=SETTING_NAME, max_length=63)]

Memory = Annotated[
    Bytes,
    limit_quantity(64 * MIB, 2**50, format_size),
    PlainSerializer(format_size, when_used="json"),
]
"""A memory limit of a server."""

CpuCount = Annotated[int, Field(ge=1, le=4096)]
"""How many CPUs a server may use."""


_TEXT_OR_OBJECT = {"anyOf": [{"type": "string"}, {"type": "object"}]}


def _read_programs(value: Any, info: ValidationInfo) -> str | None:
    """A version as text; YAML reads one with a point as a number, and 15.10 as 15.1.

    Of a mapping by engine it is that of the database's own.
    """
    if isinstance(value, Mapping):
        value = value.get(info.data.get("engine"))
    if isinstance(value, float):
        raise make_rule_error("a version without quotes", 'give it in quotes, such as "15.10"')
    if not isinstance(value, str | int | None) or isinstance(value, bool):
        raise make_rule_error("not a version or a directory", 'such as "15"')
    return None if value is None else str(value)


def _require_each_once(settings: Mapping[str, str]) -> Mapping[str, str]:
    refuse(
        Violation("a setting given twice", "keep one; case makes no difference", name, (name,))
        for i, name in enumerate(settings)
        if name.lower() in [setting.lower() for setting in list(settings)[:i]]
    )
    return settings


OneSettings = Annotated[
    Mapping[SettingName, Annotated[str, BeforeValidator(_read_setting)]],
    AfterValidator(_require_each_once),
]
"""Settings of a server by name."""

_SETTINGS = TypeAdapter[Mapping[str, str]](OneSettings)
_BY_ENGINE = TypeAdapter[Mapping[str, Mapping[str, str]]](Mapping[str, OneSettings])


def is_by_engine(settings: object) -> bool:
    """Whether settings, as written or as read, are given for each engine."""
    return isinstance(settings, Mapping) and any(
        isinstance(value, Mapping) for value in settings.values()
    )


def _read_settings(value: object) -> Mapping[str, Any]:
    if not is_by_engine(value):
        return _SETTINGS.validate_python(value)
    assert isinstance(value, Mapping)  # as has just been asked
    refuse(_find_misplaced(value))
    return _BY_ENGINE.validate_python(value)


def _find_misplaced(settings: Mapping[str, object]) -> Iterator[Violation]:
    known = list(plugins(Engine))
    for name, value in settings.items():
        if not isinstance(value, Mapping):
            right = "put it below its engine, as the others are"
            yield Violation("a setting of no engine", right, value, (name,))
        elif name not in known:
            right = suggest_instead(name, known)
            yield Violation("not a database engine", right, name, (name,))


Settings = Annotated[
    Mapping[str, Any],
    PlainValidator(_read_settings),
    WithJsonSchema({
        "type": "object", "propertyNames": {"maxLength": 63, "pattern": SETTING_NAME},
        "additionalProperties": {"type": ["string", "number", "boolean", "object"]},
    }),
]  # fmt: skip
"""Settings of a server by name; in a study of several engines by engine, and then by name."""


def select_settings(settings: Mapping[str, Any], engine: str) -> Mapping[str, str]:
    """Those of one engine."""
    return settings.get(engine, {}) if is_by_engine(settings) else settings


def find_refused_settings(engine: str, settings: Mapping[str, Any]) -> Iterator[Violation]:
    """The settings that a study may not give, or not with their values.

    `engine` is that of all which are not given for each engine.
    """
    if is_by_engine(settings):
        for name, own in settings.items():
            for wrong in find_refused_settings(name, own):
                yield wrong._replace(loc=(name, *wrong.loc))
    elif plugin := plugins(Engine).get(engine):
        for name, value in settings.items():
            if problem := plugin.explain_setting(name, value):
                yield Violation(*problem, name, (name,))


_RESTORES = " ".join(f"`{name}` {of.summary}." for name, of in plugins(RestoreMethod).items())


def make_example_settings() -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Settings of the demo's engine: as a study may give them, and as a candidate may."""
    of_study, of_candidate = get_engine(DEMO_ENGINE).setting_examples
    return of_study, of_candidate


def _require_engine(name: str) -> str:
    engines = plugins(Engine)
    if name not in engines:
        kin = {other: right for engine in engines.values() for other, right in engine.kin.items()}
        right = kin.get(name) or suggest_instead(name, list(engines))
        raise make_rule_error("not a database engine", right)
    return name


class Database(BaseModel):
    """The database that each candidate carries.

    It is the same for all candidates, unless a candidate has `memory`, `cpus` or `settings` of its
    own.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    engine: Annotated[str, AfterValidator(_require_engine)] = Field(
        description="The database product.", examples=[DEMO_ENGINE]
    )
    given_memory_bytes: Memory | None = Field(
        alias="memory",
        default=None,
        json_schema_extra={"default": "required, unless candidates are databases by URL"},
        description=(
            "Memory limit of the server, including the page cache of its files; at least 64 MiB. "
            "A database inside the load driver shares it with that. Without the limit a small "
            "database stays in memory, and never reads its storage."
        ),
        examples=["1 GiB"],
    )
    cpus: CpuCount | None = Field(
        default=None,
        json_schema_extra={
            "default": "all; with emulated drives three quarters, or all but one of fewer than 8"
        },
        description=(
            "Number of CPUs that the server may use. The load driver and the emulated drives "
            "get only the CPUs that no server of the study may use. If there is none, they run on "
            "any CPU, and their delay looks like a delay of the storage."
        ),
        examples=[4],
    )
    programs: Annotated[
        str | None, PlainValidator(_read_programs), WithJsonSchema(_TEXT_OR_OBJECT)
    ] = Field(
        default=None,
        json_schema_extra={"default": "the newest version that is installed"},
        description=(
            "Which of several installed servers is used: a version, such as `15` or `15.14`, or "
            "the directory of its programs. `stithy doctor` lists them. In a study of several "
            "engines it is given by engine: `{postgresql: 15}`."
        ),
        examples=["15"],
    )
    settings: Settings = Field(
        default={},
        description=(
            "Settings of the database server, passed to it unchanged. Stithy itself sets those "
            "that name files and sockets. In a study of several engines they are given by engine: "
            "`{postgresql: {…}, sqlite: {…}}`."
        ),
        examples=[make_example_settings()[0]],
    )

    restore: Annotated[str, require_plugin(RestoreMethod, "not a restore method")] = Field(
        default=DEFAULT_RESTORE,
        json_schema_extra={"default": f"{DEFAULT_RESTORE}; required of databases by URL"},
        description=(
            "How the database gets back to its loaded state before each window. "
            f"{_RESTORES} See docs/explanation/method.md."
        ),
        examples=["reload"],
    )

    @field_validator("restore")
    @classmethod
    def _require_capability(cls, restore: str, info: ValidationInfo) -> str:
        if (engine := info.data.get("engine")) is None:
            return restore
        problems = {
            name: method.explain_refusal(get_engine(engine))
            for name, method in plugins(RestoreMethod).items()
        }
        if problem := problems[restore]:
            possible = (name for name in problems if not problems[name])
            raise make_rule_error(problem, f"one of {', '.join(possible)}")
        return restore

    @field_validator("settings")
    @classmethod
    def _settle_settings(
        cls, settings: Mapping[str, Any], info: ValidationInfo
    ) -> Mapping[str, str]:
        engine = info.data.get("engine", "")
        refuse(find_refused_settings(engine, settings))
        return select_settings(settings, engine)

    @property
    def memory_bytes(self) -> int:
        """The same: none where Stithy starts no server."""
        return self.given_memory_bytes or 0

    def override(
        self, memory_bytes: int | None, cpus: int | None, settings: Mapping[str, Any]
    ) -> Self:
        """The same with another memory limit and number of CPUs, if not None, and with these
        settings over its own. Case makes no difference in the name of a setting.
        """
        settings = select_settings(settings, self.engine)
        given = {name.lower() for name in settings}
        kept = {name: self.settings[name] for name in self.settings if name.lower() not in given}
        own = {
            "given_memory_bytes": memory_bytes or self.given_memory_bytes,
            "cpus": cpus or self.cpus,
            "settings": {**kept, **settings},
        }
        return self.model_copy(update=own)


def log_bytes(engine: str, settings: Mapping[str, str], window_s: float) -> int:
    """The most that the engine's write-ahead log holds with these settings, bytes; 0 if unknown."""
    return plugins(Engine)[engine].count_log_bytes(settings, window_s)


@dataclass(frozen=True)
class GivenUp:
    """A setting, its value, and what may be lost by it.

    `candidates` are those that have it, where not all do. `engine`: whose it is, where the study
    has several.
    """

    setting: str
    value: str
    because: str
    candidates: tuple[str, ...] = ()
    engine: str = ""

    def __str__(self) -> str:
        """`fsync off`, `fsync off on sata`, `postgresql: fsync off`."""
        whose = f"{self.engine}: " if self.engine else ""
        where = f" on {' and '.join(self.candidates)}" if self.candidates else ""
        return f"{whose}{self.setting} {self.value}{where}"


def list_given_up(engine: str, settings: Mapping[str, Mapping[str, object]]) -> tuple[GivenUp, ...]:
    """What the settings of an engine give up, by candidate; nothing of an unknown engine."""
    if (plugin := plugins(Engine).get(engine)) is None:
        return ()
    having: dict[GivenUp, list[str]] = {}
    for candidate, given in settings.items():
        values = {name.lower(): str(value) for name, value in given.items()}
        for name, because in plugin.list_given_up(values).items():
            having.setdefault(GivenUp(name, values[name], because), []).append(candidate)
    return tuple(
        each if len(names) == len(settings) else replace(each, candidates=tuple(names))
        for each, names in having.items()
    )


def list_all_given_up(
    by_engine: Mapping[str, Mapping[str, Mapping[str, object]]],
) -> tuple[GivenUp, ...]:
    """What the settings of each engine of a study give up, by candidate."""
    return tuple(
        replace(given_up, engine=engine if len(by_engine) > 1 else "")
        for engine, settings in by_engine.items()
        for given_up in list_given_up(engine, settings)
    )


def of_candidate(found: Sequence[GivenUp], candidate: str) -> tuple[GivenUp, ...]:
    """What this candidate gives up."""
    return tuple(
        replace(each, candidates=())
        for each in found
        if not each.candidates or candidate in each.candidates
    )


def label(found: Sequence[GivenUp]) -> str | None:
    """What must stand beside every number; None where nothing is given up."""
    return f"NOT DURABLE: {_join_settings(found)}" if found else None


def write_suffix(found: Sequence[GivenUp]) -> str:
    """What a candidate's name in a figure ends with: ` (fsync off)`; empty without any.

    `found` is of this candidate.
    """
    return f" ({_join_settings(found)})" if found else ""


def write_sentences(found: Sequence[GivenUp]) -> tuple[str, ...]:
    """A sentence for each setting."""
    return tuple(f"Durability is given up with {each}: {each.because}." for each in found)


def _join_settings(found: Sequence[GivenUp]) -> str:
    return ", ".join(map(str, found))
