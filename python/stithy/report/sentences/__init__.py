"""Findings as text, one file a kind.

A module has `NAME`, the finding's kind, and `say(finding, unit)`, which returns one
sentence; `unit` is what levels count: `user`, or in an open loop `connection`.
"""
