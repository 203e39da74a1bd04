"""Durability: the power is cut under the users' load, again and again, and nothing may be missing.

A cut is a window: users work on a fresh copy of the loaded database, at a moment drawn from the
seed all drives of the candidate lose their power, and what comes back is compared with the ledger.
As each cut begins anew, cuts are independent of each other, and a lost database spoils no later
one. A block has a cut of each candidate. Controls, an engine that does not wait for storage and
drives whose flush does nothing, have fewer; they must lose something.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import ClassVar, Literal

from pydantic import BaseModel, Field

from stithy.activities.hammer.declared import USERS
from stithy.drives.filesystems import KINDS
from stithy.engines.engine import get_engine
from stithy.errors import UserError
from stithy.plan.scenario import Scene
from stithy.plan.steps import Block, Step, WindowPlan, derive_seed
from stithy.point import Point, Value
from stithy.scenarios.durability.declared import (
    ACTIVITY,
    CONTROL,
    GIVEN_UP,
    LYING,
    NAME,
    NONE,
    RECOVERY,
)
from stithy.scenarios.load.plan import LoadScenario
from stithy.storage.providers.ceph.keys import CephSpec
from stithy.storage.providers.drive import DriveKeys
from stithy.study.load_keys import Load
from stithy.study.model import Study
from stithy.study.problems import Violation
from stithy.study.scenario import ScenarioKeys

EARLIEST_SHARE = 0.25
"""Own: of the measurement, before which no power is cut, so that there is something to be lost."""

RECOVERY_S, CLUSTER_S = (1.0, 60.0), (15.0, 600.0)
"""Of a cut besides its load, likely and at most: power, file system, server, and all checks; and
what a cluster takes more, with the deep scrub."""
CUTS, CONTROLS, CUTS_MOST = 20, 2, 10_000


class DurabilitySpec(ScenarioKeys):
    """How often the power is cut."""

    FIXED: ClassVar = frozenset({"cuts", "controls", "seed"})
    LOAD: ClassVar = MappingProxyType({"ledger": True, "calibrate": False})

    cuts: int = Field(
        default=CUTS,
        ge=1,
        le=CUTS_MOST,
        description=(
            "Power cuts of each candidate, each on a fresh copy of the loaded database. Where none "
            "loses anything, the report says the greatest chance of a loss by a cut that this "
            "leaves: 14% after 20 cuts, 3% after 100, 1% after 300."
        ),
        examples=[100],
    )
    controls: int = Field(
        default=CONTROLS,
        ge=1,
        le=CUTS_MOST,
        description=(
            "Cuts of each control, which must lose something: a setting of the engine by which it "
            "does not wait for storage (`given-up`), and drives whose flush does nothing "
            "(`flush-lies`). Without a loss there the test proves nothing."
        ),
        examples=[3],
    )
    hosts: Literal["all", "one"] = Field(
        default="all",
        description=(
            "Which hosts of a cluster lose their power: all at once, with the database; or the one "
            "that the database is on, which the seed draws. Then the database is started elsewhere "
            "while that host is off, and its power comes back after the first commit."
        ),
    )
    seed: int | None = Field(
        default=None,
        ge=0,
        le=2**63 - 1,
        json_schema_extra={"default": "the study's"},
        description=(
            "Of what decides when the power is cut, and what becomes of each write that no flush "
            "had followed."
        ),
        examples=[7],
    )

    def count_blocks(self) -> int | None:
        """Give the number of cuts: each is a block with a window of every candidate."""
        return self.cuts

    def find_conflicts(self, load: Load) -> Iterator[Violation]:
        """Find what cuts leave no room for, and a missing ledger."""
        if load.repeat is not None:
            right = "leave it out: `scenario.durability.cuts` says it"
            yield Violation("blocks beside cuts", right, load.repeat, ("repeat",))
        if load.find is not None:
            yield Violation("a search under power cuts", "give `users`", load.find.text, ("find",))
        if load.is_idle:
            yield Violation("nobody whose work could be lost", "give `users`", None, ("users",))
        if not load.ledger:
            yield Violation("cuts without a ledger show no loss",
                            "leave it out, and have the run's directory on other storage",
                            None, ("ledger",))  # fmt: skip
        if self.controls > self.cuts:
            yield Violation("more cuts of a control than of a candidate",
                            f"at most {self.cuts}", self.controls, ("controls",))  # fmt: skip


def find_spec(study: Study) -> DurabilitySpec:
    """The keys of a study."""
    spec = study.scenario.spec
    return spec if isinstance(spec, DurabilitySpec) else DurabilitySpec()


def derive_cut_seed(study: Study, window: WindowPlan) -> int:
    """Derive the seed of a window's cut, the same for all candidates of its block."""
    seed = find_spec(study).seed
    return derive_seed(study.seed if seed is None else seed, "cut", window.block, window.attempt)


def choose_cut_s(study: Study, window: WindowPlan) -> float:
    """Choose by the seed how long after the users' start the power is cut, seconds.

    It is the same whatever Python's version, and as likely at any moment.
    """
    share = EARLIEST_SHARE + (1 - EARLIEST_SHARE) * derive_cut_seed(study, window) / 2**63
    return window.ramp_up_s + share * window.duration_s


def choose_host(study: Study, window: WindowPlan) -> int | None:
    """Choose by the seed the only host whose power is cut, counted from 1; None: all there are.

    Of drives that lie nothing would be lost while others keep their power.
    """
    if find_spec(study).hosts == "all" or window.point.values[CONTROL] == LYING:
        return None
    specs = (source.spec for source in study.candidates[window.candidate].sources.values())
    least = min(spec.ceph.hosts for spec in specs if isinstance(spec, CephSpec))
    return 1 + derive_cut_seed(study, window) % least


class DurabilityScenario(LoadScenario):
    """The power is cut under load, and all that was acknowledged must be there afterwards."""

    name = NAME
    keys = DurabilitySpec
    is_by_url = False
    has_fixed_blocks = True
    needs_drives = True
    checks_at_end = False
    metric = RECOVERY

    def list_factors(self, spec: BaseModel | None, load: Load) -> Mapping[str, Sequence[Value]]:
        """The levels of the load, and the controls."""
        return {USERS.name: load.levels, CONTROL: (NONE, GIVEN_UP, LYING)}

    def find_refusals(self, study: Study) -> Iterator[UserError]:
        """Find each candidate whose power cannot be cut."""
        modes = dict.fromkeys(find_spec(study.at(point)).hosts for point in study.points)
        for candidate in study.candidates:
            if because := next(filter(None, (explain_uncut(study, candidate, mode)
                                             for mode in modes)), None):  # fmt: skip
                yield UserError(
                    f"the power of {candidate} cannot be cut: {because}",
                    where=f"candidates.{candidate}",
                    remedy="use emulated drives (`drive`), alone or with the layer btrfs, or a "
                    "laboratory cluster (`ceph`)",
                )

    def list_activities(self, point: Point) -> tuple[str, ...]:
        """The cut alone, which has the users in it."""
        return (ACTIVITY,)

    def plan_steps(self, study: Study, scene: Scene) -> Iterator[Step]:
        """As for a load, without its last check."""
        yield from (step for step in super().plan_steps(study, scene) if not step.at_end)

    def plan_windows(
        self, study: Study, block: Block, *, tried: bool = False
    ) -> Iterator[WindowPlan]:
        """A cut of each candidate; controls have fewer, and an engine without one has none."""
        control = block.point.values[CONTROL]
        if control != NONE and block.index >= find_spec(study).controls:
            return
        engine = get_engine(study.at(block.point).database.engine)
        if control == GIVEN_UP and not engine.unsafe_settings:
            return
        yield from super().plan_windows(study, block, tried=tried)

    def plan_around(self, study: Study, scene: Scene, window: WindowPlan) -> Iterator[Step]:
        """As around each window of a load; a cut takes longer than its load."""
        for step in super().plan_around(study, scene, window):
            kinds = {
                source.provider for source in study.candidates[window.candidate].sources.values()
            }
            cost = step.cost
            if step.kind == "window":
                cost = cost.add_time(*RECOVERY_S)
                cost = cost.add_time(*CLUSTER_S) if "ceph" in kinds else cost
            yield replace(step, cost=cost, if_undecided=False)


def explain_uncut(study: Study, candidate: str, hosts: str) -> str | None:
    """Say why the power of all hosts of a candidate, or `one`, cannot be cut; None: it can."""
    for role, source in study.candidates[candidate].sources.items():
        spec = source.spec
        if isinstance(spec, CephSpec) and spec.ceph.conf is None:
            if hosts == "one" and spec.ceph.policy.policy.failures == 0:
                return f"`hosts: one` takes a host that {spec.ceph.policy.policy} cannot do without"
            continue
        if hosts == "one":
            return f"`hosts: one` is of clusters, and its {role} would go with its only machine"
        if not isinstance(spec, DriveKeys):
            return f"its {role} is on storage that is not emulated, and has no power to be cut"
        if spec.layer is not None and spec.layer.filesystem not in KINDS:
            array = f"its {role} is on an array of {spec.layer.name}"
            return f"{array}, which Stithy cannot assemble again"
    return None


PLUGINS = (DurabilityScenario(),)
