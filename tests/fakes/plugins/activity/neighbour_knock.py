"""It measures nothing of its own."""

NAME = "neighbour-knock"
TABLES = ()
METRICS = ()
