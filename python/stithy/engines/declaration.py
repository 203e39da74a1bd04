"""What a database engine says of itself to those who run, judge and draw, without its server.

`Engine.declaration` gives it; `engines.engine.declaration` that of an engine by its name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from stithy.metrics import CollectedMetric
from stithy.validity import Check, Recorded

ErrorClass = Literal["retryable", "full", "storage", "lost", "other"]
"""`retryable`: the transaction may be sent again; `full`: no room on the storage; `storage`: files
cannot be read or written, or are damaged; `lost`: the connection or its server is gone. The hammer
has the same classes."""

WaitGroup = Literal["cpu", "device", "log", "locks", "client", "other"]
"""What a session does or waits for: work on a CPU, data files, the log, other sessions, the
client."""

_GROUPS: Mapping[str, WaitGroup] = {
    "CPU": "cpu", "IO": "device", "Log": "log", "Lock": "locks", "Client": "client",
}  # fmt: skip


def group_wait(event: str) -> WaitGroup:
    """Give the group of a wait event whose type is one of these words, as in `Lock:row`."""
    return _GROUPS.get(event.partition(":")[0], "other")


@dataclass(frozen=True)
class CommitAllowance:
    """By how much the server may count more or fewer commits than the driver.

    The server and each load driver that prepares itself commit `more`, and so many for each
    connection, for each second, and for each run of the server's own maintenance.
    `counts_statements`: it also counts statements that are transactions of their own, without
    COMMIT.
    """

    fewer: int = 5
    more: int = 30
    per_connection: int = 3
    per_s: float = 0.1
    per_maintenance_run: int = 0
    counts_statements: bool = True


@dataclass(frozen=True)
class Declaration:
    """What holds for every server of an engine; the defaults are those of an unknown one.

    `error_class`: of an error by the server's own code and text; a line of its log has no code.
    `error_classes`: those that it can have. `is_embedded`: the database runs in the load driver's
    process, whose limits are then those of the server.
    `isolation`: the only level that it has, whatever is asked; "" for several.
    `commits` None: it counts none. `server`: what runs the database, in sentences.
    `metrics`: those of the collector `database` that only this engine has. `wait_types`: the types
    of its waits in the order in which figures stack them, with what they are, where their names do
    not say it. `wait_group`, `is_log_creation`: of a wait event, what it is about, and whether its
    session creates a log file. `block_bytes`: how much is read into its buffers at once.
    `buffers`, `maintenance`: what it calls its buffer pool and the maintenance that it does by
    itself. `log_note`: what a reader must know about the volume of its log, as a sentence;
    `wait_note`: about what its transactions wait for in the driver.
    `checks`: what its own work means for a window. `find_defect`: why a version of its server
    cannot be measured, and what to use instead; None where nothing is known.
    """

    error_class: Callable[[str | None, str], ErrorClass] = lambda code, text: "other"
    error_classes: frozenset[ErrorClass] = frozenset(get_args(ErrorClass))
    is_embedded: bool = False
    metrics: tuple[CollectedMetric, ...] = ()
    wait_types: Mapping[str, str] = field(default_factory=lambda: {"CPU": ""})
    wait_group: Callable[[str], WaitGroup] = lambda event: "cpu" if event == "CPU" else "other"
    is_log_creation: Callable[[str], bool] = lambda event: False
    commits: CommitAllowance | None = CommitAllowance()
    isolation: str = ""
    block_bytes: int | None = None
    server: str = "server"
    buffers: str = "buffer pool"
    maintenance: str = "maintenance"
    log_note: str = ""
    wait_note: str = ""
    checks: tuple[Check[Recorded], ...] = ()
    find_defect: Callable[[str], str | None] = lambda version: None


UNKNOWN = Declaration()
"""Of an engine that is not here, as results may name one."""


def join_declarations(by_name: Mapping[str, Declaration]) -> Declaration:
    """What is said of several engines together, such as those that a study compares.

    What cannot be said of all is that of the first, or left out.
    """
    every = list(by_name.values())
    if len(every) < 2:
        return every[0] if every else UNKNOWN
    first, sizes = every[0], {engine.block_bytes for engine in every}

    def group(event: str) -> WaitGroup:
        groups = [engine.wait_group(event) for engine in every]
        return next((known for known in groups if known != "other"), "other")

    return replace(
        first,
        wait_types={kind: words for engine in every for kind, words in engine.wait_types.items()},
        wait_group=group,
        is_log_creation=lambda event: any(engine.is_log_creation(event) for engine in every),
        block_bytes=first.block_bytes if len(sizes) == 1 else None,
        server=first.server if len({engine.server for engine in every}) == 1 else "database",
        buffers=" or ".join(dict.fromkeys(engine.buffers for engine in every)),
        maintenance=" or ".join(dict.fromkeys(engine.maintenance for engine in every)),
        log_note=" ".join(f"{name}: {of.log_note}" for name, of in by_name.items() if of.log_note),
        wait_note=" ".join(engine.wait_note for engine in every if engine.wait_note),
    )
