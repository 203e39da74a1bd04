"""Stithy: measure what storage does to the users of a database."""

__version__ = "0.1.0"
