"""The section of oltp: what each mix and distribution uses, and what it refuses."""

from typing import Any

import pytest

from stithy.workloads.oltp import OLTP, OltpKeys
from stithy.workloads.workload import Driving, Misfit


def keys(**more: Any) -> OltpKeys:
    """A section of ten tables with 1,000 rows each."""
    return OltpKeys.model_validate({"name": "oltp", "tables": 10, "rows": 1_000, **more})


def misfits(driving: Driving, **more: Any) -> list[Misfit]:
    """What a section and the load say against each other."""
    return list(OLTP.find_misfits(keys(**more), driving))


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ({"mix": "point_select", "point_selects": 3}, "point_selects"),
        ({"mix": "write_only", "range_size": 10}, "range_size"),
        ({"mix": "insert", "skip_trx": True}, "skip_trx"),
        ({"distribution": "uniform", "pareto_h": 0.1}, "pareto_h"),
        ({"distribution": "gaussian", "special_share": "50%"}, "special_share"),
        (
            {"mix": "write_only", "index_updates": 0, "non_index_updates": 0, "delete_inserts": 0},
            "mix",
        ),
    ],
)
def test_what_is_not_used_is_refused(more: dict[str, Any], key: str) -> None:
    """By its key, once."""
    (misfit,) = misfits(Driving(), **more)
    assert misfit.loc == ("workload", key)


@pytest.mark.parametrize(
    "more", [{"mix": "read_only"}, {"mix": "point_select"}, {"mix": "read_write", "skip_trx": True}]
)
def test_a_ledger_needs_writing_transactions(more: dict[str, Any]) -> None:
    """What leaves no mark cannot be kept; what does can."""
    (misfit,) = misfits(Driving(keeps_ledger=True), **more)
    assert misfit.loc == ("load", "ledger")
    assert misfits(Driving(keeps_ledger=True), mix="update_index") == []


def test_a_share_of_the_rows_is_touched() -> None:
    """Of each table alike, rounded up; all of them without a bound."""
    reached = [keys().choice(Driving(touch_percent=share)).rows_touched for share in (100, 33, 1)]
    assert reached == [None, 330, 10]


def test_words_name_what_differs() -> None:
    """The mix and the distribution always; the rest where it is not sysbench's default."""
    other = keys(
        distribution="special", point_selects=1, secondary_index=False, skip_trx=True
    ).options(Driving())
    assert list(OLTP.in_words(keys().options(Driving()))) == ["mix read_write", "uniform rows"]
    assert list(OLTP.in_words(other)) == [
        "mix read_write",
        "1 point selects",
        "special rows (mean of 12 draws, 1% of the rows in the middle, 75% of the draws)",
        "no secondary index",
        "each statement its own transaction",
    ]


@pytest.mark.parametrize(
    ("tables", "rows", "mib"), [(100, 20_000, 1264), (6, 60_000, 126), (20, 4_000, 180)]
)
def test_tables_have_room_on_disk(tables: int, rows: int, mib: int) -> None:
    """At least what was measured with InnoDB, which adds whole extents to each; not much more."""
    room = OLTP.data_bytes({"tables": tables, "rows": rows})
    assert mib * 2**20 <= room < 3 * mib * 2**20 + OLTP.bytes_fixed
