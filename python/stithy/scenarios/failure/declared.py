"""Faults under the users: how long nothing was committed, and what each phase of a window gave."""

from collections.abc import Iterator

from stithy.activity import DeclaredActivity
from stithy.metrics import (
    PERCENTILES,
    Better,
    Metric,
    Unit,
    make_paired_metrics,
    make_pause_metrics,
)
from stithy.registry import plugins
from stithy.scenarios.failure.fault import NONE, FaultKind

ACTIVITY = "fault"

PHASES = ("baseline", "pause", "degraded", "rebuilding", "after")
"""Of a window: until the fault; its longest time without a commit, if the fault began it; the rest
until it is healed; until redundancy is restored; until the end."""

UNCHECKED = "the engine did not check its files: the fault cannot change them, or it has no check"
"""Why there is no damage to be told where nobody wanted to know."""

NOT_REACHED = "it did not come to it"
"""Why something is missing in a window that ended early."""

PERCENTILES_OF_PHASES = ("p50", "p95", "p99")


def _list_metrics() -> Iterator[Metric]:
    yield from make_pause_metrics(ACTIVITY)
    yield from make_paired_metrics(ACTIVITY, "with the fault", PERCENTILES_OF_PHASES, PHASES)
    yield Metric(
        "fault.lost_work", "", "lower", "values", "",
        "transactions that users got less done than without the fault", "Lost work",
        combined="paired", negligible=1.0,
    )  # fmt: skip
    yield Metric(
        "fault.promised", "", None, "values", "",
        "whether the policy promises to keep what was acknowledged: 1 if so, else 0", "Promised",
        compared=False,
    )  # fmt: skip
    yield Metric(
        "fault.damaged", "", "lower", "values", "",
        "whether the engine's own check found damage: 1 if so, else 0", "Damaged", compared=False,
    )  # fmt: skip
    yield _make_value("fault.recovery_s", "s", "lower",
                      "time from the repair until throughput is back", "Recovery")  # fmt: skip
    yield _make_value("fault.detect_s", "s", "lower",
                      "time from the fault until the storage knew of it", "Detection")  # fmt: skip
    yield _make_value("fault.heal_s", "s", "lower", "time that the repair took", "Repair")
    yield _make_value("fault.rebuild_s", "s", "lower",
                      "time in which redundancy was restored", "Rebuild")  # fmt: skip
    yield _make_value("fault.phase_s", "s", None, "length of a phase", "Length", PHASES)
    yield _make_value("fault.tpm", "1/min", "higher", "transactions per minute of a phase", "TPM",
                      PHASES)  # fmt: skip
    for name in PERCENTILES_OF_PHASES:
        percent, noun = PERCENTILES[name]
        yield Metric(
            f"fault.{name}_s", "s", "lower", "values", "", f"{noun} of response time in a phase",
            name, percent, subjects=PHASES, of_several=None,
        )  # fmt: skip


def _make_value(
    name: str,
    unit: Unit,
    better: Better | None,
    noun: str,
    label: str,
    subjects: tuple[str, ...] = (),
) -> Metric:
    return Metric(
        name, unit, better, "values", "", noun, label, subjects=subjects, compared=False,
        of_several=None if subjects else "largest",
    )  # fmt: skip


def name_activity(fault: str) -> str:
    """What a fault is called among the activities of a window."""
    return f"{ACTIVITY}-{fault}"


PLUGINS = (
    DeclaredActivity(ACTIVITY, tuple(_list_metrics())),
    DeclaredActivity(name_activity(NONE), by_agents="yes"),
    *(
        DeclaredActivity(
            name_activity(fault.name),
            expects=fault.expects,
            explains=fault.explains,
            by_agents="yes",
        )
        for fault in plugins(FaultKind).values()
    ),
)
"""What the faults do is measured by one set of metrics."""
