"""The interface of a workload: sizes, transaction types, limits, and how the hammer is asked.

A workload is one module in `workloads/` with `NAME`, `Spec` (a pydantic model of the study's
`workload` section) and `WORKLOAD`, an instance of `Workload`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from stithy.metrics import TPM, Metric, Quantity

HEADLINE_PER_MIN = "headline_per_min"
"""The column of windows with the committed headline transactions per minute."""


@dataclass(frozen=True)
class TransactionType:
    """One transaction type, its share of the mix (0 to 1) and its times, seconds.

    `keying_s` and the mean of the think time are waited with keyed pace, in which `deferred` types
    are done behind the user's back.
    """

    name: str
    share: float
    keying_s: float
    think_mean_s: float
    deferred: bool = False

    @property
    def pause_s(self) -> float:
        """What a keyed user waits in all, on average."""
        return self.keying_s + self.think_mean_s


@dataclass(frozen=True)
class Workload:
    """What planning and reporting must know of a workload; the hammer knows the rest.

    `bytes_fixed` and `bytes_per_warehouse` estimate the loaded database on disk, indexes included.
    `bytes_per_transaction` estimates its growth, write-ahead log apart; of that a transaction
    writes at most about `log_bytes_per_transaction`. `headline`: the transaction type that stands
    for the work done; `metric` is what its commits per minute are called.
    """

    name: str
    title: str
    transactions: tuple[TransactionType, ...]
    headline: str
    bytes_fixed: int
    bytes_per_warehouse: int
    bytes_per_transaction: int
    log_bytes_per_transaction: int
    load_s_per_warehouse: float
    provenance: str
    deviations: str
    throughput_per_warehouse_max: float | None = None
    metric: Metric | None = None

    @property
    def throughput(self) -> Quantity:
        """What its users get done; all transactions per minute where it has no metric for it."""
        return Quantity(self.metric.name) if self.metric else TPM

    @property
    def shares(self) -> Mapping[str, float]:
        """The share of each transaction type (0 to 1) in the mix of every profile."""
        return {each.name: each.share for each in self.transactions}
