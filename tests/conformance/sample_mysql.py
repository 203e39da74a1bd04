"""MySQL for the suites: as MariaDB, but for what its log says."""

from dataclasses import replace

from conformance import sample_mariadb

NO_ROOM = "[MY-012639] [InnoDB] Write to file failed. Operating system error number 28."

SAMPLE = replace(
    sample_mariadb.SAMPLE,
    errors={**sample_mariadb.SAMPLE.errors, (None, f"[ERROR] {NO_ROOM}"): "full"},
)
