"""The ways to back PostgreSQL up, a module each; `engines/backup.py` is their interface."""
