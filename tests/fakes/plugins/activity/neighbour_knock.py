"""It measures nothing of its own, and says what the knocks at a point count."""

from stithy.factor import Factor

NAME = "neighbour-knock"
TABLES = ()
METRICS = ()
FACTORS = (Factor("knocks", "Knocks per second", "knock", "k"),)
