"""The interface of a workload: sizes, transaction types, limits, and how the hammer is asked.

A workload is one module in `workloads/` with `NAME`, `Spec` (a pydantic model of the study's
`workload` section) and `WORKLOAD`, an instance of `Workload`.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class TransactionType:
    """One transaction type, its share of the mix (0 to 1) and its response-time limit.

    `limit_p90_s` is the specification's 90th-percentile limit, seconds.
    """

    name: str
    share: float
    limit_p90_s: float


@dataclass(frozen=True)
class Workload:
    """What planning and reporting must know of a workload; the hammer knows the rest.

    `bytes_fixed` and `bytes_per_warehouse` estimate the loaded database on disk, indexes included.
    `bytes_per_transaction` estimates its growth, write-ahead log apart.
    """

    name: str
    title: str
    transactions: tuple[TransactionType, ...]
    headline: str
    bytes_fixed: int
    bytes_per_warehouse: int
    bytes_per_transaction: int
    load_s_per_warehouse: float
    provenance: str
