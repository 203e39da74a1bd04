"""The database is loaded, once."""

from stithy.run.copies.loading import prepare

NAME = "prepare"
WHAT, BRIEF = "load the database", "load"
PHASE, PACED = "loading", False
do = prepare
