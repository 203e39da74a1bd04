"""A neighbour that reads and writes a file of its own, by fio. Its metrics are in `tenants`."""

NAME = "neighbour-block-io"
TABLES = ()
METRICS = ()
