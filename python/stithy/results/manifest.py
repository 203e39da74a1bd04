"""What was run, on what, with which versions and seed: the facts behind a run's numbers.

A manifest is written when the run begins and again, with more facts, as they become known; its
last form says how the run ended. A fact that could not be read is a `Fact` with value None and a
reason.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from stithy.results.bounds import (
    Asked,
    AtLeastOne,
    Count,
    Level,
    Moment,
    Percent,
    Percentile,
    Positive,
    PositiveSpan,
    Rate,
    Seed,
    Share,
    Span,
    beyond,
    known_metric,
)
from stithy.thresholds import Measured, Threshold

SCHEMA_VERSION = 2
"""Version of `manifest.json` and of the tables, told in each of them.

1: the first form, to which tables, columns and keys were added without a new number.
2: all of these; each file tells its version and its own SHA-256 (`seal`).
Older ones are read through `migrate`; newer ones are refused.
"""

Scalar = str | int | float | bool | None


class _Facts(BaseModel):
    """Facts are frozen; a key that is not known is an error, and so is what no number is."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Fact(_Facts):
    """One fact about the machine; `missing_because` is set when `value` is None."""

    value: Scalar | tuple[Scalar, ...] | dict[str, Scalar]
    missing_because: str | None = None


def _possible(environment: dict[str, Fact]) -> dict[str, Fact]:
    wrong = beyond({name: fact.value for name, fact in environment.items()})
    if wrong is not None:
        raise ValueError(wrong)
    return environment


Fingerprint = Annotated[dict[str, Fact], AfterValidator(_possible)]

Environment = Mapping[str, Fact]
"""The environment fingerprint by name of the fact; see hosts/facts.py."""


class DriveFacts(_Facts):
    """An emulated drive of a candidate, and the file system on it.

    `profile` is the drive profile's text, `assumed` names its keys that nobody measured or
    published; its rates and capacity were divided by `scale`. `transport` is how requests reached
    it, `transport_s` the time of that, by which answers were made earlier.
    """

    role: str
    device: str
    profile_name: str
    title: str
    profile: str
    assumed: tuple[str, ...]
    scale: Positive
    size_bytes: AtLeastOne
    sector_bytes: AtLeastOne
    filesystem: str
    mount_options: str
    backing: str
    seed: Seed
    transport: str
    transport_s: Span
    spin_s: Span


class CostFacts(_Facts):
    """What a candidate costs, as the study says it."""

    amount: Positive
    currency: str


class CandidateFacts(_Facts):
    """One candidate and its volume, as it was; `drives` are the emulated ones under it."""

    name: str
    provider: str
    path: str
    cost: CostFacts | None = None
    filesystem: str | None = None
    mount_point: str | None = None
    mount_options: str | None = None
    devices: tuple[str, ...] = ()
    memory_backed: bool | None = None
    master: bool = False
    drives: tuple[DriveFacts, ...] = ()
    environment: Fingerprint = Field(default_factory=dict)


class DatabaseFacts(_Facts):
    """The database product; `settings` as the study asks, `effective_settings` as in force.

    Settings that name a place or hold a secret are not in it. `cpus` are the numbers of the CPUs to
    which the server was bound, None where it could use any.
    """

    engine: str
    settings: dict[str, Scalar]
    server_version: str | None = None
    effective_settings: dict[str, str] | None = None
    missing_because: str | None = None
    cpus: tuple[Count, ...] | None = None


class MemoryFacts(_Facts):
    """The memory limit: what was asked, and whether the machine enforced it."""

    limit_bytes: AtLeastOne
    enforced: bool | None
    note: str | None = None


class WorkloadFacts(_Facts):
    """The workload and its size."""

    name: str
    warehouses: AtLeastOne
    data_compressible_percent: Percent | None = None
    data_duplicate_percent: Percent = 0


class LoadFacts(_Facts):
    """How the database was driven; `pace` is `none`, `keyed`, `think` or `rate`.

    `connections` None is one for each user, `users_per_warehouse` None binds nobody. `delivery` is
    `awaited` or `deferred`; None, of an older run, is deferred with keyed pace.
    """

    users: tuple[Level, ...]
    pace: str
    think_s: Span | None = None
    rate_per_s: Positive | None = None
    arrivals: str | None = None
    connections: Level | None = None
    delivery: str | None = None
    users_per_warehouse: Level | None = None
    touch_percent: Percent = 100
    profile: str = "specification"
    ramp_up_s: Span
    duration_s: PositiveSpan
    repeat: AtLeastOne | None
    checkpoint: bool
    procedures: bool
    isolation: str
    error_limit: Count
    ledger: bool = False

    @property
    def deferred_delivery(self) -> bool:
        """Whether users left deliveries to be done behind their backs."""
        return self.delivery == "deferred" or (self.delivery is None and self.pace == "keyed")


class CalibrationFacts(_Facts):
    """What the driver was shown to keep up with, before the first window.

    Each number is None where it was never on time, or was not tried; `missing_because` says why
    there is no rate. `think_s` is the mean pause of the users tried; with `users_limit_reached`
    more of them were not tried. `others_share`: of all CPUs, what other programs used meanwhile.
    """

    connections: Count | None = None
    rate_per_s_max: Rate | None = None
    think_s: Span | None = None
    users_max: Count | None = None
    users_limit_reached: bool | None = None
    others_share: Share | None = None
    missing_because: str | None = None


class QuestionFacts(_Facts):
    """The primary question: which of two candidates is better at a level, by a metric.

    `metric` is named as in a study. `candidates` None are the slowest and the fastest. At least
    `blocks_least` and at most `blocks_most` blocks were to be measured; `derived` names what the
    study did not declare.
    """

    users: Level
    metric: Asked
    margin_share: Share
    candidates: tuple[str, str] | None = None
    blocks_least: AtLeastOne
    blocks_most: AtLeastOne
    derived: tuple[str, ...] = ()


class LimitFacts(_Facts):
    """A limit of response time: of a percentile of a transaction type (or of `all`)."""

    percentile: Percentile
    transaction: str
    limit_s: PositiveSpan


class SearchFacts(LimitFacts):
    """A search for the most users within a limit: a percentile of a transaction type's responses.

    From `users_least` to `users_most`; it began with the levels `listed`. `alone`: there were no
    other levels, and which candidate serves more was the question.
    """

    users_least: Level
    users_most: Level
    listed: tuple[Level, ...] = ()
    alone: bool = False


class PlanFacts(_Facts):
    """The plan in short: ids of the windows in the order of the plan.

    `skipped` are those of them that were not needed, because the primary question was decided;
    `further` windows that were not planned, and that what was measured needed.
    `question` is None where a single candidate was measured, or no level was given. `null`: the
    candidates were alike in all. `limit` is that of the response times, searched for or
    not; the first runs told it with a search alone.
    """

    windows: tuple[str, ...]
    skipped: tuple[str, ...] = ()
    further: tuple[str, ...] = ()
    question: QuestionFacts | None = None
    search: SearchFacts | None = None
    limit: LimitFacts | None = None
    null: bool = False
    master_candidate: str


def _judgeable(thresholds: tuple[Threshold, ...]) -> tuple[Threshold, ...]:
    for each in thresholds:
        for side in (each.left, each.right):
            if isinstance(side, Measured):
                known_metric(side.metric)
    return thresholds


Thresholds = Annotated[tuple[Threshold, ...], AfterValidator(_judgeable)]

End = Literal["running", "finished", "interrupted", "failed"]


class SessionFacts(_Facts):
    """One process's time with the run: `stithy run` is the first, each `stithy resume` another.

    `boot_id` is the kernel's, so that a reboot in between is known. `end` is `killed` where nothing
    tells of an end; `ended_at_s` is then what its journal told last. `changed` names what of the
    machine or the study was not as before, and was gone on with all the same (`--force`).
    `master_kept`: it used the master copy of an earlier session, which was proven to be as it was.
    """

    started_at_s: Moment
    ended_at_s: Moment | None = None
    boot_id: str
    changed: tuple[str, ...] = ()
    master_kept: bool = False
    end: End | Literal["killed"] = "running"
    end_because: str | None = None


class Manifest(_Facts):
    """`manifest.json`."""

    schema_version: Annotated[int, Field(ge=1)] = SCHEMA_VERSION
    stithy_version: str
    hammer_version: str | None = None
    question: str
    study_file: str
    study_sha256: str
    seed: Seed
    comparability_key: str
    comparability: dict[str, Scalar | tuple[Scalar, ...] | dict[str, Scalar]]
    workload: WorkloadFacts
    load: LoadFacts
    plan: PlanFacts
    thresholds: Thresholds = ()
    candidates: tuple[CandidateFacts, ...]
    database: DatabaseFacts
    memory: MemoryFacts
    calibration: CalibrationFacts | None = None
    environment: Fingerprint = Field(default_factory=dict)
    sessions: tuple[SessionFacts, ...] = ()
    started_at_s: Moment
    ended_at_s: Moment | None = None
    end: End = "running"
    end_because: str | None = None


def sha256_of(text: str) -> str:
    """Hexadecimal SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def comparability(
    workload: WorkloadFacts,
    load: LoadFacts,
    database: DatabaseFacts,
    memory: MemoryFacts,
    stithy_version: str,
) -> dict[str, Scalar | tuple[Scalar, ...] | dict[str, Scalar]]:
    """What must be equal for the numbers of two runs to be comparable, storage apart.

    Source: docs/explanation/method.md.
    """
    return {
        "workload": workload.name,
        "warehouses": workload.warehouses,
        "data_compressible_percent": workload.data_compressible_percent,
        "data_duplicate_percent": workload.data_duplicate_percent,
        "pace": load.pace,
        "think_s": load.think_s,
        "rate_per_s": load.rate_per_s,
        "arrivals": load.arrivals,
        "connections": load.connections,
        "delivery": "deferred" if load.deferred_delivery else "awaited",
        "users_per_warehouse": load.users_per_warehouse,
        "touch_percent": load.touch_percent,
        "profile": load.profile,
        "procedures": load.procedures,
        "isolation": load.isolation,
        "ledger": load.ledger,
        "ramp_up_s": load.ramp_up_s,
        "duration_s": load.duration_s,
        "checkpoint": load.checkpoint,
        "engine": database.engine,
        "server_version": database.server_version,
        "settings": database.settings,
        "cpus": None if database.cpus is None else len(database.cpus),
        "memory_limit_bytes": memory.limit_bytes,
        "memory_limit_enforced": memory.enforced,
        "driver": _driver_generation(stithy_version),
    }


def _driver_generation(version: str) -> str:
    """`2` of 2.3.1; before 1.0 any second number may change what is measured: `0.4` of 0.4.1."""
    major, minor = version.split(".")[:2]
    return major if major != "0" else f"0.{minor}"


def comparability_key(parts: Mapping[str, object]) -> str:
    """Sixteen hexadecimal digits that differ where `parts` differ."""
    return sha256_of(json.dumps(parts, sort_keys=True, default=str))[:16]
