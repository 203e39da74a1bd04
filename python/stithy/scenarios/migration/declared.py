"""Migrations under the users: how long they take, and what each phase of a window gave."""

from collections.abc import Iterator

from stithy.activity import DeclaredActivity
from stithy.metrics import Better, Metric, Unit, make_pause_metrics
from stithy.registry import plugins
from stithy.scenarios.migration.way import NONE, WayKind

ACTIVITY = "migration"

BEFORE, MOVING, SWITCHING, AFTER = PHASES = ("before", "moving", "switch", "after")
"""Of a window: until the migration begins, while both answer or one does, while none does, and
until the end. A way may lack the second or the third; in that of a block mirror requests wait."""

TIMES = ("migration.duration_s", "migration.switch_s", "migration.recovery_s")
MOVED = "migration.moved_bytes"

TABLES = COMPARED, DIFFERING = "migration.tables_compared", "migration.tables_differing"
DAMAGED = "migration.blocks_damaged"

NOTHING_MOVES, NOT_BEGUN = "nothing is moved in the window", "the migration did not begin"
"""Why a window has none of these."""


def _list_metrics() -> Iterator[Metric]:
    yield from make_pause_metrics(ACTIVITY)
    yield _make_value(TIMES[0], "s", "lower", "time that the migration took", "Migration")
    yield _make_value(TIMES[1], "s", "lower",
                      "time of the switch, in which no server answered or its storage was "
                      "exchanged", "Switch")  # fmt: skip
    yield _make_value(TIMES[2], "s", "lower",
                      "time from the end of the migration until throughput is back",
                      "Recovery")  # fmt: skip
    yield _make_value(MOVED, "B", "lower", "bytes copied to the target, without later log", "Moved")
    yield _make_value(COMPARED, "", "higher", "tables that were compared with the source by "
                      "checksums, once the users were done", "Tables compared")  # fmt: skip
    yield _make_value(DIFFERING, "", "lower", "tables that differed from the source",
                      "Tables differing")  # fmt: skip
    yield _make_value(DAMAGED, "", "lower", "blocks at the target that were not as at the "
                      "source, by their checksums or themselves", "Blocks damaged")  # fmt: skip
    yield _make_value("migration.tpm", "1/min", "higher", "transactions per minute of a phase",
                      "TPM", PHASES)  # fmt: skip
    noun = "99th percentile of response time of a phase"
    yield _make_value("migration.p99_s", "s", "lower", noun, "p99", PHASES, 99.0)


def _make_value(
    name: str, unit: Unit, better: Better, noun: str, label: str, subjects: tuple[str, ...] = (),
    percent: float | None = None,
) -> Metric:  # fmt: skip
    return Metric(
        name, unit, better, "values", "", noun, label, percent, subjects=subjects, compared=False,
        of_several=None if subjects else "largest",
    )  # fmt: skip


def name_activity(method: str) -> str:
    """What a way is called among the activities of a window."""
    return f"{ACTIVITY}-{method}"


PLUGINS = (
    DeclaredActivity(ACTIVITY, tuple(_list_metrics())),
    DeclaredActivity(name_activity(NONE), by_agents="yes"),
    *(
        DeclaredActivity(
            name_activity(method.name),
            expects=method.expects,
            explains=method.explains,
            by_agents="yes",
        )
        for method in plugins(WayKind).values()
    ),
)
"""What all ways do is measured by one set of metrics."""
