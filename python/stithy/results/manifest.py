"""What was run, on what, with which versions and seed: the facts behind a run's numbers.

A manifest is written when the run begins and again, with more facts, as they become known; its
last form says how the run ended. A fact that could not be read is a `Fact` with value None and a
reason.
"""

import hashlib
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from stithy.metrics import PERCENTILES, find, parse_quantity
from stithy.point import Point, PointText
from stithy.pricing.keys import Pricing
from stithy.search import WIDTH_PERCENT
from stithy.study.engines import ENGINE
from stithy.study.load_values import Levels
from stithy.thresholds import MeasuredSide, Threshold

SCHEMA_VERSION = 21
"""Version of `manifest.json` and of the tables, kept in each of them; every other is refused."""

Scalar = str | int | float | bool | None


class _Facts(BaseModel):
    """Facts are frozen; a key that is not known is an error, and so is what no number is."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Fact(_Facts):
    """One fact about the machine; `missing_because` is set when `value` is None."""

    value: Scalar | tuple[Scalar, ...] | dict[str, Scalar]
    missing_because: str | None = None


class ComparedField(NamedTuple):
    """On a field: what it says, and whether it must be equal for two runs to be comparable.

    `stithy compare` and its reference page derive what makes runs comparable from these.
    """

    text: str
    needed: bool = True


class DriveFacts(_Facts):
    """An emulated drive of a candidate, and the file system on it.

    `profile` is the drive profile's text, `assumed` names its keys that nobody measured or
    published; its rates and capacity were divided by `scale`. `transport` is how requests reached
    it, `transport_s` the time of that, by which answers were made earlier. `name` is its role, or
    `data-1` and on where the role has several drives.
    """

    role: str
    device: str
    profile_name: str
    title: str
    profile: str
    assumed: tuple[str, ...]
    scale: float
    size_bytes: int
    sector_bytes: int
    filesystem: str
    mount_options: str
    backing: str
    seed: int
    transport: str
    transport_s: float
    spin_s: float
    name: str | None = None

    @property
    def known_as(self) -> str:
        """What tables and series call it: its name, or its role where that has one drive."""
        return self.name or self.role


class ArrayFacts(_Facts):
    """A layer over several devices, or a cluster, by the role of its volume: its name and keys.

    `keys` begins with its level, or else its first key, and has of the others those that are not as
    usual. `members` are the devices, by kernel name.
    """

    role: str
    layer: str
    keys: dict[str, str]
    members: tuple[str, ...]

    @property
    def kind(self) -> str:
        """`btrfs raid10`, or `btrfs raid5, compression zstd` where more than a level is asked."""
        first, *others = self.keys.items() or [("", "")]
        words = f"{self.layer} {first[1]}".rstrip()  # a layer may have no keys
        return ", ".join([words, *(f"{key} {of}" for key, of in others)])

    def __str__(self) -> str:
        """`btrfs raid10 of 4 devices`."""
        return f"{self.kind} of {len(self.members)} device{'s' if len(self.members) > 1 else ''}"


class RoleFacts(_Facts):
    """The volume of a role on a source of its own, but for emulated drives, which say it all."""

    role: str
    path: str
    filesystem: str
    mount_options: str
    devices: tuple[str, ...]


class CandidateFacts(_Facts):
    """One candidate and its volume, as it was; `drives` are the emulated ones under it.

    `memory_limit_bytes`, `cpus` and `settings` are what the study gives its server alone, None and
    empty for nothing. `effective_settings` are those in force in its server that are not in force
    in every candidate's; None before its first window. `server_version` is that of its server where
    servers of the run have several.
    """

    name: str
    provider: str
    path: str
    filesystem: str | None = None
    mount_point: str | None = None
    mount_options: str | None = None
    devices: tuple[str, ...] = ()
    memory_backed: bool | None = None
    master: bool = False
    drives: tuple[DriveFacts, ...] = ()
    arrays: tuple[ArrayFacts, ...] = ()
    roles: tuple[RoleFacts, ...] = ()
    memory_limit_bytes: int | None = None
    cpus: tuple[int, ...] | None = None
    settings: dict[str, Scalar] = Field(default_factory=dict)
    effective_settings: dict[str, str] | None = None
    server_version: str | None = None
    environment: dict[str, Fact] = Field(default_factory=dict)


class DatabaseFacts(_Facts):
    """The database product; `settings` as the study asks, `effective_settings` as in force.

    Both are those of all candidates: `CandidateFacts` has what is a candidate's own.
    Settings that name a place or hold a secret are not in it. `cpus` are the numbers of the CPUs to
    which the server was bound, None where it could use any; `cpus_varied`: how many differs between
    points. The settings in `varied`, by their
    names in lower case, differ between points. `backups` are the tools that make them, each with
    its version, by method. `restore` is the method by which it got back to its loaded state.
    `by_url`: its servers were there, and Stithy started none.
    """

    engine: str
    settings: dict[str, Scalar]
    server_version: str | None = None
    effective_settings: dict[str, str] | None = None
    missing_because: str | None = None
    cpus: tuple[int, ...] | None = None
    cpus_varied: bool = False
    varied: tuple[str, ...] = ()
    backups: dict[str, str] = Field(default_factory=dict)
    restore: str | None = None
    by_url: bool = False


class OwnServerFacts(_Facts):
    """What `CandidateFacts` has of the server of an engine, of another engine of the study."""

    settings: dict[str, Scalar] = Field(default_factory=dict)
    effective_settings: dict[str, str] | None = None
    server_version: str | None = None


class MemoryFacts(_Facts):
    """The memory limit: what was asked, and whether the machine enforced it.

    `limit_bytes` is that of candidates without a limit of their own; `enforced` is of all. What is
    in `varied` differs between points.
    """

    limit_bytes: int
    enforced: bool | None
    note: str | None = None
    varied: tuple[str, ...] = ()


Numbers = dict[str, int]


class WorkloadFacts(_Facts):
    """The workload and its size, each number by its key.

    What is in `varied` differs between points. `options` is what its own keys say of the users,
    defaults resolved. `sizes`: that of each of several instances, where these differ in it.
    """

    name: str
    size: Numbers
    sizes: tuple[Numbers, ...] = ()
    data_compressible_percent: Annotated[
        int | None, ComparedField("how well the generated text compresses")
    ] = None
    data_duplicate_percent: Annotated[int, ComparedField("how much of it repeats")] = 0
    options: dict[str, Scalar] = {}
    varied: tuple[str, ...] = ()

    @property
    def every_size(self) -> tuple[Numbers, ...]:
        """The size of each instance; one where they are alike."""
        return self.sizes or (self.size,)


class LoadFacts(Levels, _Facts):
    """How the database was driven; `pace` is `none`, `keyed`, `think` or `rate`.

    `connections` None is one for each user. `precondition` is as `32 users for 6 h`. What of it is
    in `varied` differs between points. With the pace `rate` and no `rate_per_s` the rates are
    shares of a maximum that was measured first.
    """

    users: Annotated[
        tuple[int, ...],
        ComparedField("levels; the common levels of both runs are compared", needed=False),
    ]
    pace: Annotated[str, ComparedField("when users act")]
    think_s: Annotated[float | None, ComparedField("mean think time")] = None
    rate_per_s: Annotated[
        float | None, ComparedField("transactions due per second of an open loop")
    ] = None
    arrivals: Annotated[str | None, ComparedField("distribution of their intervals")] = None
    connections: Annotated[int | None, ComparedField("connections that users share")] = None
    touch_percent: Annotated[int, ComparedField("share of the data that users touch")] = 100
    ramp_up_s: Annotated[float, ComparedField("load before the measurement")]
    duration_s: Annotated[float, ComparedField("length of the measurement")]
    repeat: Annotated[int | None, ComparedField("number of blocks", needed=False)]
    checkpoint: Annotated[bool, ComparedField("whether a checkpoint was forced before each window")]
    isolation: Annotated[str, ComparedField("isolation of transactions")]
    error_limit: Annotated[int, ComparedField("number of errors that ends a window", needed=False)]
    ledger: Annotated[bool, ComparedField("whether a commit ledger was kept")] = False
    precondition: Annotated[
        str | None, ComparedField("users who worked on the database before it was kept")
    ] = None
    agents: Annotated[
        tuple[str, ...], ComparedField("hosts that drove the users", needed=False)
    ] = ()
    network: Annotated[str, ComparedField("where users came from")] = "local"
    varied: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether transactions arrived at rates, whether or not earlier ones were answered."""
        return self.pace == "rate"


class CalibrationFacts(_Facts):
    """What the driver was shown to keep up with, before the first window.

    Each number is None where it was never on time, or was not tried; `missing_because` says why
    there is no rate. `think_s` is the mean pause of the users tried; with `users_limit_reached`
    more of them were not tried. `others_share`: of all CPUs, what other programs used meanwhile.
    """

    connections: int | None = None
    rate_per_s_max: float | None = None
    think_s: float | None = None
    users_max: int | None = None
    users_limit_reached: bool | None = None
    others_share: float | None = None
    missing_because: str | None = None


class EngineFacts(_Facts):
    """Another engine of a study that compares several, and what candidates have of their own."""

    database: DatabaseFacts
    calibration: CalibrationFacts | None = None
    servers: dict[str, OwnServerFacts]


NOT_THERE = "not_there"
"""The type of the error of a metric that no plug-in declares."""


def _require_known(metric: str) -> None:
    if find(metric) is None:
        raise PydanticCustomError(NOT_THERE, "unknown metric {metric}", {"metric": metric})


def _require_quantity(text: str) -> str:
    _require_known(text.partition(" of ")[0])
    parse_quantity(text)
    return text


def _require_percentile(name: str) -> str:
    if name not in PERCENTILES:
        raise ValueError(f"there is no percentile {name!r:.40}")
    return name


class QuestionFacts(_Facts):
    """The primary question: which of two candidates is better at a point, by a metric.

    `metric` is named as in a study. `candidates` None are the slowest and the fastest. At least
    `blocks_least` and at most `blocks_most` blocks were to be measured; `derived` names what the
    study did not declare.
    """

    point: PointText
    metric: Annotated[str, AfterValidator(_require_quantity)]
    margin_share: float
    candidates: tuple[str, str] | None = None
    blocks_least: int
    blocks_most: int
    derived: tuple[str, ...] = ()


class LimitFacts(_Facts):
    """A limit of response time: of a percentile of a transaction type (or of `all`)."""

    percentile: Annotated[str, AfterValidator(_require_percentile)]
    transaction: str
    limit_s: float


class SearchFacts(LimitFacts):
    """A search for the most users within a limit: a percentile of a transaction type's responses.

    From `users_least` to `users_most`; it began with the levels `listed`, and ends at a bracket of
    `width_percent`. `alone`: there were no other levels, and which candidate serves more was the
    question.
    """

    users_least: int
    users_most: int
    listed: tuple[int, ...] = ()
    width_percent: int = WIDTH_PERCENT
    alone: bool = False


class ExporterFacts(_Facts):
    """An exporter of another host: what its page is by `map` and `version`, and what it is of.

    `role`: `database`, `storage` or `other`. `devices`: all under the database. `candidates`: those
    in whose windows it was read; None for all.
    """

    url: str
    map: str
    version: str
    role: str
    every_s: float
    devices: tuple[str, ...] = ()
    candidates: tuple[str, ...] | None = None

    def applies_to(self, candidate: str) -> bool:
        """Whether it was read in windows of a candidate."""
        return self.candidates is None or candidate in self.candidates


class PlanFacts(_Facts):
    """The plan in short: ids of the windows in the order of the plan, and the study's points.

    `skipped` are those of them that were not needed, because the primary question was decided;
    `further` windows that were not planned, and that what was measured needed.
    `question` is None where a single candidate was measured, or no level was given. `null`: the
    candidates were alike in all. `limit` is that of the response times, searched for or
    not; the first runs told it with a search alone.
    """

    windows: tuple[str, ...]
    points: tuple[PointText, ...] = ()
    skipped: tuple[str, ...] = ()
    further: tuple[str, ...] = ()
    question: QuestionFacts | None = None
    search: SearchFacts | None = None
    limit: LimitFacts | None = None
    null: bool = False
    master_candidate: str | None = None


def _require_judgeable(thresholds: tuple[Threshold, ...]) -> tuple[Threshold, ...]:
    for threshold in thresholds:
        for side in (threshold.left, threshold.right):
            if isinstance(side, MeasuredSide):
                _require_known(side.metric)
    return thresholds


Thresholds = Annotated[tuple[Threshold, ...], AfterValidator(_require_judgeable)]

End = Literal["running", "finished", "interrupted", "failed"]


class SessionFacts(_Facts):
    """One process's time with the run: `stithy run` is the first, each `stithy resume` another.

    `boot_id` is the kernel's, so that a reboot in between is known. `end` is `killed` where nothing
    tells of an end; `ended_at_s` is then what its journal told last. `changed` names what of the
    machine or the study was not as before, and was gone on with all the same (`--force`).
    `master_kept`: it used the master copy of an earlier session, which was proven to be as it was.
    """

    started_at_s: float
    ended_at_s: float | None = None
    boot_id: str
    changed: tuple[str, ...] = ()
    master_kept: bool = False
    end: End | Literal["killed"] = "running"
    end_because: str | None = None


class Manifest(_Facts):
    """`manifest.json`; a study without a database has neither workload nor load nor memory.

    `scenario` is as a study has it, `scenario_facts` what its keys come to. `profile_words`: what
    became of the words of other tools' files, by file. `pricing`: what candidates cost, as the
    study states it, price lists included. `database` and what candidates have of it are of the
    study's own engine, `other_engines` of those with which it is compared. `agent_hosts`: of each
    agent when the run was last begun or resumed.
    """

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    schema_version: int = SCHEMA_VERSION
    stithy_version: str
    hammer_version: str | None = None
    question: str
    study_file: str
    study_sha256: str
    seed: int
    comparability_key: str
    comparability: dict[str, Scalar | tuple[Scalar, ...] | dict[str, Scalar]]
    scenario: str = "load"
    scenario_facts: dict[str, Scalar] = Field(default_factory=dict)
    profile_words: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    given_workload: WorkloadFacts | None = Field(default=None, alias="workload")
    given_load: LoadFacts | None = Field(default=None, alias="load")
    plan: PlanFacts
    thresholds: Thresholds = ()
    pricing: Pricing | None = Field(default=None, alias="cost")
    candidates: tuple[CandidateFacts, ...]
    given_database: DatabaseFacts | None = Field(default=None, alias="database")
    other_engines: tuple[EngineFacts, ...] = ()
    memory: MemoryFacts | None = None
    calibration: CalibrationFacts | None = None
    agent_hosts: dict[str, str] = Field(default_factory=dict)
    environment: dict[str, Fact] = Field(default_factory=dict)
    exporters: dict[str, ExporterFacts] = Field(default_factory=dict)
    sessions: tuple[SessionFacts, ...] = ()
    started_at_s: float
    ended_at_s: float | None = None
    end: End = "running"
    end_because: str | None = None

    @property
    def workload(self) -> WorkloadFacts:
        """What the virtual users did, in a scenario that has them."""
        assert self.given_workload is not None, "this scenario has no workload"
        return self.given_workload

    @property
    def load(self) -> LoadFacts:
        """How the database was driven, in a scenario that has one."""
        assert self.given_load is not None, "this scenario has no load"
        return self.given_load

    @property
    def database(self) -> DatabaseFacts:
        """The database, in a scenario that has one."""
        assert self.given_database is not None, "this scenario has no database"
        return self.given_database

    @property
    def by_engine(self) -> dict[str, "Manifest"]:
        """The manifest as it were of each engine alone, by name; none without a database."""
        if self.given_database is None:
            return {}
        alone = self.model_copy(update={"other_engines": ()}) if self.other_engines else self
        return {self.database.engine: alone} | {
            facts.database.engine: alone.model_copy(
                update={
                    "given_database": facts.database,
                    "calibration": facts.calibration,
                    "candidates": tuple(
                        candidate.model_copy(update=dict(facts.servers[candidate.name]))
                        for candidate in self.candidates
                    ),
                }
            )
            for facts in self.other_engines
        }

    def find(self, name: str) -> CandidateFacts:
        return next(candidate for candidate in self.candidates if candidate.name == name)

    def find_engine(self, point: Point) -> str | None:
        """The engine of the servers at a point; None without a database."""
        known = self.given_database
        return str(point.values.get(ENGINE, known.engine)) if known else None

    @property
    def servers_differ(self) -> bool:
        """Whether the study gives candidates different memory, CPUs or settings."""
        return any(
            len({str(of.describe_server(candidate)) for candidate in of.candidates}) > 1
            for of in self.by_engine.values()
        )

    def describe_server(self, candidate: CandidateFacts) -> tuple[object, ...]:
        """What the study gives a candidate's server: memory, CPUs and settings."""
        asked = self.memory_limit_of(candidate), self.cpus_of(candidate)
        return *asked, sorted(self.settings_of(candidate).items())

    def memory_limit_of(self, candidate: CandidateFacts) -> int | None:
        """The memory limit that the study gives a candidate's server, bytes; None for none."""
        if self.memory is None:
            return None
        return candidate.memory_limit_bytes or self.memory.limit_bytes

    def cpus_of(self, candidate: CandidateFacts) -> tuple[int, ...] | None:
        """The CPUs to which the study binds a candidate's server, None for any."""
        return candidate.cpus or self.database.cpus

    def server_version_of(self, candidate: CandidateFacts) -> str | None:
        """The version of a candidate's server; None if it is not known, or there is none."""
        shared = self.given_database.server_version if self.given_database else None
        return candidate.server_version or shared

    def settings_of(self, candidate: CandidateFacts) -> dict[str, Scalar]:
        """The settings that the study gives a candidate's server, by name in lower case."""
        if self.given_database is None:
            return {}
        every = (*self.database.settings.items(), *candidate.settings.items())
        return {name.lower(): value for name, value in every}

    def effective_settings_of(self, candidate: CandidateFacts) -> dict[str, str] | None:
        """The settings in force in a candidate's server; None if they are not known."""
        if self.given_database is None:
            return None
        shared, own = self.database.effective_settings, candidate.effective_settings
        return None if shared is None or own is None else {**shared, **own}


def hash_text(text: str) -> str:
    """Hexadecimal SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()
