"""Failure: what users feel when storage or a server breaks, and whether anything is lost."""
