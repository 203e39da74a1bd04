"""Findings of a run, and the sentences of each kind."""
