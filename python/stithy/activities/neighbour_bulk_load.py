"""A neighbour that loads a database of its own, again and again. Its metrics are in `tenants`."""

NAME = "neighbour-bulk-load"
TABLES = ()
METRICS = ()
