"""Power cuts: how long recovery took, and what was found when it was done."""

from collections.abc import Iterator

from stithy.activities.hammer.declared import USERS
from stithy.activity import DeclaredActivity, Factor
from stithy.metrics import Metric, Unit

NAME = "durability"
CONTROL = "control"
"""The factor."""

NONE, LYING, GIVEN_UP = "off", "flush-lies", "given-up"
"""Its values: the candidate as it is, and what must lose something. The first sorts last, so that
the question is asked of it (`Study.asked_point`)."""

ACTIVITY = "cut"
RECOVERY, LOST, PROMISED = "cut.recovery_s", "cut.lost", "cut.promised"
STORAGE, REBUILD = "cut.storage_s", "cut.rebuild_s"
SPARED, INCONSISTENT = "cut.hosts_spared", "cut.inconsistent"
ACKNOWLEDGED, GONE = "cut.acknowledged", "cut.transactions_lost"


def _list_metrics() -> Iterator[Metric]:
    yield Metric(RECOVERY, "s", "lower", "values", "",
                 "time from the start of the server to the first commit after a power cut",
                 "Recovery")  # fmt: skip
    yield _make_fact(LOST, "whether a power cut lost or damaged anything: 1 if so, else 0", "Lost")
    yield _make_fact(PROMISED, "whether nothing may be lost: 1 if so, else 0", "Promised")
    yield _make_fact(ACKNOWLEDGED, "transactions in the ledger that were acknowledged before a "
                     "power cut", "Acknowledged")  # fmt: skip
    yield _make_fact(GONE, "transactions of the ledger that a power cut lost or changed, or that "
                     "are there although refused", "Transactions lost")  # fmt: skip
    yield _make_fact(STORAGE, "time until a cluster served its image again: from the return of all "
                     "power, or from the cut where other hosts kept theirs", "Storage back",
                     "s")  # fmt: skip
    yield _make_fact(REBUILD, "time from the return of one host until it had what it missed",
                     "Rebuild", "s")  # fmt: skip
    yield _make_fact(SPARED, "hosts of a cluster that kept their power", "Hosts spared")
    yield _make_fact(INCONSISTENT, "objects of a cluster of which a deep scrub found a wrong copy",
                     "Inconsistent")  # fmt: skip
    yield _make_fact("cut.at_s", "time from the users' start to the power cut", "Cut at", "s")
    yield _make_fact("cut.writes_kept", "writes without a flush that the drives kept",
                     "Writes kept")  # fmt: skip
    yield _make_fact("cut.writes_torn", "writes without a flush that were kept in part",
                     "Writes torn")  # fmt: skip
    yield _make_fact("cut.writes_lost", "writes without a flush that were lost", "Writes lost")


def _make_fact(name: str, noun: str, label: str, unit: Unit = "") -> Metric:
    return Metric(name, unit, None, "values", "", noun, label, compared=False)


PLUGINS = (
    DeclaredActivity(
        ACTIVITY,
        tuple(_list_metrics()),
        factors=(USERS, Factor(CONTROL, title="Control")),
        explains=frozenset({"emulated drive too slow", "emulated drive not as described"}),
    ),
)
