"""Restore methods, a module each: what one keeps of the loaded database, and how it restores it."""
