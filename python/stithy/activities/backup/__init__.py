"""Backups of a running server, for every scenario that has some."""
