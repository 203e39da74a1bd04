"""The open formats of a run directory: names, tables, writing, reading."""
