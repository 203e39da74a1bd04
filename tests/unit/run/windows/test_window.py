"""What is told of a window while it goes on."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from stithy.run.windows.window import _second
from stithy.wire.messages import Phase, Second, TransactionSecond


@pytest.mark.parametrize(("orders", "p95_s"), [(1_999, None), (2_000, 0.012), (None, None)])
def test_a_second_tells_no_percentile_that_too_few_orders_bear(
    orders: int | None, p95_s: float | None
) -> None:
    """As everywhere: 100 values lie beyond what is told."""
    each = TransactionSecond(
        name="new-order", committed=orders or 0, rolled_back=0, errors=0, retries=0,
        response_p50_s=0.004, response_p95_s=0.012, response_p99_s=0.02,
    )  # fmt: skip
    of = () if orders is None else (each,)
    second = Second(second=3, at_s=1.0, phase=Phase.MEASURE, transactions=of)
    context: Any = SimpleNamespace(workload=SimpleNamespace(headline="new-order"))
    assert _second(context, cast("Any", None), second).p95_s == p95_s
