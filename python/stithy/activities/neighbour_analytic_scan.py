"""A neighbour that scans a database of its own. Its metrics are in `tenants`."""

NAME = "neighbour-analytic-scan"
TABLES = ()
METRICS = ()
