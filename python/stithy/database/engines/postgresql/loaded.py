"""What a database was loaded with, as the hammer noted it in the table `stithy_meta`."""

from stithy.database.engines.postgresql.connection import connect, parse_url
from stithy.secrets import Secret

ANSWER_S = 10.0
"""A person waits for it; the hammer gives up as early."""


def loaded_warehouses(url: Secret) -> int | None:
    """Warehouses of the loaded workload; None where nothing was loaded. Errors as in `connect`."""
    with connect(parse_url(url), timeout_s=ANSWER_S) as connection:
        if connection.run("SELECT to_regclass('stithy_meta')")[0][0] is None:
            return None
        rows = connection.run("SELECT warehouses FROM stithy_meta")
    return int(rows[0][0]) if rows else None
