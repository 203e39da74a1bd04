"""It measures nothing of its own, and says what the knocks at a point count."""

from stithy.activity import DeclaredActivity, Factor

KNOCKS = Factor("knocks", "Knocks per second", "knock", "k")
PLUGINS = (DeclaredActivity("neighbour-knock", factors=(KNOCKS,)),)
