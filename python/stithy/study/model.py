"""The study file as types: every key with its meaning, bounds and an example.

Everything else is derived from here: the keys (`keys`), the messages about a wrong file (`locate`),
the JSON Schema for editors and the reference page. Validation never looks at the machine.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Self
from weakref import finalize

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PlainValidator,
    PrivateAttr,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from stithy.activity import get_level_factor
from stithy.engines.engine import get_engine
from stithy.metrics import check
from stithy.names import make_plain
from stithy.point import NOTHING, Point, Value, order
from stithy.pricing.keys import EXAMPLE as COST_EXAMPLE
from stithy.pricing.keys import Pricing, find_misfits
from stithy.registry import plugins
from stithy.restores.method import RestoreMethod
from stithy.search import Search
from stithy.study import sections
from stithy.study.candidates import (
    Candidate,
    find_url,
    find_url_conflicts,
    read_candidate,
    read_candidates,
)
from stithy.study.collect import Collect, find_collect_problems
from stithy.study.database import Database, GivenUp, list_all_given_up
from stithy.study.engines import ENGINE, find_engine_problems
from stithy.study.load_keys import DAY_S, Load, drop_users
from stithy.study.load_values import find_conflicts
from stithy.study.power import EXAMPLE as POWER_EXAMPLE
from stithy.study.power import Power, find_power_problems
from stithy.study.primary import Primary
from stithy.study.problems import Violation, join_problems, refuse
from stithy.study.scenario import OPTIONAL
from stithy.study.sections import ChosenScenario, read_workload
from stithy.study.thresholds import EXAMPLE, read_thresholds
from stithy.study.vary import EXAMPLE as VARY_EXAMPLE
from stithy.study.vary import (
    Vary,
    find_differing_problems,
    find_impossible,
    find_problems,
    find_unmeasured_question,
    list_measured,
    list_points,
    resolve_study,
    select_combination,
)
from stithy.thresholds import Threshold
from stithy.units import Seconds, format_duration, limit_quantity, make_rule_error
from stithy.workloads.workload import Driving, Options, WorkloadKeys

_STRICT = ConfigDict(extra="forbid", frozen=True, strict=True)

_AT: dict[int, dict[tuple[tuple[str, Value], ...], "Study"]] = {}
"""What each study is at its points: whoever plans asks for that thousands of times."""
_SECTION = WithJsonSchema({"type": "object"})
_OF_SCENARIOS: dict[str, Any] = {"default": "required if the scenario has a database"}


def _require_question(text: str) -> str:
    if not text.strip():
        right = "write the question that the study answers, as a sentence"
        raise make_rule_error("an empty question", right)
    return " ".join(text.split())


CandidateName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=40)]


class Quiet(BaseModel):
    """Before each block a run waits until other programs leave the machine quiet."""

    model_config = _STRICT

    wait_s: Annotated[Seconds, limit_quantity(0, DAY_S, format_duration)] = Field(
        alias="wait",
        default=120.0,
        json_schema_extra={"default": format_duration(120.0)},
        description=(
            "The longest wait until other programs use at most a tenth of the CPUs and of each "
            "disk's time, for 3 s; the run names them. After a wait in vain blocks wait only 3 s, "
            "until the machine was quiet once. `0 s`, or `--no-wait`: they are measured at once."
        ),
        examples=["5 min"],
    )


def name_candidate(text: str) -> str:
    """Name a candidate by any text, with room for a number, and no number or truth to YAML."""
    plain = make_plain(text, 32)
    is_word = re.match(r"(?!(true|false|null|yes|no|on|off)$)[a-z]", plain)
    return plain if is_word else f"at-{plain}".rstrip("-")


class Study(BaseModel):
    """One study: a question, its candidates, database, workload and levels."""

    model_config = _STRICT

    study: Annotated[str, AfterValidator(_require_question)] = Field(
        max_length=500,
        description="The question that the study answers; the report begins with it.",
        examples=["Does this database feel the difference between disk and memory?"],
    )
    candidates: Annotated[
        dict[CandidateName, Annotated[Candidate, PlainValidator(read_candidate)]],
        Field(min_length=1, max_length=50),
        AfterValidator(read_candidates),
    ] = Field(
        description=(
            "The storage options to compare, by name (lower-case letters, digits, hyphens). The "
            "first is the one with which the others are compared."
        ),
        examples=[{"disk": {"path": "/var/tmp/stithy"}}],
    )
    scenario: Annotated[
        ChosenScenario,
        PlainValidator(sections.read_scenario),
        WithJsonSchema({"type": ["string", "object"]}),
    ] = Field(
        default=ChosenScenario(),
        json_schema_extra={"default": sections.USUAL},
        description=(
            "What the study does: the name of a scenario, or its name with its keys. `load` "
            "measures the virtual users at each point."
        ),
        examples=[sections.USUAL],
    )
    given_database: Database | None = Field(
        alias="database",
        default=None,
        json_schema_extra=_OF_SCENARIOS,
        description="The database that each candidate carries.",
    )
    given_workload: Annotated[WorkloadKeys | None, PlainValidator(read_workload), _SECTION] = Field(
        alias="workload",
        default=None,
        json_schema_extra=_OF_SCENARIOS,
        description="What the virtual users do.",
        examples=[sections.make_example_workload()],
    )
    given_load: Load | None = Field(
        alias="load",
        default=None,
        json_schema_extra=_OF_SCENARIOS,
        description="How many virtual users, how busy, and for how long.",
    )
    vary: Vary = Field(
        default={},
        json_schema_extra={"default": "nothing"},
        description=(
            "What else varies: a key of this file, such as `database.memory`, `database.cpus`, "
            "`database.engine`, `database.settings.shared_buffers`, `load.connections` or the size "
            "of the workload, with its values. Every level is measured with each of them; of "
            "several keys with each combination. All candidates have the same values in a block. "
            "Each size of the data is loaded once for each engine, and has a master copy of its "
            "own. See docs/how-to/write-a-study.md."
        ),
        examples=[VARY_EXAMPLE],
    )
    primary: Primary = Field(
        default=Primary(),
        json_schema_extra={"default": "derived"},
        description="The primary question, which the study decides; the report answers it first.",
        examples=[{get_level_factor().name: 4, "metric": "tpm", "margin": "2%"}],
    )
    cost: Pricing | None = Field(
        default=None,
        json_schema_extra={"default": "nothing of the cost is reported"},
        description=(
            "What the candidates cost, with every input. The report then has their yearly cost, "
            "and that of a user and of a million transactions. See docs/how-to/compare-costs.md."
        ),
        examples=[COST_EXAMPLE],
    )
    quiet: Quiet = Field(
        default=Quiet(),
        json_schema_extra={"default": "{wait: 2 min}"},
        description="How long each block waits until other programs leave the machine quiet.",
        examples=[{"wait": "5 min"}],
    )
    collect: Collect | None = Field(
        default=None,
        json_schema_extra={"default": "nothing but what this machine and the database say"},
        description="What is watched in windows on other hosts.",
        examples=[{"exporters": {"db": "http://db.example:9100/metrics"}}],
    )
    power: Power | None = Field(
        default=None,
        json_schema_extra={"default": "not measured"},
        description="What measures the power that candidates draw.",
        examples=[POWER_EXAMPLE],
    )
    seed: int = Field(
        default=1,
        ge=0,
        lt=2**63,
        description=(
            "Seed of the data, of all random choices of the virtual users, and of the order of "
            "windows. The same study and seed give the same plan."
        ),
        examples=[1],
    )
    _data: Mapping[str, Any] = PrivateAttr(default_factory=dict)

    thresholds: Annotated[
        tuple[Threshold, ...],
        PlainValidator(read_thresholds),
        WithJsonSchema({"type": "array", "items": {"type": "string"}}),
    ] = Field(
        default=(),
        description=(
            "Conditions on the measured values, each as `candidate.metric_at_level`; if one is "
            "not met, `stithy run` ends with exit code 99. See docs/how-to/use-it-in-ci.md."
        ),
        examples=[[EXAMPLE, "nvme.p95_at_13 <= 5 ms"]],
    )

    def give_database(self, candidate: str) -> Database:
        """The database as a candidate carries it: with what of it is its own, if anything."""
        own = self.candidates[candidate]
        return self.database.override(own.memory_bytes, own.cpus, own.settings)

    @property
    def by_url(self) -> bool:
        """Whether its candidates are databases that run already."""
        return any(find_url(candidate) for candidate in self.candidates.values())

    @property
    def databases(self) -> tuple[Database, ...]:
        """The database as it is loaded, and as each candidate carries it at any point.

        None in a scenario without one.
        """
        if self.given_database is None:
            return ()
        every = (
            variant.give_database(name)
            for _, variant in self.own_settings
            for name in self.candidates
        )
        return (self.database, *every)

    @property
    def variants(self) -> tuple["Study", ...]:
        """The study with each combination of what varies; itself where nothing does."""
        return tuple(variant for _, variant in self.settings)

    @property
    def settings(self) -> tuple[tuple[Point, "Study"], ...]:
        """Each combination of what varies, and the study with it; one without any otherwise."""
        return tuple((point, self.at(point)) for point in self.combinations)

    @property
    def own_settings(self) -> tuple[tuple[Point, "Study"], ...]:
        """`settings`, for each of several instances where these differ."""
        numbers = range(1, self.instances + 1)
        points = [self.derive_point(point, n) for point in self.combinations for n in numbers]
        return tuple((point, self.at(point)) for point in dict.fromkeys(points))

    def derive_point(self, point: Point, number: int | None) -> Point:
        """Add to a point what is an instance's own, by its number from 1; None: the only one."""
        own = self.scenario.keys.list_differing() if number else {}
        factors = ((key, values[number - 1]) for key, values in own.items() if number)
        return Point((*point.factors, *factors))

    @property
    def combinations(self) -> tuple[Point, ...]:
        """What varies, as far as it can be had together; one without factors if nothing does."""
        left_out = self.impossible
        return tuple(point for point in list_points({}, self.vary) if point not in left_out)

    @property
    def impossible(self) -> Mapping[Point, str]:
        """Combinations of what varies that cannot be had together, with the reason; left out."""
        return find_impossible(self)

    @property
    def database(self) -> Database:
        """The database that each candidate carries, in a scenario that has one."""
        assert self.given_database is not None, "this scenario has no database"
        return self.given_database

    @property
    def workload(self) -> WorkloadKeys:
        """What the virtual users do, in a scenario that has them."""
        assert self.given_workload is not None, "this scenario has no workload"
        return self.given_workload

    @property
    def load(self) -> Load:
        """How the virtual users act, in a scenario that has them."""
        assert self.given_load is not None, "this scenario has no load"
        return self.given_load

    @property
    def search(self) -> Search | None:
        """The saturation search, which ends where the workload has no more users at the latest.

        None where nothing is searched for.
        """
        if self.given_load is None:
            return None
        return self.load.search(self.workload.users_max(self.load.asked().driving))

    @property
    def driving(self) -> Driving:
        """How users are driven, as the workload must know it."""
        search = self.search
        return self.load.asked(search.users_most if search else None).driving

    @property
    def options(self) -> Options:
        """What the workload's own keys say of the users, defaults resolved."""
        return self.workload.options(self.driving)

    @property
    def label(self) -> str | None:
        """What must stand beside every number of its users; None: nothing."""
        if self.given_workload is None or self.given_load is None:
            return None
        workload = sections.get_workload(self.workload.name)
        sizes = [of.workload.size for _, of in self.own_settings]
        varied = [name for name in self.workload.size if f"workload.{name}" in self.vary]
        return workload.find_label(self.options, sizes, varied)

    @property
    def repeat(self) -> int | None:
        """Number of blocks at every point; None: until the primary question is decided."""
        given = self.given_load.repeat if self.given_load else None
        return given or self.scenario.keys.count_blocks()

    @property
    def own_factors(self) -> Mapping[str, Sequence[Value]]:
        """What the scenario varies by itself, such as the users of a load."""
        return sections.list_own_factors(self.scenario, self.given_load)

    @property
    def factors(self) -> Mapping[str, Sequence[Value]]:
        """All that varies, by factor, with its values."""
        return {**self.own_factors, **self.vary}

    @property
    def points(self) -> tuple[Point, ...]:
        """What is measured: every combination of what varies, and what the scenario needs first."""
        return list_measured(self)

    @property
    def asked_point(self) -> Point:
        """Where the primary question is asked: as it says, else at the highest that is not nothing.

        Of what `vary` lists it is the study's own value where that is listed, else the first.
        """
        own = {
            key: max([value for value in each if value != NOTHING] or each, key=order)
            for key, each in self.own_factors.items()
            if each
        }
        said = self.primary.values
        usual = dict(own)
        for key, every in self.vary.items():
            if key not in said:
                same = (of for of in every if resolve_study(self, {key: of}, self._data) == self)
                usual[key] = next(same, every[0])
        point = Point(tuple((key, said.get(key, usual.get(key, 0))) for key in self.factors))
        if select_combination(self, point) not in self.impossible:
            return point
        kept = {**own, **said}.items()
        return next((each for each in self.points if kept <= each.values.items()), point)

    def at(self, point: Point) -> "Study":
        """The study as it is at a point: what varies has its value there."""
        known_keys = {*self.vary, *self.scenario.keys.list_differing()}
        values = tuple((key, value) for key, value in point.factors if key in known_keys)
        if not values:
            return self
        if (known := _AT.get(id(self))) is None:
            known = _AT[id(self)] = {}
            finalize(self, _AT.pop, id(self))
        if values not in known:
            known[values] = resolve_study(self, dict(values), self._data)
        return known[values]

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines of its database: several where they vary, none without a database."""
        if self.given_database is None:
            return ()
        return tuple(map(str, self.vary.get(ENGINE, (self.database.engine,))))

    def select_engine(self, engine: str) -> "Study":
        """The study with one of its engines, as to all else that varies as it is."""
        return self.at(Point(((ENGINE, engine),)))

    @property
    def cpu_percent(self) -> int | None:
        """The most CPU time of each server, of the CPUs that servers have; None: no limit."""
        return self.scenario.keys.limit_cpus()

    @property
    def instances(self) -> int:
        """How many instances of the database share each candidate; the most where that varies."""
        return max(variant.scenario.keys.count_instances() for variant in self.variants)

    @property
    def servers(self) -> int:
        """How many servers run on a candidate at once: its instances, and those beside them."""
        beside = max(variant.scenario.keys.count_servers_beside() for variant in self.variants)
        return self.instances + beside

    @property
    def connections_max(self) -> int:
        """The most connections that a server has at any point."""
        most = 0
        for of in self.variants:
            users, own = of.load.users_max, of.given_workload
            needed = of.load.connections_max + (own.count_connections(users) if own else 0)
            most = max(most, needed, of.scenario.keys.count_connections())
        return most

    @property
    def given_up(self) -> tuple[GivenUp, ...]:
        """The settings that let a database lose what it acknowledged."""
        if self.given_database is None:
            return ()
        return list_all_given_up(
            {
                engine: {name: of.give_database(name).settings for name in self.candidates}
                for engine, of in ((engine, self.select_engine(engine)) for engine in self.engines)
            }
        )

    @model_validator(mode="wrap")
    @classmethod
    def _varied(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Each section must be one of the scenario, each varied value fit its key."""
        if not isinstance(data, dict):
            return handler(data)
        if sections.is_idle(data):
            data = {**data, "load": drop_users(data.get("load"))}
        written, data = data, sections.fill_scenario(data)
        wrong = list(sections.find_wrong_sections(data))
        try:
            study = handler(data)
        except ValidationError as error:
            raise join_problems([error, *wrong]) from error
        if wrong:
            raise join_problems(wrong)
        study._data = written
        refuse([*find_url_conflicts(study, data), *find_engine_problems(study, data)])
        load = study.given_load
        if load is not None and study.scenario.keys.has_shares(load):
            load.mark_shares()
        refuse(
            problem._replace(loc=("vary", *problem.loc))
            for problem in find_problems(study, written)
        )
        refuse(find_differing_problems(study, written))
        return study

    @model_validator(mode="after")
    def _check_cost(self) -> Self:
        if self.cost is not None:
            found = find_misfits(
                self.cost, list(self.candidates), has_users=self.given_load is not None,
                is_metered=self.power is not None,
            )  # fmt: skip
            refuse(each._replace(loc=("cost", *each.loc)) for each in found)
        return self

    @model_validator(mode="after")
    def _check_roles(self) -> Self:
        if self.given_database is None:
            return self
        engine, scenario = get_engine(self.database.engine), self.scenario
        for name, candidate in self.candidates.items():
            if ("target" in candidate.sources) != scenario.plugin.moves:
                wrong, right = (
                    ("no storage to move to", "add `roles: {target: …}`, such as `{drive: io2}`")
                    if scenario.plugin.moves
                    else (f"nothing moves in the scenario {scenario.name}", "leave `target` out")
                )
                roles = () if scenario.plugin.moves else ("roles", "target")
                refuse([Violation(wrong, right, None, ("candidates", name, *roles))])
        refuse(
            Violation(because, "leave this role out", role, ("candidates", name, "roles", role))
            for name, candidate in self.candidates.items()
            for role in candidate.sources
            if (because := engine.explain_role(role, self.database.settings))
        )
        return self

    @model_validator(mode="after")
    def _check_restore(self) -> Self:
        if self.given_database is None:
            return self
        explain = self.scenario.plugin.explain_refusal
        every = {name: explain(self, method) for name, method in plugins(RestoreMethod).items()}
        if problem := every[self.database.restore]:
            right = f"use {' or '.join(name for name in every if every[name] is None)}"
            refuse([Violation(problem, right, self.database.restore, ("database", "restore"))])
        method = plugins(RestoreMethod)[self.database.restore]
        if self.given_load and self.given_load.precondition and not method.keeps_files:
            what = f"users before a copy that the restore method {method.name} does not keep"
            right = "use `restore: files`, or leave it out"
            asked = str(self.given_load.precondition)
            refuse([Violation(what, right, asked, ("load", "precondition"))])
        return self

    @model_validator(mode="after")
    def _check_sections(self) -> Self:
        refuse(
            each._replace(loc=("candidates", *each.loc))
            for rule in (sections.find_raw_devices, sections.find_server_keys)
            for each in rule(self.candidates, self.scenario)
        )
        refuse([*find_power_problems(self), *find_collect_problems(self)])
        if self.given_load is not None:
            found = self.scenario.keys.find_conflicts(self.given_load)
            refuse(each._replace(loc=("load", *each.loc)) for each in found)
        return self

    @model_validator(mode="after")
    def _check_load_by_workload(self) -> Self:
        if self.given_load is None or self.given_workload is None:
            return self
        search = self.search
        asked = self.load.asked(search.users_most if search else None)
        workload = sections.get_workload(self.workload.name)
        defers = workload.defers(self.workload.options(asked.driving))
        found = [*find_conflicts(asked, defers=defers), *self._find_unknown_transaction()]
        wrong = [each._replace(loc=("load", *each.loc)) for each in found]
        misfits = workload.find_misfits(self.workload, asked.driving)
        refuse([*wrong, *(Violation(*misfit) for misfit in misfits)])
        return self

    def _find_unknown_transaction(self) -> Iterator[Violation]:
        load, types = self.load, sections.list_transactions(self.given_workload)
        for key, limit in (("find", load.find), ("limit", load.limit)):
            problem = check(limit.quantity, types) if limit else None
            if limit is not None and problem is not None:
                text = str(limit) if key == "find" else limit.text
                yield Violation(problem.what, problem.right, text, (key,))

    @model_validator(mode="after")
    def _check_question(self) -> Self:
        every = (self.given_database, self.given_workload, self.given_load)
        given = {name for name, each in zip(OPTIONAL, every, strict=True) if each is not None}
        if not set(sections.list_sections(self.scenario.name)) <= given:
            return self  # reported already
        types = sections.list_transactions(self.given_workload)
        usual = self.scenario.plugin.metric
        found = self.primary.conflicts(
            self.factors, list(self.candidates), types, self.repeat, usual
        )
        refuse(each._replace(loc=("primary", *each.loc)) for each in found)
        refuse(find_unmeasured_question(self))
        return self
