"""Executes steps: journal, do, journal; undo; stop."""
