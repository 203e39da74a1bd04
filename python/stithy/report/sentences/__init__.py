"""Findings as text, one file a kind."""
