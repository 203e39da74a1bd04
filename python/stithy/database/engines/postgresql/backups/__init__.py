"""The ways to back PostgreSQL up, a module each; `database/backup.py` is their interface."""
