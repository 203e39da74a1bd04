"""Backups: what users lose to them, and whether they restore."""
