"""MariaDB for the suites."""

from conformance.samples import Sample
from stithy.engines.mariadb.connection import connect
from stithy.engines.mariadb.url import parse_url
from stithy.secrets import Secret

NO_ROOM = "InnoDB: preallocating 65536 bytes for file ./stithy/stock.ibd failed with error 28"


def _run(url: Secret, statement: str) -> None:
    with connect(parse_url(url)) as session:
        session.run(statement)


SAMPLE = Sample(
    setting=("innodb_lock_wait_timeout", "7"),
    refused=("nonsense", "1"),
    errors={
        ("1213", "Deadlock found when trying to get lock"): "retryable",
        ("1205", "Lock wait timeout exceeded"): "retryable",
        ("1020", "Record has changed since last read"): "retryable",
        ("1114", "The table 'stock' is full"): "full",
        ("1030", 'Got error 28 "No space left on device" from storage engine InnoDB'): "full",
        (None, f"[ERROR] {NO_ROOM}"): "full",
        ("1927", "Connection was killed"): "lost",
        ("1053", "Server shutdown in progress"): "lost",
        ("1062", "Duplicate entry"): "other",
        ("1030", "Got error 5 from storage engine InnoDB"): "storage",
        ("1034", "Index for table 'stock' is corrupt"): "storage",
        (None, "[Note] InnoDB: End of log"): "other",
    },
    run=_run,
    left=lambda facts: False,
)
