"""Stithy: what storage does to the users of a database, told with evidence."""

__version__ = "0.1.0"
