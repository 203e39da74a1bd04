"""A neighbour that backs databases of its own up, in cycles. Its metrics are in `tenants`."""

NAME = "neighbour-backup"
TABLES = ()
METRICS = ()
