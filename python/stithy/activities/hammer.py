"""Virtual users at work, by the hammer: what it counts a minute, and response times.

The throughput in a workload's own terms is declared by the workload.
"""

from collections.abc import Iterator

from stithy.metrics import PERCENTILES, Metric

NAME = "hammer"
TABLES = (
    "load", "transactions", "seconds", "conditions", "restores", "ledger", "ledger_findings",
)  # fmt: skip


def _metrics() -> Iterator[Metric]:
    yield Metric("tpm", "1/min", "higher", "window", "tpm", "transactions per minute", "TPM")
    for name, (percent, text) in PERCENTILES.items():
        column, noun = f"response_{name.replace('.', '')}_s", f"{text} of response time"
        yield Metric(name, "s", "lower", "transactions", column, noun, name, percent)


METRICS = tuple(_metrics())
"""Each has a column of its own, in the table `load` or `transactions`."""
