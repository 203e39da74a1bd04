"""The ways to move a database's volume."""
