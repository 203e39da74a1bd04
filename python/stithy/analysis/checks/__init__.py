"""Checks of windows that all studies have; those of one scenario are in its `judge.py`."""
