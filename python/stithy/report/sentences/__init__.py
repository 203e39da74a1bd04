"""Findings as text, one file a kind.

A module has `NAME`, the finding's kind, and `say(finding)`, which returns one sentence.
"""
