"""All that was recorded of one window, as its checks ask for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stithy.activity import every_table
from stithy.analysis.steady.steadiness import Steadiness
from stithy.analysis.validity.baseline import Baseline
from stithy.analysis.validity.surroundings import Watched
from stithy.analysis.validity.work import Identity
from stithy.engines.declaration import UNKNOWN, Declaration
from stithy.validity import Row


@dataclass(frozen=True)
class WindowRecord:
    """What there is of a window; each part is empty or None where there is nothing.

    `window`, `conditions`, `restore`, `ledger`, `ledger_findings`, `drives` are its rows of the
    tables of those names, `around` that of `surroundings`; `watched` is what the collectors gave;
    `values`
    its rows of the table of that name, by metric and of what;
    `transactions` are its rows of that table by type; `floors`: as `delay.machine_floors` has them;
    `laws` are the invariants that were checked; `steady` is None where nobody looked; `baseline` is
    the baseline check before the window's block; `measured_again`: whether the block was measured
    once more; `damaged` are its files that cannot be read; `engine` is what the server's engine
    declares; `tables` are those that the run has.
    """

    window: Row
    conditions: Sequence[Row] = ()
    restore: Row | None = None
    watched: Watched = Watched()
    values: Mapping[tuple[str, str], Row] = field(default_factory=dict)
    ledger: Sequence[Row] = ()
    ledger_findings: Sequence[Row] = ()
    drives: Sequence[Row] = ()
    floors: Mapping[str, float] = field(default_factory=dict)
    transactions: Mapping[str, Row] = field(default_factory=dict)
    laws: Sequence[Identity] = ()
    steady: Steadiness | None = None
    baseline: Baseline | None = None
    around: Row | None = None
    measured_again: bool = False
    damaged: Sequence[str] = ()
    engine: Declaration = UNKNOWN
    tables: frozenset[str] = field(
        default_factory=lambda: frozenset(each.name for each in every_table())
    )
