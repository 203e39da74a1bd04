"""PostgreSQL for the suites."""

from conformance.samples import Sample
from stithy.engines.postgresql.connection import connect
from stithy.engines.postgresql.server import is_gone
from stithy.engines.postgresql.url import parse_url
from stithy.secrets import Secret

NO_ROOM = 'could not extend file "base/1": No space left on device'
SHARED = 'could not resize shared memory segment "/x": No space left on device'


def _run(url: Secret, statement: str) -> None:
    with connect(parse_url(url)) as session:
        session.run(statement)


SAMPLE = Sample(
    setting=("work_mem", "5MB"),
    refused=("nonsense", "1"),
    errors={
        ("40001", "could not serialize access"): "retryable",
        ("40P01", "deadlock detected"): "retryable",
        ("53100", NO_ROOM): "full",
        (None, f"[7] PANIC:  {NO_ROOM}"): "full",
        # Shared memory is not the volume, and an error of input says nothing of room.
        ("53100", SHARED): "other",
        (None, SHARED): "other",
        ("58030", NO_ROOM): "storage",
        ("XX001", "invalid page in block 7 of relation base/5/16384"): "storage",
        ("42501", 'could not create file "base/5/1": Read-only file system'): "storage",
        ("XX000", 'could not extend file "base/5/1": Disk quota exceeded'): "full",
        ("08006", "connection failure"): "lost",
        ("57P01", "terminating connection"): "lost",
        ("57014", "canceling statement"): "other",
        (None, "checkpoint complete"): "other",
    },
    run=_run,
    left=lambda facts: not is_gone(facts),
)
