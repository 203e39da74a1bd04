"""Virtual users at work, by the hammer."""

from stithy.metrics import Metric

NAME = "hammer"
TABLES = (
    "load", "transactions", "seconds", "conditions", "restores", "ledger", "ledger_findings",
)  # fmt: skip
METRICS: tuple[Metric, ...] = ()
"""Those of `stithy.metrics.OWN`, which are found without loading an activity."""
