"""The one table of what can be asked."""

import pytest

from stithy.metrics import (
    OWN,
    PERCENTILES,
    Quantity,
    UnknownQuantity,
    check,
    find,
    names,
    parse_quantity,
)
from stithy.results.tables import TRANSACTIONS, WINDOW


def test_every_own_metric_names_what_results_have() -> None:
    """A column that is renamed would leave questions without values."""
    columns = {each.name for table in (WINDOW, TRANSACTIONS) for each in table.columns}
    for metric in OWN.values():
        if metric.source in ("window", "transactions"):
            assert metric.column in columns, metric.name


def test_every_metric_of_every_collector_is_known_by_its_name() -> None:
    """With a noun for sentences and a unit for values."""
    assert len(set(names())) == len(names())
    collected = [find(name) for name in names() if name not in OWN]
    assert {each.collector for each in collected if each} >= {"block", "cpu", "drive", "sampler"}
    for each in collected:
        assert each is not None
        assert each.noun
        assert "_" not in each.noun
        assert each.subjects or each.of_several is not None, each.name


def test_a_weight_is_a_metric_of_the_same_collector() -> None:
    """Else a mean would have no weights, and no value."""
    for metric in (find(name) for name in names()):
        if metric is not None and metric.weight is not None:
            assert find(f"{metric.collector}.{metric.weight}") is not None, metric.name


@pytest.mark.parametrize(
    ("text", "noun", "label"),
    [
        ("nopm", "new orders per minute", "NOPM"),
        ("p95", "95th percentile of response time", "p95"),
        ("p99 of payment", "99th percentile of response time of payment", "p99 of payment"),
        (
            "block.reads_per_s of sda", "reads per second of the block devices (sda)",
            "block.reads_per_s of sda",
        ),
        (
            "pressure.some_share of io", "share of time in which a task waited (io)",
            "pressure.some_share of io",
        ),
        (
            "drive.read_p99.9", "99.9th percentile of the emulated drive's read time",
            "drive.read_p99.9",
        ),
    ],
)  # fmt: skip
def test_a_quantity_has_a_noun_and_a_label(text: str, noun: str, label: str) -> None:
    """One for sentences, one above columns; printed it is as a study has it."""
    quantity = parse_quantity(text)
    assert (quantity.noun, quantity.label, str(quantity)) == (noun, label, text)


def test_what_is_good_of_a_metric_is_known_or_said_to_be_open() -> None:
    """Whether a busy device is good nobody can say."""
    better = {name: Quantity(name).known.better for name in ("nopm", "p99", "block.read_latency_s")}
    assert better == {"nopm": "higher", "p99": "lower", "block.read_latency_s": "lower"}
    assert Quantity("block.utilisation_share").known.better is None


def test_without_a_workload_any_transaction_type_may_be_meant() -> None:
    """A report reads a question that was checked when its study was read."""
    assert check(Quantity("p99", "payment")) is None
    assert check(Quantity("p99", "payment"), ["new-order"]) is not None


def test_an_unknown_name_is_an_error_wherever_it_is_used() -> None:
    """With what would be right."""
    with pytest.raises(UnknownQuantity, match="did you mean `nopm`"):
        parse_quantity("nopn")
    with pytest.raises(UnknownQuantity, match="unknown metric `disk.block`"):
        _ = Quantity("disk.block").known


def test_percentiles_are_those_that_results_keep() -> None:
    """Each is a share of the values."""
    assert [percent for percent, _ in PERCENTILES.values()] == [50, 90, 95, 99, 99.9]
